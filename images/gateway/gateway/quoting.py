"""How does a body stand in a line of JSON? As a text, or in base64; made piece by piece, so that no copy of it is.

A text of 32 MB takes 128 MB of memory as soon as one character of it lies beyond the Basic Multilingual Plane.
"""

from __future__ import annotations

import base64
import codecs
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Divisible by three, so that pieces of base64 join.
PIECE_BYTES = 3 * 64 * 1024
# JSON writes these with a backslash, and all other control characters as `\u00XX`.
SHORT_ESCAPES = b'"\\\b\f\n\r\t'
LONG_ESCAPES = bytes(set(range(32)) - set(SHORT_ESCAPES))
LONG_ESCAPE_BYTES = 6
# `{"base64":"` and `"}`.
BASE64_FRAME_BYTES = 13


def is_text(body: bytes | bytearray) -> bool:
    """Whether the body is UTF-8."""
    if body.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in _pieces(body):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def quoted_bytes(body: bytes | bytearray) -> int:
    """The size of all of `quoted(body)`."""
    if not is_text(body):
        return BASE64_FRAME_BYTES + 4 * -(-len(body) // 3)
    short = sum(len(piece) - len(piece.translate(None, SHORT_ESCAPES)) for piece in _pieces(body))
    long = sum(len(piece) - len(piece.translate(None, LONG_ESCAPES)) for piece in _pieces(body))
    return 2 + len(body) + short + (LONG_ESCAPE_BYTES - 1) * long


def quoted(body: bytes | bytearray) -> Iterator[bytes]:
    """The body as a value of JSON: a text, or `{"base64": …}` when it isn't UTF-8."""
    if not is_text(body):
        yield b'{"base64":"'
        for piece in _pieces(body):
            yield base64.b64encode(piece)
        yield b'"}'
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    yield b'"'
    for piece in _pieces(body):
        yield json.dumps(decoder.decode(piece), ensure_ascii=False)[1:-1].encode()
    yield b'"'


def _pieces(body: bytes | bytearray) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE_BYTES):
        yield bytes(body[start : start + PIECE_BYTES])
