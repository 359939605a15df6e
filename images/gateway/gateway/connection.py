"""How does one connection speak HTTP/1.1? Reads requests and sends answers.

Whatever a client does, it ends its own connection at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from dataclasses import dataclass, replace
from socket import SO_LINGER, SOL_SOCKET
from typing import TYPE_CHECKING

import h11

from gateway.evidence import EvidenceError
from gateway.exchange import BrokenOffError, Request, burst_of
from gateway.provider_errors import RefusedError
from gateway.speech import AnySpeech, plain_speech

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from gateway.exchange import Answer, Exchange, Pieces
    from gateway.gateway import Gateway
    from gateway.inbox import Inbox
    from gateway.speech import Speech

# What is read and thrown away after an early refusal, so that the client reads the refusal instead of a reset.
LINGER_BYTES = 64 * 1024 * 1024
LINGER_SECONDS = 2.0
# So much of a client's next requests is taken while it waits for an answer.
AHEAD_BYTES = 65536
# A client may lag so far behind a provider that sends faster than it reads.
BEHIND_BYTES = 262144


@dataclass(frozen=True)
class WireLimits:
    """What a client may ask of the wire; 32 MB is the provider's own limit of a body."""

    body_bytes: int = 32 * 1024 * 1024
    bodies_in_memory_bytes: int = 64 * 1024 * 1024
    head_seconds: float = 30.0
    idle_seconds: float = 600.0
    body_seconds: float = 300.0
    write_stall_seconds: float = 60.0


class BodyBudget:
    """How many bytes of bodies all connections may hold at once."""

    def __init__(self, limit_bytes: int) -> None:
        """Nothing is held."""
        self._free_bytes = limit_bytes

    def take(self, size_bytes: int) -> bool:
        """So much is held, or false and nothing changes."""
        if size_bytes > self._free_bytes:
            return False
        self._free_bytes -= size_bytes
        return True

    def give(self, size_bytes: int) -> None:
        """So much is free again."""
        self._free_bytes += size_bytes


class ClientGoneError(Exception):
    """The client closed its side."""


