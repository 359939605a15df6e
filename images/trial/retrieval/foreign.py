"""How does a memory of somebody else's answer? Its MCP server's search tool is called, and its text read."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from messages.servers import Servers
from retrieval.mapping import error_of, results_of
from retrieval.own import Answer
from retrieval.ranking import QueryError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from retrieval.launch import Foreign, Launch, Query

START_SECONDS = 60


class Asking:
    """The tool of one server, from `start` to the end of its stack."""

    def __init__(self, launch: Launch, system: Foreign) -> None:
        """Nothing runs yet."""
        self._system = system
        self._depth = launch.depth
        self._offered = launch.mcp_tools
        self._servers = Servers()
        self._called = f"mcp__{system.server.name}__{system.tool}"

    async def start(self, stack: AsyncExitStack) -> None:
        """The server was started, and asked for its tools; `states` and `tools` say how that went."""
        await self._servers.spawn([self._system.server], stack)
        await self._servers.connect(self._offered, START_SECONDS, stack)

    @property
    def states(self) -> dict[str, str]:
        """Server -> `connected` or `failed`."""
        return self._servers.states

    @property
    def tools(self) -> list[str]:
        """Those of the declared tools that the server has."""
        return [schema["name"] for schema in self._servers.schemas]

    @property
    def fault(self) -> str:
        """Why the tool can't be called; "" when it can."""
        if self._called in self.tools:
            return ""
        name = self._system.server.name
        is_there = self.states.get(name) == "connected"
        return f"the server {name} has no tool {self._system.tool}" if is_there else f"the server {name} didn't connect"

    async def ask(self, query: Query) -> Answer:
        """The server's own order, cut at the depth."""
        began = time.perf_counter_ns()
        answer = await self._servers.call(self._called, self._arguments(query))
        called = time.perf_counter_ns()
        if answer.failed:
            raise QueryError(error_of(answer.text))
        results, unmapped = results_of(answer.text, self._system.results, self._system.empty, self._depth)
        decoded = time.perf_counter_ns()
        return Answer(results, unmapped, None, (called - began) // 1000, (decoded - called) // 1000)

    def _arguments(self, query: Query) -> dict[str, object]:
        system = self._system
        given: dict[str, object] = {system.query: query.text}
        if system.limit:
            given[system.limit] = system.limit_value
        if system.workspace and query.workspace:
            given[system.workspace] = query.workspace
        if system.at and query.at_s is not None:
            given[system.at] = datetime.fromtimestamp(query.at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return given
