"""What a model request of Codex's shows of its start: the tools of MCP servers, which its stream never lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from runner.core.launch import MCP_PREFIX, mcp_tool_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.launch import McpServer

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_NAMESPACE_END: Final = "/"
"""The gateway writes it between a namespace and a tool of it."""


def offered_tools(tools: Sequence[str], servers: Sequence[McpServer]) -> tuple[str, ...]:
    """Those of the tools that MCP servers have, as a study names them."""
    return tuple(sorted(_offered(tools, servers)))


def namespace_of(server: McpServer) -> str:
    """What stands before the names of its tools; Codex writes `_` for what can't stand in a name on the wire."""
    return MCP_PREFIX + _NOT_IN_NAMES.sub("_", server.name)


def _offered(tools: Sequence[str], servers: Sequence[McpServer]) -> Iterator[str]:
    known = {namespace_of(server): server.name for server in servers}
    for tool in tools:
        namespace, end, name = tool.partition(_NAMESPACE_END)
        if end and namespace.startswith(MCP_PREFIX):
            yield mcp_tool_name(known.get(namespace, namespace.removeprefix(MCP_PREFIX)), name)
