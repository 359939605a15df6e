"""Bodies in lines of JSON, made piece by piece."""

from __future__ import annotations

import itertools
import json

import pytest
from gateway.quoting import PIECE_BYTES, is_text, quoted, quoted_bytes

EDGE = PIECE_BYTES - 1


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"", ""),
        (b"plain", "plain"),
        (b'"\\/\b\f\n\r\t\x00\x1f\x7f', '"\\/\b\f\n\r\t\x00\x1f\x7f'),
        ("ü\u2028\U0001f600".encode(), "ü\u2028\U0001f600"),
        (b"a" * EDGE + "\U0001f600".encode() + b"b", "a" * EDGE + "\U0001f600b"),
        (b"\xff\x00", {"base64": "/wA="}),
        (b"a" * EDGE + b"\xf0\x9f", {"base64": None}),
        (b"\xed\xa0\x80", {"base64": "7aCA"}),
    ],
    ids=["empty", "plain", "escapes", "wide", "split", "binary", "torn", "surrogate"],
)
def test_a_body_reads_back_and_its_size_is_known_before(body: bytes, value: object) -> None:
    """What is measured is what is written, and what is written is the body."""
    written = b"".join(quoted(body))
    assert quoted_bytes(body) == len(written)
    read = json.loads(written)
    assert isinstance(read, dict) is not is_text(body)
    if value != {"base64": None}:
        assert read == value


def test_any_bytes_are_measured_right() -> None:
    """Every body of four bytes out of those that make a difference."""
    for values in itertools.product(b'a"\\\n\x01\xc3\xa9\xff', repeat=4):
        body = bytes(values)
        assert quoted_bytes(body) == len(b"".join(quoted(body)))


def test_texts_are_written_as_the_encoder_writes_them() -> None:
    """Larger than a piece, with everything that is escaped."""
    text = "".join(map(chr, range(1, 0xD800))) * 5
    assert b"".join(quoted(text.encode())) == json.dumps(text, ensure_ascii=False).encode()
