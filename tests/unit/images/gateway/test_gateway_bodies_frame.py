"""A line of bodies is packed while the answer is on its way, whatever turns out to be in it."""

from __future__ import annotations

import base64
import itertools
import json

import pytest
import zstandard
from gateway.bodies_frame import BodiesFrame, compressor
from gateway.quoting import PIECE_BYTES

from tests.fakes.bodies import unpacked

LARGE = ('data: {"text": "ü\U0001f600"}\n\n' * 40_000).encode()


def packed(response: bytes, cut: int, request: bytes = b'{"a":"b"}') -> tuple[bytes, int]:
    """The frame of a response that came in pieces of that size, and how long its line is said to be."""
    frame = BodiesFrame(7, request, compressor())
    for start in range(0, len(response), cut):
        frame.add(response[start : start + cut])
    return b"".join(frame.end()), frame.line_bytes


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("response", "value"),
    [
        (b"", ""),
        (b'plain "text"\n\x01', 'plain "text"\n\x01'),
        ("ü\u2028\U0001f600".encode(), "ü\u2028\U0001f600"),
        (b"text, and \xff then \x00 none", {"base64": base64.b64encode(b"text, and \xff then \x00 none").decode()}),
        ("torn \U0001f600".encode()[:-1], {"base64": base64.b64encode("torn \U0001f600".encode()[:-1]).decode()}),
    ],
    ids=["empty", "escapes", "wide", "binary", "torn"],
)
def test_a_line_is_the_same_however_its_response_was_cut(response: bytes, value: object, cut: int) -> None:
    """It is one frame, and says what it would have said of the whole body."""
    frame, line_bytes = packed(response, cut)
    line = unpacked(frame)
    assert json.loads(line) == {"seq": 7, "request": '{"a":"b"}', "response": value}
    assert (len(line), line.count(b"\n")) == (line_bytes, 1)
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    unpacker.decompress(frame)
    assert unpacker.eof
    assert unpacker.unused_data == b""


@pytest.mark.parametrize("end", [b"", b"\xff"], ids=["text", "binary"])
@pytest.mark.parametrize("cut", [1000, PIECE_BYTES + 1, 10_000_000])
def test_a_large_body_reads_back(end: bytes, cut: int) -> None:
    """Also one that turns out to be no text in its last byte."""
    line = json.loads(unpacked(packed(LARGE + end, cut)[0]))["response"]
    read = base64.b64decode(line["base64"]) if isinstance(line, dict) else line.encode()
    assert read == LARGE + end


def test_any_bytes_read_back() -> None:
    """Every body of four bytes out of those that make a difference, a byte at a time."""
    for values in itertools.product(b'a"\xf0\x9f\xff', repeat=4):
        line = json.loads(unpacked(packed(bytes(values), 1, b"")[0]))["response"]
        assert (base64.b64decode(line["base64"]) if isinstance(line, dict) else line.encode()) == bytes(values)
