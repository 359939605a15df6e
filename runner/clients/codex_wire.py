"""What a model request of Codex's shows of its start: the tools of MCP servers, which its stream never lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.clients.shapes import ShapeError, objects_at, text_at
from runner.core.canonical import parse_json
from runner.core.errors import EvidenceError
from runner.core.launch import MCP_PREFIX, mcp_tool_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.core.canonical import Json
    from runner.core.launch import McpServer

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


def offered_tools(request: bytes, servers: Sequence[McpServer]) -> tuple[str, ...]:
    """The tools of MCP servers in the request's namespaces, as a study names them; a damaged request offers none."""
    try:
        body = parse_json(request, "request")
        return tuple(sorted(_offered(body, servers))) if isinstance(body, dict) else ()
    except (EvidenceError, ShapeError):
        return ()


def _offered(body: Mapping[str, Json], servers: Sequence[McpServer]) -> Iterator[str]:
    # Codex writes `_` for what can't stand in a name on the wire.
    known = {MCP_PREFIX + _NOT_IN_NAMES.sub("_", server.name): server.name for server in servers}
    for namespace in objects_at(body, "tools"):
        if namespace.get("type") != "namespace":
            continue
        called = text_at(namespace, "name")
        if not called.startswith(MCP_PREFIX):
            continue
        server = known.get(called, called.removeprefix(MCP_PREFIX))
        for tool in objects_at(namespace, "tools"):
            yield mcp_tool_name(server, text_at(tool, "name"))
