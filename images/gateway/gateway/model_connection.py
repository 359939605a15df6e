"""How does the gateway speak HTTP/1.1 to a provider? One request at a time on each of a few connections."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import h11

from gateway.exchange import BrokenOffError

if TYPE_CHECKING:
    from gateway.origin import Headers, Origin

CONNECT_SECONDS = 30.0
# A connection that rested longer may have been given up by the other side: what is sent on it would be lost.
REST_SECONDS = 15.0
MOST_RESTING = 16
READ_BYTES = 262144
HEAD_LIMIT_BYTES = 262144
# A chunk is passed on as a whole unless it is larger than any event that was ever seen.
CHUNK_LIMIT_BYTES = 1048576
STREAM_LIMIT_BYTES = 1048576


class UnreachableError(Exception):
    """Nothing of the request reached the provider."""


@dataclass
class Wire:
    """One connection and what was said on it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    http: h11.Connection = field(
        default_factory=lambda: h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT_BYTES)
    )
    rested_at: float = 0.0

    def is_fresh(self) -> bool:
        """Whether the other side is likely to be there still."""
        gone = self.reader.at_eof() or self.writer.transport.is_closing()
        return not gone and time.monotonic() - self.rested_at < REST_SECONDS

    async def event(self) -> object:
        """The next thing that the provider says.

        Raises:
            BrokenOffError: when it says nothing more, or what isn't HTTP.
        """
        try:
            while (event := self.http.next_event()) is h11.NEED_DATA:
                self.http.receive_data(await self.reader.read(READ_BYTES))
        except (ConnectionResetError, BrokenPipeError) as error:
            raise BrokenOffError(reset=True) from error
        except (h11.RemoteProtocolError, OSError, ssl.SSLError) as error:
            raise BrokenOffError(reset=False) from error
        return event

    def abort(self) -> None:
        """The connection is gone at once, whatever was under way on it."""
        self.writer.transport.abort()


class ModelSide:
    """Connections to one origin."""

    def __init__(self, origin: Origin, trust: ssl.SSLContext | None) -> None:
        """Nothing is connected; `trust` is None for plain HTTP."""
        self._origin = origin
        self._trust = trust
        self._resting: list[Wire] = []

    async def send(self, method: str, target: str, headers: Headers, body: bytes) -> Arriving:
        """The head of the provider's answer came.

        Raises:
            UnreachableError: when nothing was sent.
            BrokenOffError: when the provider ends before it answers.
        """
        wire = await self._wire()
        try:
            request = h11.Request(method=method, target=self._origin.prefix + target, headers=list(headers))
            wire.writer.write(wire.http.send(request) or b"")
            if body:
                wire.writer.write(wire.http.send(h11.Data(data=body)) or b"")
            wire.writer.write(wire.http.send(h11.EndOfMessage()) or b"")
            # Draining waits for a slow reader; an answer may come before all was read, and is awaited beside it.
            head = await wire.event()
            while isinstance(head, h11.InformationalResponse):
                head = await wire.event()
        except BaseException:
            wire.abort()
            raise
        if not isinstance(head, h11.Response):
            wire.abort()
            raise BrokenOffError(reset=False)
        return Arriving(self, wire, head)

    def rest(self, wire: Wire) -> None:
        """The connection may carry another request, if both sides said all that they had to say."""
        done = wire.http.our_state is h11.DONE and wire.http.their_state is h11.DONE
        if not done or wire.http.trailing_data[0] or len(self._resting) >= MOST_RESTING:
            wire.writer.close()
            return
        wire.http.start_next_cycle()
        wire.rested_at = time.monotonic()
        self._resting.append(wire)

    async def _wire(self) -> Wire:
        while self._resting:
            wire = self._resting.pop()
            if wire.is_fresh():
                return wire
            wire.abort()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(
                    self._origin.host,
                    self._origin.port,
                    ssl=self._trust,
                    server_hostname=self._origin.host if self._trust is not None else None,
                    limit=STREAM_LIMIT_BYTES,
                )
        except (OSError, ssl.SSLError, TimeoutError) as error:
            raise UnreachableError(f"{type(error).__name__}: {error}") from error
        return Wire(reader, writer)


class Arriving:
    """An answer whose head is there; its body comes in the pieces in which the provider sent it."""

    def __init__(self, side: ModelSide, wire: Wire, head: h11.Response) -> None:
        """Nothing of the body was read."""
        self.status = head.status_code
        self.headers = tuple((bytes(name), bytes(value)) for name, value in head.headers.raw_items())
        self._side = side
        self._wire: Wire | None = wire

    def header(self, name: bytes) -> bytes | None:
        """The first header of that lower-case name, or None."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    async def piece(self) -> bytes:
        """The next chunk, or what came of a body without chunks; b"" at the end.

        Raises:
            BrokenOffError: when the provider ends before the body's end.
        """
        held = bytearray()
        while self._wire is not None:
            event = await self._event(self._wire)
            if not isinstance(event, h11.Data):
                wire, self._wire = self._wire, None
                self._side.rest(wire)
                break
            if (event.chunk_end and not held) or not (event.chunk_start or event.chunk_end or held):
                # A whole chunk, or a body that has none; the copy of it isn't needed.
                if event.data:
                    return bytes(event.data)
                continue
            held += event.data
            if event.chunk_end or len(held) >= CHUNK_LIMIT_BYTES:
                break
        return bytes(held)

    async def _event(self, wire: Wire) -> object:
        try:
            return await wire.event()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Nothing more is read, and the provider notices."""
        if self._wire is not None:
            self._wire.abort()
            self._wire = None
