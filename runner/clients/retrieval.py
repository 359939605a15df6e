"""The retrieval program of ours: how it is started.

The program stands in `images/trial/retrieval/`; its output is read by `runner.clients.retrieval_events`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from runner.clients.claude_code import mcp_config
from runner.clients.retrieval_events import retrieval_report
from runner.core.errors import StudyError
from runner.core.launch import IN_FOLDER, InFile, PodLaunch, client_environment, make_launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.clients.client import ClientReport
    from runner.core.launch import LaunchRequest, McpServer, RetrievalAsk

PROGRAM: Final = ("python3", "/opt/pairbench/retrieval/main.py")
CONFIG_NAME: Final = "retrieval.json"

_SIDECAR_URL: Final = "http://127.0.0.1:6333"
_COLLECTION: Final = "memory"


class Retrieval:
    """The adapter of kind `retrieval`."""

    kind = "retrieval"

    def launch(self, request: LaunchRequest) -> PodLaunch:
        """What starts the program; raises `StudyError` without a system, and for what it can't be given."""
        ask = request.retrieval
        if ask is None:
            raise StudyError("an arm of a retrieval study needs its system", key="system")
        unusable = [
            name
            for name, value in (
                ("model", request.model),
                ("tools", request.tools),
                ("instructions", request.instructions),
                ("max_turns", request.max_turns),
            )
            if value
        ]
        if unusable:
            raise StudyError(f"a retrieval client takes no {', no '.join(unusable)}", key="client.kind")
        if ask.system.kind == "mcp" and len(request.mcp_servers) != 1:
            raise StudyError("a system of kind mcp needs exactly one server", key="mcp_servers")
        return make_launch(
            request,
            argv=(*PROGRAM, f"{IN_FOLDER}/{CONFIG_NAME}", *request.args),
            env=client_environment({}, request.env),
            files=(InFile(CONFIG_NAME, _config(request, ask)),),
        )

    def parse(self, stdout: bytes, stderr: bytes) -> ClientReport:
        """What its event stream says; damaged lines are counted."""
        return retrieval_report(stdout, stderr)

    def start_of(self, tools: Sequence[str], servers: Sequence[McpServer]) -> None:
        """Nothing: its `start` event says it."""


def _config(request: LaunchRequest, ask: RetrievalAsk) -> bytes:
    """`retrieval.json`: the system and the queries, and nothing of labels, kinds or splits."""
    config = {
        "format": "pairbench/retrieval-launch",
        "version": 1,
        "system": ask.system.json_value(),
        "depth": ask.depth,
        "threads": ask.threads,
        "warmup": ask.warmup,
        "url": _SIDECAR_URL,
        "collection": _COLLECTION,
        "servers": json.loads(mcp_config(request))["mcpServers"],
        "mcp_tools": [name for server in request.mcp_servers for name in server.tool_names()],
        "queries": [query.json_value() for query in ask.queries],
    }
    return json.dumps(config, ensure_ascii=True, indent=1, sort_keys=True).encode("ascii") + b"\n"
