"""What came on a connection, and may more be sent? One side of a stream of bytes, without copies and without tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Inbox(asyncio.Protocol):
    """Holds what the other side sent until it is read; stops reading from the connection when it holds too much."""

    transport: asyncio.Transport

    def __init__(self, limit_bytes: int, on_connected: Callable[[Inbox], None] | None = None) -> None:
        """Nothing came, and nobody is connected yet; `on_connected` is called once somebody is."""
        self.ended = False
        """The other side says nothing more: it closed its side, or the connection is lost."""
        self.on_end: Callable[[], None] | None = None
        """Called when that is noticed."""
        self._limit_bytes = limit_bytes
        self._on_connected = on_connected
        self._received: list[bytes] = []
        self._received_bytes = 0
        self._reading_paused = False
        self._failure: Exception | None = None
        self._lost = False
        self._came: asyncio.Future[None] | None = None
        self._may_write: asyncio.Future[None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all that came was read."""
        return not self._received

    async def read(self) -> bytes:
        """All that came and wasn't read, as soon as there is anything; b"" when nothing more comes.

        Raises:
            OSError: when the connection was lost instead of closed.
        """
        while not self._received:
            if self._failure is not None:
                raise self._failure
            if self.ended:
                return b""
            self._came = asyncio.get_running_loop().create_future()
            try:
                await self._came
            finally:
                self._came = None
        data = self._received[0] if len(self._received) == 1 else b"".join(self._received)
        self._received.clear()
        self._received_bytes = 0
        if self._reading_paused:
            self._reading_paused = False
            self.transport.resume_reading()
        return data

    async def drain(self) -> None:
        """The connection takes more.

        Raises:
            ConnectionResetError: when it is lost.
        """
        if self._lost:
            raise ConnectionResetError("Connection lost")
        if self._may_write is not None:
            await asyncio.shield(self._may_write)

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Somebody is connected."""
        self.transport = transport
        if self._on_connected is not None:
            self._on_connected(self)

    def data_received(self, data: bytes) -> None:
        """`data` can be read."""
        self._received.append(data)
        self._received_bytes += len(data)
        if self._received_bytes > self._limit_bytes and not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Nothing more comes; whether the connection may still be written to."""
        self._end(None)
        return self.transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes, and nothing can be sent."""
        self._lost = True
        self._end(exc)
        may_write, self._may_write = self._may_write, None
        if may_write is not None and not may_write.done():
            may_write.set_exception(ConnectionResetError("Connection lost"))
            # Nobody may be waiting for it.
            may_write.exception()

    def pause_writing(self) -> None:
        """The connection takes nothing for now."""
        self._may_write = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """It takes more again."""
        may_write, self._may_write = self._may_write, None
        if may_write is not None and not may_write.done():
            may_write.set_result(None)

    def _end(self, failure: Exception | None) -> None:
        already, self.ended = self.ended, True
        self._failure = self._failure or failure
        self._wake()
        if not already and self.on_end is not None:
            self.on_end()

    def _wake(self) -> None:
        if self._came is not None and not self._came.done():
            self._came.set_result(None)
