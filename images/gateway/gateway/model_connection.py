"""How does the gateway speak HTTP/1.1 to a provider? One request at a time on each of a few connections."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11

from gateway.chunks import ChunkedBody, FramingError
from gateway.exchange import BrokenOffError, Burst, burst_of
from gateway.inbox import Inbox
from gateway.plain_heads import BODILESS, plain_response

if TYPE_CHECKING:
    from gateway.origin import Headers, Origin

CONNECT_SECONDS = 30.0
# A connection that rested longer may have been given up by the other side: what is sent on it would be lost.
REST_SECONDS = 15.0
MOST_RESTING = 16
HEAD_LIMIT_BYTES = 262144
STREAM_LIMIT_BYTES = 1048576
# A body up to this size leaves with its head in one call of the system.
JOINED_BYTES = 131072


class UnreachableError(Exception):
    """Nothing of the request reached the provider."""


@dataclass
class Wire:
    """One connection."""

    inbox: Inbox
    rested_at: float = 0.0

    def is_fresh(self) -> bool:
        """Whether the other side is likely to be there still, and said nothing unasked."""
        gone = self.inbox.ended or not self.inbox.is_empty or self.inbox.transport.is_closing()
        return not gone and time.monotonic() - self.rested_at < REST_SECONDS

    async def read(self) -> bytes:
        """What the provider says next; b"" when it closed its side.

        Raises:
            BrokenOffError: when the connection was lost.
        """
        try:
            return await self.inbox.read()
        except (ConnectionResetError, BrokenPipeError) as error:
            raise BrokenOffError(reset=True) from error
        except (OSError, ssl.SSLError) as error:
            raise BrokenOffError(reset=False) from error

    def abort(self) -> None:
        """The connection is gone at once, whatever was under way on it."""
        self.inbox.transport.abort()


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
            head = request_head(method, self._origin.prefix + target, headers)
            if len(body) <= JOINED_BYTES:
                wire.inbox.transport.write(head + body)
            else:
                wire.inbox.transport.write(head)
                wire.inbox.transport.write(body)
            # Draining waits for a slow reader; an answer may come before all was read, and is awaited beside it.
            return await self._arriving(wire, method)
        except BaseException:
            wire.abort()
            raise

    async def _arriving(self, wire: Wire, method: str) -> Arriving:
        data = await wire.read()
        plain = plain_response(data) if method != "HEAD" else None
        if plain is None:
            return Arriving(self, wire, *await _unusual_head(wire, method, data))
        chunks = ChunkedBody() if plain.length_bytes is None else None
        framing = Framing(chunks, plain.length_bytes, keeps_alive=True, came=data[plain.end :])
        return Arriving(self, wire, int(plain.line), plain.headers, framing)

    def rest(self, wire: Wire) -> None:
        """The connection may carry another request."""
        if len(self._resting) >= MOST_RESTING:
            wire.inbox.transport.close()
            return
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
                _, inbox = await asyncio.get_running_loop().create_connection(
                    lambda: Inbox(STREAM_LIMIT_BYTES),
                    self._origin.host,
                    self._origin.port,
                    ssl=self._trust,
                    server_hostname=self._origin.host if self._trust is not None else None,
                )
        except (OSError, ssl.SSLError, TimeoutError) as error:
            raise UnreachableError(f"{type(error).__name__}: {error}") from error
        return Wire(inbox)


async def _unusual_head(wire: Wire, method: str, data: bytes) -> tuple[int, Headers, Framing]:
    """Status, headers and framing of an answer that begins with `data`.

    Raises:
        BrokenOffError: when the provider says nothing more, or what isn't HTTP.
    """
    # It reads heads alone; what it has to know of the request is its method.
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT_BYTES)
    http.send(h11.Request(method=method, target="/", headers=[("host", "-")]))
    http.send(h11.EndOfMessage())
    try:
        http.receive_data(data)
        while (event := http.next_event()) is h11.NEED_DATA or isinstance(event, h11.InformationalResponse):
            if event is h11.NEED_DATA:
                http.receive_data(await wire.read())
    except h11.RemoteProtocolError as error:
        raise BrokenOffError(reset=False) from error
    if not isinstance(event, h11.Response):
        raise BrokenOffError(reset=False)
    headers = tuple((bytes(name), bytes(value)) for name, value in event.headers.raw_items())
    return event.status_code, headers, Framing.of(event, method, http)


def request_head(method: str, target: str, headers: Headers) -> bytes:
    """The head of a request whose parts were read from one."""
    lines = [b"%b %b HTTP/1.1" % (method.encode("latin-1"), target.encode("latin-1"))]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join((*lines, b"", b""))


@dataclass
class Framing:
    """How the end of an answer's body is known (RFC 9112 section 6.3), and what came of it behind the head."""

    chunks: ChunkedBody | None
    left_bytes: int | None
    """Without chunks; None: until the provider closes."""
    keeps_alive: bool
    came: bytes

    @staticmethod
    def of(head: h11.Response, method: str, http: h11.Connection) -> Framing:
        """That of the answer whose head `http` has read."""
        came, keeps_alive = bytes(http.trailing_data[0]), http.our_state is h11.DONE
        named = {bytes(name): bytes(value) for name, value in head.headers}
        if head.status_code in BODILESS or method == "HEAD":
            return Framing(None, 0, keeps_alive, came)
        if b"transfer-encoding" in named:
            return Framing(ChunkedBody(), None, keeps_alive, came)
        length = named.get(b"content-length")
        return Framing(None, None if length is None else int(length), keeps_alive, came)


