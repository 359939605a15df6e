"""How do the tools reach a client? Over MCP on standard input and output, by the SDK's low-level server."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from memory.tools import TOOLS, Embedder, Memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.store import Store

NAME = "memory"
VERSION = "1"


class InBackground:
    """A model that is loaded once, in a thread of its own, from the moment that it is likely to be needed."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        """Nothing is loaded yet."""
        self._load = load
        self._loaded: Future[Embedder] = Future()
        self._begun = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Loading is under way, or done. Returns at once."""
        with self._lock:
            begun, self._begun = self._begun, True
        if not begun:
            # A daemon: a client that leaves early mustn't wait for a model that nobody will use.
            threading.Thread(target=self._run, name="load the model", daemon=True).start()

    def _run(self) -> None:
        try:
            self._loaded.set_result(self._load())
        except BaseException as error:
            self._loaded.set_exception(error)

    def get(self) -> Embedder:
        """The model, once it is loaded.

        Raises:
            Exception: whatever loading it raised.
        """
        self.begin()
        return self._loaded.result()


def build(memory: Memory, listed: Callable[[], None]) -> Server[Any]:
    """A server of the memory's tools; `listed` is called whenever they were asked for."""
    tools = [types.Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema) for tool in TOOLS]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        listed()
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        # Abandoned when the client goes: neither a model that is loading nor a stalled Qdrant keeps this process alive.
        answer = await anyio.to_thread.run_sync(
            memory.call, params.name, params.arguments or {}, abandon_on_cancel=True
        )
        return types.CallToolResult(content=[types.TextContent(type="text", text=answer.text)], is_error=answer.failed)

    return Server(NAME, version=VERSION, on_list_tools=list_tools, on_call_tool=call_tool)


def serve(load: Callable[[], Embedder], collection: Store) -> None:
    """The client has gone: its end of standard input is closed."""
    model = InBackground(load)
    server = build(Memory(model.get, collection), model.begin)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)
