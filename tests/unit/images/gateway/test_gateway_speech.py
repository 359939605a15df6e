"""One exchange on a client's connection, plain or not: the same bytes go out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import h11
import pytest
from gateway.exchange import Answer, Burst, Observation, UsageUnavailable, burst_of
from gateway.inbox import Inbox
from gateway.provider_errors import RefusedError
from gateway.speech import AnySpeech, PlainSpeech, plain_speech

if TYPE_CHECKING:
    from gateway.speech import Speech

HEAD = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Key: K\r\nContent-Length: 5\r\n\r\n"
CHUNKED, SIZED = ("transfer-encoding", "chunked"), ("content-length", "3")


def answer(status: int = 200, *headers: tuple[str, str]) -> Answer:
    seen = Observation(None, None, None, streamed=False, usage=UsageUnavailable("no answer was made"))
    return Answer(status, headers, b"", 0, lambda: seen)


def spoken(data: bytes) -> tuple[PlainSpeech, AnySpeech]:
    """Both ways of speaking the exchange that begins with `data`, whose request was read."""
    plain = plain_speech(Inbox(1000), data)
    assert plain is not None
    other = AnySpeech(Inbox(1000), data)
    assert asyncio.run(other.head()) == plain[0]
    return plain[1], other


async def body(speech: Speech) -> list[bytes]:
    pieces = []
    while piece := await speech.piece():
        pieces.append(piece)
    return pieces


@pytest.mark.parametrize("framing", [CHUNKED, SIZED])
@pytest.mark.parametrize("status", [200, 204, 402])
def test_an_answer_has_the_same_bytes_either_way(status: int, framing: tuple[str, str]) -> None:
    """Head, body and end; what came behind the request is there for the next one."""
    for bursts in ([burst_of(b"abc")], [burst_of(b""), Burst(b"abc", (3,), b"3\r\nabc\r\n")]):
        said = []
        for speech in spoken(HEAD + b"hellonext"):
            assert b"".join(asyncio.run(body(speech))) == b"hello"
            head = speech.head_of(answer(status, ("Request-Id", "1")), framing)
            sent = b"" if status == 204 else b"".join(map(speech.framed, bursts))
            said.append((head if status != 204 else head[:12], sent + (speech.end() if status != 204 else b"")))
            assert speech.ahead() == b"next"
        assert said[0] == said[1]


def test_an_answer_without_a_body_has_no_framing() -> None:
    """Not even an end of one."""
    speech, _ = spoken(HEAD + b"hello")
    asyncio.run(body(speech))
    assert speech.head_of(answer(204), CHUNKED) == b"HTTP/1.1 204 \r\n\r\n"
    assert (speech.framed(burst_of(b"x")), speech.end()) == (b"", b"")


def test_a_body_comes_as_it_is_sent() -> None:
    """What is there first, and no byte of what stands behind."""

    async def talk() -> None:
        inbox = Inbox(1000)
        plain = plain_speech(inbox, HEAD + b"he")
        assert plain is not None
        _, speech = plain
        assert await speech.piece() == b"he"
        inbox.data_received(b"llo, more")
        assert [await speech.piece(), await speech.piece()] == [b"llo", b""]
        assert speech.ahead() == b", more"

    asyncio.run(talk())


def test_a_client_that_ends_within_its_request_is_told() -> None:
    """It may still read the answer, and nothing else follows on its connection."""

    async def talk() -> None:
        inbox = Inbox(1000)
        plain = plain_speech(inbox, HEAD + b"he")
        assert plain is not None
        _, speech = plain
        assert await speech.piece() == b"he"
        inbox.ended = True
        with pytest.raises(RefusedError, match="400"):
            await speech.piece()
        assert speech.head_of(answer(400), SIZED).endswith(b"content-length: 3\r\nconnection: close\r\n\r\n")
        speech.end()
        assert not speech.is_done()

    asyncio.run(talk())


def test_an_exchange_is_done_when_both_sides_said_all() -> None:
    """Then another one may follow."""
    speech, _ = spoken(HEAD + b"hello")
    asyncio.run(body(speech))
    assert not speech.is_done()
    speech.head_of(answer(), SIZED)
    speech.framed(burst_of(b"abc"))
    speech.end()
    assert speech.is_done()


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\rb", "a\0b"])
def test_no_header_ends_the_head(value: str) -> None:
    """Whatever a script wants to send."""
    for speech in spoken(HEAD + b"hello"):
        with pytest.raises(h11.LocalProtocolError):
            speech.head_of(answer(200, ("x", value)), SIZED)
