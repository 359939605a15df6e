"""Codex, run once without a terminal: how it is started so that two arms differ in nothing but what they declare.

Flags and settings were tried with version 0.163.0 on 2026-11-29. Its output is read by `runner.clients.codex_events`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from runner.clients.codex_events import CodexStream, codex_ending, failed_servers
from runner.clients.codex_wire import namespace_of, offered_tools
from runner.clients.report import report_of
from runner.core.errors import StudyError
from runner.core.events import ClientReady, ServerState
from runner.core.launch import HOME, PATH, PodLaunch, client_environment, make_launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.clients.client import ClientReport
    from runner.core.launch import LaunchRequest, McpServer

PROGRAM: Final = "/opt/codex/bin/codex"

# With the defaults a provider that fails is met for minutes, and one that can't be reached for ever.
_MAX_RETRIES: Final = 2
# Each would leave the pod (`plugins`, `apps`), try until the deadline (`unbounded_connection_retries`), or make more of
# one turn than its usage tells (`multi_agent`, `goals`).
_DISABLED: Final = ("plugins", "apps", "unbounded_connection_retries", "multi_agent", "goals")
_LONGEST_SERVER_START_MS: Final = 120_000


class Codex:
    """The adapter of kind `codex`."""

    kind = "codex"

    def launch(self, request: LaunchRequest) -> PodLaunch:
        """What starts Codex; raises `StudyError` without model or prompt, and for what it can't be told."""
        if not request.model:
            raise StudyError("codex needs a model", key="client.model")
        if not request.prompt.strip():
            raise StudyError("codex needs a prompt", key="prompt")
        unusable = [
            name
            for name, value in (
                ("tools", request.tools),
                ("max_turns", request.max_turns),
                ("max_output_tokens", request.max_output_tokens),
            )
            if value
        ]
        if unusable:
            raise StudyError(f"codex takes no {', no '.join(unusable)}", key="client.kind")
        # No CODEX_HOME: Codex makes the default one, below HOME, and refuses any other that isn't there.
        own = {"OPENAI_API_KEY": request.gateway_token}
        return make_launch(request, argv=_argv(request), env=client_environment(own, request.env))

    def parse(self, stdout: bytes, stderr: bytes) -> ClientReport:
        """What its event stream says; damaged lines are counted."""
        failed = failed_servers(stderr)
        starts = (ClientReady((), tuple(ServerState(name, "failed") for name in failed), "", ""),) if failed else ()
        return report_of((*starts, *CodexStream().events(stdout)), stderr, codex_ending)

    def start_of(self, tools: Sequence[str], servers: Sequence[McpServer]) -> ClientReady | None:
        """What it started with, as the tools of its first model request show it; its stream doesn't say.

        A server is required: without it there is no request.
        """
        states = tuple(ServerState(server.name, "connected") for server in servers)
        return ClientReady(offered_tools(tools, servers), states, "", "")


def _argv(request: LaunchRequest) -> tuple[str, ...]:
    """The command line; the prompt stands last, after `--`, so that no text in it is taken for a flag."""
    words = [PROGRAM, "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config"]
    # The container is the sandbox.
    words += ["--sandbox", "danger-full-access", "-m", request.model]
    for setting in _settings(request):
        words += ["-c", setting]
    for feature in _DISABLED:
        words += ["--disable", feature]
    return (*words, *request.args, "--", request.prompt)


def _settings(request: LaunchRequest) -> list[str]:
    provider = (
        f'{{name="Pairbench",base_url={_toml(f"{request.gateway_url()}/v1")},env_key="OPENAI_API_KEY",'
        f'wire_api="responses",request_max_retries={_MAX_RETRIES},stream_max_retries={_MAX_RETRIES}}}'
    )
    settings = [
        'model_provider="pairbench"',
        f"model_providers.pairbench={provider}",
        'approval_policy="never"',
        "check_for_update_on_startup=false",
        "analytics.enabled=false",
        # The provider's own search would reach out of the pod.
        'web_search="disabled"',
        # No instructions of the workspace: an AGENTS.md in a corpus is a text like any other.
        "project_doc_max_bytes=0",
    ]
    if request.effort:
        settings.append(f"model_reasoning_effort={_toml(request.effort)}")
    if request.instructions:
        settings.append(f"developer_instructions={_toml(request.instructions)}")
    if request.mcp_servers:
        # In code mode a model would have to look for these tools by a program, and no request would show them.
        direct = ",".join(_toml(namespace_of(server)) for server in request.mcp_servers)
        settings.append(f"features.code_mode.direct_only_tool_namespaces=[{direct}]")
    settings += [f"mcp_servers.{server.name}={_server(request, server)}" for server in request.mcp_servers]
    return settings


def _server(request: LaunchRequest, server: McpServer) -> str:
    """A server as an inline table; without one that answers in time Codex doesn't start."""
    env = {
        "ANTHROPIC_API_KEY": request.memory_token,
        "ANTHROPIC_BASE_URL": request.gateway_url(),
        "HOME": HOME,
        "OPENAI_API_KEY": request.memory_token,
        "OPENAI_BASE_URL": f"{request.gateway_url()}/v1",
        "PATH": PATH,
        **server.env,
    }
    # Below the deadline, or such a trial would end as a timeout.
    start_ms = min(_LONGEST_SERVER_START_MS, request.limits.deadline_ms * 3 // 4)
    members = {
        "command": _toml(server.command[0]),
        "args": f"[{','.join(map(_toml, server.command[1:]))}]",
        "env": f"{{{','.join(f'{name}={_toml(value)}' for name, value in sorted(env.items()))}}}",
        "required": "true",
        "startup_timeout_sec": str(max(1, start_ms // 1000)),
        "enabled_tools": f"[{','.join(map(_toml, server.tools))}]",
        "default_tools_approval_mode": '"approve"',
    }
    return f"{{{','.join(f'{name}={value}' for name, value in members.items())}}}"


def _toml(text: str) -> str:
    """`text` as a basic string of TOML, whose escapes are JSON's but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