class Arriving:
    """An answer whose head is there; its body comes in the pieces in which the provider sent it."""

    def __init__(self, side: ModelSide, wire: Wire, status: int, headers: Headers, framing: Framing) -> None:
        """Nothing of the body was read."""
        self.status = status
        self.headers = headers
        self._side = side
        self._wire: Wire | None = wire
        self._framing = framing

    @property
    def length_bytes(self) -> int | None:
        """The declared length of a body without chunks; beside chunks it would say nothing (RFC 9112, 6.3)."""
        length = None if self._framing.chunks is not None else self.header(b"content-length")
        return None if length is None else int(length)

    def header(self, name: bytes) -> bytes | None:
        """The first header of that lower-case name, or None."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    async def burst(self) -> Burst | None:
        """What came next of the body; None at its end.

        Raises:
            BrokenOffError: when the provider ends before the body's end.
        """
        try:
            if self._framing.chunks is not None:
                return await self._chunked(self._framing.chunks)
            return await self._plain()
        except FramingError as error:
            self.close()
            raise BrokenOffError(reset=False) from error
        except BaseException:
            self.close()
            raise

    async def _chunked(self, chunks: ChunkedBody) -> Burst | None:
        while self._wire is not None:
            data = await self._next(self._wire)
            if not data:
                raise BrokenOffError(reset=False)
            burst = chunks.feed(data)
            if chunks.ended:
                self._end(self._wire, chunks.rest)
            if burst.framed:
                return burst
        return None

    async def _plain(self) -> Burst | None:
        framing, wire = self._framing, self._wire
        if wire is None:
            return None
        if framing.left_bytes == 0:
            self._end(wire, framing.came)
            return None
        data = await self._next(wire)
        if not data:
            if framing.left_bytes is not None:
                raise BrokenOffError(reset=False)
            self.close()
            return None
        if framing.left_bytes is not None:
            data, framing.came = data[: framing.left_bytes], data[framing.left_bytes :]
            framing.left_bytes -= len(data)
        return burst_of(data)

    async def _next(self, wire: Wire) -> bytes:
        came, self._framing.came = self._framing.came, b""
        return came or await wire.read()

    def _end(self, wire: Wire, rest: bytes) -> None:
        """The body came to its end; `rest` is what came behind it."""
        self._wire = None
        if rest or not self._framing.keeps_alive:
            wire.inbox.transport.close()
        else:
            self._side.rest(wire)

    def close(self) -> None:
        """Nothing more is read, and the provider notices."""
        if self._wire is not None:
            self._wire.abort()
            self._wire = None
