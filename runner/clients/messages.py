"""The agent loop of ours over the Messages API: how it is started.

The program stands in `images/trial/messages/`; its output is read by `runner.clients.messages_events`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from runner.clients.claude_code import INSTRUCTIONS_NAME, MCP_NAME, mcp_config
from runner.clients.messages_events import messages_ending, messages_events
from runner.clients.report import report_of
from runner.core.errors import StudyError
from runner.core.launch import IN_FOLDER, WORKSPACE, InFile, PodLaunch, client_environment, make_launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.clients.client import ClientReport
    from runner.core.launch import LaunchRequest, McpServer

PROGRAM: Final = ("python3", "/opt/pairbench/messages/main.py")
CONFIG_NAME: Final = "messages.json"
TOOLS: Final = ("read_file", "grep", "glob")

_MAX_RETRIES: Final = 2
_LONGEST_SERVER_START_MS: Final = 120_000
_DEFAULT_OUTPUT_TOKENS: Final = 8192


class Messages:
    """The adapter of kind `messages`."""

    kind = "messages"

    def launch(self, request: LaunchRequest) -> PodLaunch:
        """What starts the loop; raises `StudyError` without model or prompt, and for tools that it lacks."""
        if not request.model:
            raise StudyError("messages needs a model", key="client.model")
        if not request.prompt.strip():
            raise StudyError("messages needs a prompt", key="prompt")
        unknown = sorted(set(request.tools) - set(TOOLS))
        if unknown:
            raise StudyError(f"messages has no tool {', '.join(unknown)}", key="client.tools", hint=", ".join(TOOLS))
        files = [InFile(CONFIG_NAME, _config(request)), InFile(MCP_NAME, mcp_config(request))]
        if request.instructions:
            files.append(InFile(INSTRUCTIONS_NAME, request.instructions.encode("utf-8")))
        own = {"ANTHROPIC_API_KEY": request.gateway_token, "ANTHROPIC_BASE_URL": request.gateway_url()}
        return make_launch(
            request,
            argv=(*PROGRAM, f"{IN_FOLDER}/{CONFIG_NAME}", *request.args),
            env=client_environment(own, request.env),
            files=tuple(files),
        )

    def parse(self, stdout: bytes, stderr: bytes) -> ClientReport:
        """What its event stream says; damaged lines are counted."""
        return report_of(messages_events(stdout), stderr, messages_ending)

    def start_of(self, tools: Sequence[str], servers: Sequence[McpServer]) -> None:
        """Nothing: its `start` event says it."""


def _config(request: LaunchRequest) -> bytes:
    """`messages.json`; the same in every arm but for the tools of its servers."""
    config = {
        "format": "pairbench/messages",
        "version": 1,
        "model": request.model,
        "tools": list(request.tools),
        "mcp_tools": [name for server in request.mcp_servers for name in server.tool_names()],
        "max_turns": request.max_turns,
        "max_output_tokens": request.max_output_tokens or _DEFAULT_OUTPUT_TOKENS,
        "max_retries": _MAX_RETRIES,
        # Below the deadline, or a server that hangs would make a timeout of its trial.
        "server_start_ms": min(_LONGEST_SERVER_START_MS, request.limits.deadline_ms * 3 // 4),
        "workspace": WORKSPACE,
        "instructions": bool(request.instructions),
    }
    return json.dumps(config, ensure_ascii=False, indent=1, sort_keys=True).encode("utf-8") + b"\n"
