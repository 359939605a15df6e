"""What do MCP servers add? Starts them over stdio, lists their tools, calls them; by the `mcp` SDK's client session."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from messages.files import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AsyncExitStack

    from messages.config import Server

CALL_SECONDS = 60
_NAME = re.compile(r"mcp__(.+?)__(.+)")


@dataclass
class Servers:
    """The servers of one conversation, from `spawn` to the end of its stack."""

    states: dict[str, str] = field(default_factory=dict)
    schemas: list[dict[str, Any]] = field(default_factory=list)
    _streams: dict[str, Any] = field(default_factory=dict)
    _sessions: dict[str, ClientSession] = field(default_factory=dict)

    async def spawn(self, servers: Sequence[Server], stack: AsyncExitStack) -> None:
        """Every server's process was started; none has been spoken with."""
        for server in servers:
            parameters = StdioServerParameters(
                command=server.command, args=list(server.arguments), env=dict(server.env)
            )
            try:
                self._streams[server.name] = await stack.enter_async_context(stdio_client(parameters))
            except OSError:
                self.states[server.name] = "failed"

    async def connect(self, offered: Sequence[str], seconds: float, stack: AsyncExitStack) -> None:
        """Servers that answer in time are `connected`, and their tools among `offered` listed; others have `failed`."""
        for name, (incoming, outgoing) in self._streams.items():
            self.states[name] = "failed"
            # A stack's scopes nest: a session that outlives this function can't begin within the time limit's scope.
            session = await stack.enter_async_context(ClientSession(incoming, outgoing))
            try:
                with anyio.fail_after(seconds):
                    await session.initialize()
                    tools = (await session.list_tools()).tools
            except Exception:  # noqa: S112 - whatever a server does wrong, it isn't connected
                continue
            self._sessions[name] = session
            self.states[name] = "connected"
            for tool in tools:
                called = f"mcp__{name}__{tool.name}"
                if called in offered:
                    self.schemas.append(
                        {"name": called, "description": tool.description or "", "input_schema": tool.input_schema}
                    )

    async def call(self, called: str, arguments: Mapping[str, Any]) -> Answer:
        """The answer of a tool. Whatever goes wrong is an answer too: a model can go on without the server."""
        found = _NAME.fullmatch(called)
        session = self._sessions.get(found[1]) if found else None
        if found is None or session is None:
            return Answer(f"There is no tool {called!r}.", failed=True)
        try:
            result = await session.call_tool(found[2], dict(arguments), read_timeout_seconds=CALL_SECONDS)
        except Exception as error:
            return Answer(f"{called}: {type(error).__name__}: {error}", failed=True)
        texts = [block.text if block.type == "text" else f"[{block.type}]" for block in result.content]
        return Answer("\n".join(texts), failed=bool(result.is_error))
