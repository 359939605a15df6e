"""How does a value stand in a line of JSON? A body as a text, or in base64, piece by piece, so that no copy of it is.

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
# These alone are escaped in most bodies.
USUAL_ESCAPES = ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n"))
RARE = bytes(set(range(32)) - set(b"\n"))
# Where more than one byte of so many is escaped, going through all of them at once is faster (measured 2026-11-29).
SPARSE = 64
SAMPLE_BYTES = 2048


def encoded(value: object) -> bytes:
    """`value` as compact UTF-8 JSON; half of a surrogate pair, which has no UTF-8, becomes a question mark.

    A provider may say anything in its answers, and what it says has to be written down all the same.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


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
    short = sum(map(body.count, (b"\\", b'"', b"\n")))
    rare = len(body) - sum(len(piece.translate(None, RARE)) for piece in _pieces(body))
    if rare:
        tabs = sum(map(body.count, (b"\b", b"\f", b"\r", b"\t")))
        short, rare = short + tabs, rare - tabs
    return 2 + len(body) + short + (LONG_ESCAPE_BYTES - 1) * rare


def quoted(body: bytes | bytearray) -> Iterator[bytes]:
    """The body as a value of JSON: a text, or `{"base64": …}` when it isn't UTF-8."""
    if not is_text(body):
        yield b'{"base64":"'
        for piece in _pieces(body):
            yield base64.b64encode(piece)
        yield b'"}'
        return
    yield b'"'
    if body.isascii():
        for piece in _pieces(body):
            yield quoted_text(piece)
    else:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for piece in _pieces(body):
            yield quoted_text(decoder.decode(piece).encode())
    yield b'"'


def quoted_text(piece: bytes) -> bytes:
    """The inner part of a text of JSON, without its quotes; `piece` is UTF-8."""
    sample = piece[:SAMPLE_BYTES]
    if sum(sample.count(plain) for plain, _ in USUAL_ESCAPES) * SPARSE < len(sample) and not _has_rare(piece):
        for plain, escaped in USUAL_ESCAPES:
            piece = piece.replace(plain, escaped)
        return piece
    return json.dumps(piece.decode(), ensure_ascii=False)[1:-1].encode()


def _has_rare(piece: bytes) -> bool:
    return len(piece.translate(None, RARE)) != len(piece)


def _pieces(body: bytes | bytearray) -> Iterator[bytes]:
    if len(body) <= PIECE_BYTES:
        yield bytes(body)
        return
    for start in range(0, len(body), PIECE_BYTES):
        yield bytes(body[start : start + PIECE_BYTES])
