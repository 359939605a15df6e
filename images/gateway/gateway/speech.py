"""How is one exchange spoken on a client's connection? As plain HTTP/1.1, or as anything else that h11 understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import h11

from gateway.chunks import chunk_of
from gateway.exchange import Request
from gateway.plain_heads import BODILESS, plain_request
from gateway.provider_errors import RefusedError

if TYPE_CHECKING:
    from gateway.exchange import Answer, Burst
    from gateway.inbox import Inbox
    from gateway.plain_heads import PlainHead

HEAD_LIMIT_BYTES = 65536
LAST_CHUNK = b"0\r\n\r\n"


class Speech(Protocol):
    """One request and its answer."""

    async def piece(self) -> bytes:
        """What comes next of the request's body; b"" at its end.

        Raises:
            RefusedError: when it isn't HTTP.
        """

    def head_of(self, answer: Answer, framing: tuple[str, str]) -> bytes:
        """The head of the answer, whose body is framed so."""

    def framed(self, burst: Burst) -> bytes:
        """What goes out of a burst."""

    def end(self) -> bytes:
        """What ends the answer."""

    def is_done(self) -> bool:
        """Whether both sides said all that they had to say, so that another exchange may follow."""

    def ahead(self) -> bytes:
        """What came behind the request."""


class PlainSpeech:
    """A POST with a length, in a head of the plain kind."""

    def __init__(self, inbox: Inbox, head: PlainHead, data: bytes) -> None:
        """`data` begins with the head."""
        self._inbox = inbox
        self._came = data[head.end :]
        self._left_bytes = head.length_bytes or 0
        self._chunked = False
        self._bare = False
        self._ended = False

    async def piece(self) -> bytes:
        """What comes next of the request's body; b"" at its end.

        Raises:
            RefusedError: when the client ends within it.
        """
        if not self._left_bytes:
            return b""
        data, self._came = self._came or await self._inbox.read(), b""
        if not data:
            raise RefusedError(400, "bad_request", "Malformed HTTP: the client ended within its request")
        if len(data) > self._left_bytes:
            data, self._came = data[: self._left_bytes], data[self._left_bytes :]
        self._left_bytes -= len(data)
        return data

    def head_of(self, answer: Answer, framing: tuple[str, str]) -> bytes:
        """The head of the answer.

        Raises:
            LocalProtocolError: when a header would end the head, or another header.
        """
        self._bare = answer.status in BODILESS
        self._chunked = framing[0] == "transfer-encoding" and not self._bare
        if self._chunked:
            # As h11 spells it.
            framing = ("Transfer-Encoding", "chunked")
        headers = answer.headers if self._bare else (*answer.headers, framing)
        if self._left_bytes:
            headers = (*headers, ("connection", "close"))
        lines = [f"HTTP/1.1 {answer.status} ", *(f"{name}: {value}" for name, value in headers), "", ""]
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
            raise h11.LocalProtocolError("a header holds the end of a line")
        return head.encode("latin-1")

    def framed(self, burst: Burst) -> bytes:
        """Its chunks, or its body where the answer has a length."""
        if self._chunked:
            return burst.framed or chunk_of(burst.body)
        return b"" if self._bare else burst.body

    def end(self) -> bytes:
        """The last chunk of a body that has chunks."""
        self._ended = True
        return LAST_CHUNK if self._chunked else b""

    def is_done(self) -> bool:
        """Whether another exchange may follow."""
        return self._ended and not self._left_bytes

    def ahead(self) -> bytes:
        """What came behind the request."""
        return self._came


class AnySpeech:
    """Whatever h11 understands, and what it doesn't."""

    def __init__(self, inbox: Inbox, data: bytes) -> None:
        """`data` is what came."""
        self._inbox = inbox
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT_BYTES)
        self._http.receive_data(data)
        self._bare = False

    async def head(self) -> Request | RefusedError | None:
        """The request's head, what is wrong with it, or None when none comes."""
        try:
            event = await self._event()
        except RefusedError as error:
            return error
        if not isinstance(event, h11.Request):
            return None
        headers = tuple((key.decode("latin-1"), value.decode("latin-1")) for key, value in event.headers)
        # h11 limits only what it has to wait for; a large head that came in one piece gets here.
        if len(event.target) + sum(len(key) + len(value) for key, value in headers) > HEAD_LIMIT_BYTES:
            return RefusedError(431, "bad_request", "The head of the request exceeds the maximum size")
        wire_headers = tuple((bytes(name), bytes(value)) for name, value in event.headers.raw_items())
        self._bare = event.method == b"HEAD"
        return Request(event.method.decode("latin-1"), event.target.decode("latin-1"), headers, b"", wire_headers)

    async def piece(self) -> bytes:
        """What comes next of the request's body; b"" at its end.

        Raises:
            RefusedError: when it isn't HTTP.
        """
        while isinstance(event := await self._event(), h11.Data):
            if event.data:
                return bytes(event.data)
        return b""

    async def _event(self) -> object:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise RefusedError(400, "bad_request", f"Malformed HTTP: {error}"[:200]) from error
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                going_on = h11.InformationalResponse(status_code=100, headers=[])
                self._inbox.transport.write(self._http.send(going_on) or b"")
            self._http.receive_data(await self._inbox.read())

    def head_of(self, answer: Answer, framing: tuple[str, str]) -> bytes:
        """The head of the answer.

        Raises:
            LocalProtocolError: when it is none of HTTP.
        """
        # As bytes: h11 takes text for ASCII, and a provider's header needn't be.
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*answer.headers, framing)]
        if self._http.their_state is not h11.DONE:
            headers.append((b"connection", b"close"))
        return self._http.send(h11.Response(status_code=answer.status or 0, headers=headers)) or b""

    def framed(self, burst: Burst) -> bytes:
        """As the head said."""
        return self._http.send(h11.Data(data=b"" if self._bare else burst.body)) or b""

    def end(self) -> bytes:
        """What ends the answer."""
        return self._http.send(h11.EndOfMessage()) or b""

    def is_done(self) -> bool:
        """Whether another exchange may follow."""
        return self._http.their_state is h11.DONE and self._http.our_state is h11.DONE

    def ahead(self) -> bytes:
        """What came behind the request."""
        return bytes(self._http.trailing_data[0])


def plain_speech(inbox: Inbox, data: bytes) -> tuple[Request, PlainSpeech] | None:
    """The request that `data` begins with, if its head is of the plain kind."""
    head = plain_request(data, HEAD_LIMIT_BYTES)
    if head is None:
        return None
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in head.headers)
    return Request("POST", head.line.decode("latin-1"), headers, b"", head.headers), PlainSpeech(inbox, head, data)
