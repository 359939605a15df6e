"""Chunked bodies are followed without holding them up, however the bytes come."""

from __future__ import annotations

import pytest
from gateway.chunks import ChunkedBody, FramingError, chunk_of
from gateway.exchange import Burst

WIRE = b"5\r\nhello\r\n1;name=value\r\n \r\n00A \r\nworld\r\n012\r\n0\r\ntrailer: x\r\n\r\nbehind"
FRAMED = WIRE.partition(b"0\r\ntrailer")[0]


def fed(wire: bytes, cut: int) -> tuple[list[Burst], ChunkedBody]:
    """What came of a wire that was cut in pieces of that size."""
    body = ChunkedBody()
    bursts = []
    for start in range(0, len(wire), cut):
        if body.ended:
            body.rest += wire[start : start + cut]
        else:
            bursts.append(body.feed(wire[start : start + cut]))
    return bursts, body


def sizes(bursts: list[Burst]) -> list[int]:
    """Of the chunks, put together again."""
    found: list[int] = []
    goes_on = False
    for burst in bursts:
        own = list(burst.sizes)
        if goes_on and own:
            found[-1] += own.pop(0)
        found += own
        goes_on = burst.is_open if burst.sizes else goes_on
    return found


@pytest.mark.parametrize("cut", range(1, len(WIRE) + 1))
def test_body_chunks_and_framing_come_however_they_are_cut(cut: int) -> None:
    """The framing passes as it is, up to the chunk that ends it; extensions too, trailers don't."""
    bursts, body = fed(WIRE, cut)
    assert b"".join(burst.body for burst in bursts) == b"hello world\r\n012"
    assert b"".join(burst.framed for burst in bursts) == FRAMED
    assert sizes(bursts) == [5, 1, 10]
    assert (body.ended, body.rest) == (True, b"behind")


def test_nothing_waits_for_the_end_of_its_chunk() -> None:
    """What came of a chunk is there at once, and says that more of it is to come."""
    body = ChunkedBody()
    assert body.feed(b"a\r\n") == Burst(b"", (), b"a\r\n", False)
    assert body.feed(b"1234") == Burst(b"1234", (4,), b"1234", True)
    assert body.feed(b"567890") == Burst(b"567890", (6,), b"567890", False)
    assert body.feed(b"\r") == Burst(b"", (), b"", False)
    assert body.feed(b"\n3") == Burst(b"", (), b"\r\n", False)
    assert body.feed(b"\r\nabc\r\n0\r\n\r\n") == Burst(b"abc", (3,), b"3\r\nabc\r\n", False)
    assert body.ended


@pytest.mark.parametrize(
    "wire",
    [
        b"x\r\n",
        b"-1\r\n",
        b"0x5\r\nhello\r\n",
        b"\r\n",
        b"5 5\r\nhello\r\n",
        b"5\nhello\n",
        b"5\r\nhello!\r\n",
        b"5\r\nhello\n\n",
        b"1" * 16 + b"\r\n",
        b"5" + b";" + b"x" * 5000,
        b"0\r\n" + b"x" * 70_000,
        b"0\r\n" + b"x: y\r\n" * 20_000,
    ],
    ids=["word", "minus", "prefix", "none", "two", "bare", "long", "odd", "huge", "extension", "trailer", "trailers"],
)
@pytest.mark.parametrize("cut", [1, 100_000])
def test_what_is_no_chunked_body_is_told(wire: bytes, cut: int) -> None:
    """Nobody guesses where a body lies, and no framing takes memory without end."""
    with pytest.raises(FramingError):
        fed(wire + b"5\r\nhello\r\n" * 500, cut)


def test_a_piece_is_framed_as_one_chunk() -> None:
    """An empty one would end the body."""
    assert chunk_of(b"x" * 31) == b"1f\r\n" + b"x" * 31 + b"\r\n"
    assert chunk_of(b"") == b""