class Connection:
    """One client's connection: one exchange after the other."""

    _speech: Speech
    """Of the exchange that was begun last."""

    def __init__(
        self,
        inbox: Inbox,
        gateway: Gateway,
        limits: WireLimits,
        budget: BodyBudget,
    ) -> None:
        """Nothing has been read."""
        self.busy = False
        self._inbox = inbox
        self._gateway = gateway
        self._limits = limits
        self._budget = budget
        self._ahead = b""
        self._held_bytes = 0

    async def serve(self) -> None:
        """The connection has ended, and every exchange on it is recorded."""
        try:
            while await self._serve_one():
                self._ahead = self._speech.ahead()
        except (ClientGoneError, ConnectionError, EvidenceError, h11.LocalProtocolError):
            self._inbox.transport.abort()
        except BrokenOffError as error:
            await self._break_off(reset=error.reset)
        finally:
            self._inbox.transport.close()

    async def _serve_one(self) -> bool:
        """Whether another exchange may follow."""
        head = await self._head()
        if head is None:
            return False
        self.busy = True
        exchange = self._gateway.arrive(head if isinstance(head, Request) else EMPTY)
        try:
            if isinstance(head, Request):
                answer = await self._answer(exchange, head)
            else:
                answer = self._gateway.refuse(exchange, head)
            await self._send(exchange, answer)
        finally:
            if not exchange.recorded:
                # The gateway ends, or a fault of ours took the answer away.
                exchange.cut = True
                self._gateway.record(exchange)
            self._budget.give(self._held_bytes)
            self._held_bytes = 0
            self.busy = False
        if self._speech.is_done():
            return True
        await self._linger()
        return False

    async def _answer(self, exchange: Exchange, head: Request) -> Answer:
        problem = await self._receive(exchange, head)
        if problem:
            return self._gateway.refuse(exchange, problem)
        async with self._listening():
            return await self._gateway.answer(exchange)

    async def _receive(self, exchange: Exchange, head: Request) -> RefusedError | None:
        """The exchange has its request, or what came of it; returns what is wrong with it."""
        received: list[bytes] = []
        problem: RefusedError | None = None
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                await self._body(head, received)
        except RefusedError as error:
            problem = error
        except TimeoutError:
            problem = RefusedError(408, "bad_request", "The body of the request did not arrive.")
        exchange.request = replace(head, body=b"".join(received))
        return problem

    async def _head(self) -> Request | RefusedError | None:
        """The next request's head, what is wrong with it, or None when no more comes."""
        if not self._ahead:
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    self._ahead = await self._inbox.read()
            except TimeoutError:
                return None
        data, self._ahead = self._ahead, b""
        plain = plain_speech(self._inbox, data)
        if plain is not None:
            request, self._speech = plain
            return request
        self._speech = speech = AnySpeech(self._inbox, data)
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                return await speech.head()
        except TimeoutError:
            return RefusedError(408, "bad_request", "The head of the request did not arrive.")

    async def _body(self, head: Request, received: list[bytes]) -> None:
        """The whole body is in `received`.

        Raises:
            RefusedError: when it is malformed or too large.
        """
        declared = head.header("content-length")
        if declared is not None and int(declared) > self._limits.body_bytes:
            raise RefusedError(413, "bad_request", "Request exceeds the maximum size")
        while piece := await self._speech.piece():
            self._hold(len(piece))
            received.append(piece)

    def _hold(self, more_bytes: int) -> None:
        if self._held_bytes + more_bytes > self._limits.body_bytes or not self._budget.take(more_bytes):
            raise RefusedError(413, "bad_request", "Request exceeds the maximum size")
        self._held_bytes += more_bytes

    async def _send(self, exchange: Exchange, answer: Answer) -> None:
        """The answer was sent and the exchange recorded, the record before the last byte."""
        exchange.note_answer(answer)
        finished = False
        try:
            if isinstance(answer.body, bytes):
                self._require_client(exchange)
                last = self._whole(exchange, answer, answer.body)
            else:
                # Closed at once when the client goes away, so that nobody upstream goes on for nothing.
                async with contextlib.aclosing(answer.body):
                    self._require_client(exchange)
                    async with self._listening():
                        last = await self._pieces(exchange, answer, answer.body)
            finished = True
        finally:
            # Also when the client is gone, or this task is cancelled because the gateway ends.
            if exchange.first_byte_ns is None:
                exchange.status = None
            else:
                exchange.last_byte_ns = self._gateway.now_ns()
            exchange.observation = answer.observe()
            exchange.cut = not finished or exchange.observation.broken_off
            self._gateway.record(exchange)
        self._write(last)
        await self._drain()
        # Whoever else waits has its turn, also when this client has sent all of its requests at once.
        await asyncio.sleep(0)

    def _whole(self, exchange: Exchange, answer: Answer, body: bytes) -> bytes:
        data = self._speech.head_of(answer, ("content-length", str(len(body))))
        if exchange.request.method != "HEAD":
            exchange.take(body)
            data += self._speech.framed(burst_of(body))
        exchange.first_byte_ns = self._gateway.now_ns()
        return data + self._speech.end()

    async def _pieces(self, exchange: Exchange, answer: Answer, body: Pieces) -> bytes:
        """All but the returned bytes were sent; a burst of nothing sends what waits."""
        whole = answer.length_bytes is not None
        framing = ("content-length", str(answer.length_bytes)) if whole else ("transfer-encoding", "chunked")
        waiting = b"" if answer.status is None else self._speech.head_of(answer, framing)
        left_bytes = answer.length_bytes or 0
        async for burst in body:
            self._require_client(exchange)
            framed = burst.body if answer.status is None else self._speech.framed(burst)
            left_bytes -= len(framed)
            is_last = whole and bool(framed) and not left_bytes
            framed, waiting = waiting + framed if waiting else framed, b""
            if is_last:
                # Its last byte is sent when the exchange is recorded.
                framed, waiting = framed[:-1], framed[-1:]
            self._write(framed)
            exchange.first_byte_ns = exchange.first_byte_ns or self._gateway.now_ns()
            if burst.body and exchange.request.method != "HEAD":
                if answer.body_limit_bytes is None:
                    self._gateway.make_room(exchange, len(burst.body))
                exchange.take(burst.body)
                self._gateway.look_ahead(exchange)
            await self._drain()
        exchange.first_byte_ns = exchange.first_byte_ns or self._gateway.now_ns()
        if answer.status is None:
            return waiting
        return waiting + self._speech.end()

    @contextlib.asynccontextmanager
    async def _listening(self) -> AsyncGenerator[None, None]:
        """What is done inside ends as soon as the client goes away, however long it would have waited.

        One that sends more than anyone has asked for isn't listened to: its end shows when it is written to.

        Raises:
            ClientGoneError: then.
        """
        task = asyncio.current_task()
        gone = False

        def leave() -> None:
            nonlocal gone
            gone = True
            if task is not None:
                task.cancel()

        self._inbox.on_end = leave
        if self._inbox.ended:
            leave()
        try:
            yield
            if gone:
                # What was done inside never waited: the cancellation comes here.
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            if gone and task is not None and task.uncancel() == 0:
                raise ClientGoneError from None
            raise
        finally:
            self._inbox.on_end = None

    async def _break_off(self, *, reset: bool) -> None:
        """All that was sent is out, and the connection ended where no end was due."""
        self._inbox.transport.set_write_buffer_limits(0)
        await self._drain()
        if reset:
            # Closing with nothing to linger for is a reset; a Unix socket has none, and its peer sees an early end.
            socket = self._inbox.transport.get_extra_info("socket")
            socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            self._inbox.transport.abort()

    def _require_client(self, exchange: Exchange) -> None:
        """Returns while the client listens; one whose own request broke off is still told why."""
        if self._inbox.transport.is_closing() or (exchange.refused is None and self._inbox.ended):
            raise ClientGoneError

    def _write(self, data: bytes | None) -> None:
        if data:
            self._inbox.transport.write(data)

    async def _drain(self) -> None:
        if self._inbox.transport.get_write_buffer_size() == 0:
            # All of it is with the kernel.
            return
        try:
            async with asyncio.timeout(self._limits.write_stall_seconds):
                await self._inbox.drain()
        except TimeoutError as error:
            raise ClientGoneError from error

    async def _linger(self) -> None:
        """The client had a chance to read the answer before the connection closes."""
        if self._inbox.transport.can_write_eof():
            self._inbox.transport.write_eof()
        left_bytes = LINGER_BYTES
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while left_bytes > 0 and (data := await self._inbox.read()):
                    left_bytes -= len(data)
        except TimeoutError:
            return


EMPTY = Request("", "", (), b"")
