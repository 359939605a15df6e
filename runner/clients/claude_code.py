"""Claude Code in print mode: how it is started so that two arms differ in nothing but what they declare.

Flags and variables were tried with version 2.1.332 on 2026-11-29. Its output is read by `runner.clients.claude_events`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from runner.clients.claude_events import claude_ending, claude_events
from runner.clients.report import report_of
from runner.core.errors import StudyError
from runner.core.launch import HOME, IN_FOLDER, PATH, InFile, PodLaunch, client_environment, make_launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.clients.client import ClientReport
    from runner.core.launch import LaunchRequest, McpServer

PROGRAM: Final = "/opt/claude/claude"
MCP_NAME: Final = "mcp.json"
INSTRUCTIONS_NAME: Final = "instructions.md"

# These read below the working directory without asking. Any other declared tool is allowed by name: a tool that is
# offered and always refused measures nothing.
_NEED_NO_PERMISSION: Final = frozenset({"Read", "Grep", "Glob"})
# Ten is the default, with pauses of three minutes in all; two cost about two seconds.
_MAX_RETRIES: Final = 2
_LONGEST_SERVER_START_MS: Final = 120_000


class ClaudeCode:
    """The adapter of kind `claude-code`."""

    kind = "claude-code"

    def launch(self, request: LaunchRequest) -> PodLaunch:
        """What starts Claude Code; raises `StudyError` when the request names no model or no prompt."""
        if not request.model:
            raise StudyError("claude-code needs a model", key="client.model")
        if not request.prompt.strip():
            raise StudyError("claude-code needs a prompt", key="prompt")
        files = [InFile(MCP_NAME, mcp_config(request))]
        if request.instructions:
            files.append(InFile(INSTRUCTIONS_NAME, request.instructions.encode("utf-8")))
        return make_launch(
            request,
            argv=_argv(request),
            env=client_environment(_environment(request), request.env),
            files=tuple(files),
        )

    def parse(self, stdout: bytes, stderr: bytes) -> ClientReport:
        """What its event stream says; damaged lines are counted."""
        return report_of(claude_events(stdout), stderr, claude_ending)

    def start_of(self, tools: Sequence[str], servers: Sequence[McpServer]) -> None:
        """Nothing: its `init` event says it."""


def _argv(request: LaunchRequest) -> tuple[str, ...]:
    """The command line; the prompt stands last, after `--`, so that no text in it is taken for a flag."""
    allowed = [tool for tool in request.tools if tool not in _NEED_NO_PERMISSION]
    allowed += [name for server in request.mcp_servers for name in server.tool_names()]
    words = [PROGRAM, "-p", "--output-format", "stream-json", "--verbose", "--model", request.model]
    # No settings of user, project or machine; no servers but those of /in, which holds a list in every arm.
    words += ["--no-session-persistence", "--setting-sources=", "--strict-mcp-config"]
    words += ["--mcp-config", f"{IN_FOLDER}/{MCP_NAME}", "--session-id", request.session_id]
    words.append(f"--tools={','.join(request.tools)}")
    if allowed:
        words.append(f"--allowedTools={','.join(allowed)}")
    if request.instructions:
        words += ["--append-system-prompt-file", f"{IN_FOLDER}/{INSTRUCTIONS_NAME}"]
    if request.max_turns is not None:
        # 0 would mean no limit at all.
        words += ["--max-turns", str(request.max_turns)]
    return (*words, *request.args, "--", request.prompt)


def _environment(request: LaunchRequest) -> dict[str, str]:
    env = {
        "ANTHROPIC_API_KEY": request.gateway_token,
        "ANTHROPIC_BASE_URL": request.gateway_url(),
        "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(_MAX_RETRIES),
        "CLAUDE_CONFIG_DIR": f"{HOME}/.claude",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        # A server that isn't connected by then leaves the client running without it; the trial ends as infrastructure.
        # Below the deadline, or such a trial would end as a timeout.
        "MCP_TIMEOUT": str(min(_LONGEST_SERVER_START_MS, request.limits.deadline_ms * 3 // 4)),
    }
    if request.max_output_tokens is not None:
        env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(request.max_output_tokens)
    return env


def mcp_config(request: LaunchRequest) -> bytes:
    """`mcp.json`: a server inherits the client's environment, so its own token takes the place of the client's."""
    servers = {
        server.name: {
            "type": "stdio",
            "command": server.command[0],
            "args": list(server.command[1:]),
            "env": {
                "ANTHROPIC_API_KEY": request.memory_token,
                "ANTHROPIC_BASE_URL": request.gateway_url(),
                "HOME": HOME,
                "PATH": PATH,
                **server.env,
            },
        }
        for server in request.mcp_servers
    }
    return json.dumps({"mcpServers": servers}, ensure_ascii=False, indent=1, sort_keys=True).encode("utf-8") + b"\n"
