"""Bodies of exchanges, as a gateway packed them: `bodies.jsonl.zst`, one line an exchange, each a frame of its own.

Nothing that the file says of itself is believed: what comes out of it is bounded by what the exchanges declare.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import zstandard

from runner.core.canonical import parse_json
from runner.core.errors import EvidenceError
from runner.core.evidence import BODIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.core.canonical import Json
    from runner.core.evidence import Exchange

# A frame of the gateway's looks back over half a mebibyte; one that asks for more was made by somebody else.
_WINDOW_BYTES: Final = 8 << 20
# A gateway's container has half a gibibyte of memory, in which it holds a request and packs its answer.
_LINE_BYTES: Final = 512 << 20
_PIECE_BYTES: Final = 1 << 18
# A control character takes six bytes in a text of JSON; the keys of a line take a few dozen.
_GROWTH: Final = 6
_KEYS_BYTES: Final = 128


@dataclass(frozen=True)
class Bodies:
    """Of one exchange; a text, or an object with a `base64`."""

    seq: int
    request: Json
    response: Json


def read_bodies(data: bytes, exchanges: Iterable[Exchange]) -> Iterator[Bodies]:
    """The lines of the file; no more than one is held, and none that is larger than its exchange can be.

    Raises:
        EvidenceError: it is damaged, or holds more than `exchanges` declare.
    """
    declared = {one.seq: _GROWTH * (one.request_bytes + one.response_bytes) + _KEYS_BYTES for one in exchanges}
    largest = min(max(declared.values(), default=0), _LINE_BYTES)
    for line in _lines(data, largest, sum(declared.values())):
        bodies = _bodies(line)
        # Each exchange has one line at most.
        if len(line) > declared.pop(bodies.seq, 0):
            raise EvidenceError(f"exchange {bodies.seq} has a line that it can't have", document=BODIES)
        yield bodies


def _lines(data: bytes, largest_bytes: int, most_bytes: int) -> Iterator[bytes]:
    held = bytearray()
    for piece in _unpacked(data):
        most_bytes -= len(piece)
        end = piece.rfind(b"\n") + 1
        if most_bytes < 0 or len(held) + (piece.find(b"\n") if end else len(piece)) > largest_bytes:
            raise EvidenceError("holds more than its exchanges declare", document=BODIES)
        held += piece
        if end:
            *lines, rest = bytes(held).split(b"\n")
            held = bytearray(rest)
            yield from lines
    if held:
        raise EvidenceError("ends within a line", document=BODIES)


def _unpacked(data: bytes) -> Iterator[bytes]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    try:
        with unpacker.stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
            while piece := reader.read(_PIECE_BYTES):
                yield piece
    except zstandard.ZstdError as error:
        raise EvidenceError(f"not what a gateway packed: {error}", document=BODIES) from error


def _bodies(line: bytes) -> Bodies:
    value = parse_json(line, BODIES)
    if isinstance(value, dict):
        seq, request, response = (value.get(name) for name in ("seq", "request", "response"))
        if isinstance(seq, int) and not isinstance(seq, bool) and request is not None and response is not None:
            return Bodies(seq, request, response)
    raise EvidenceError("a line isn't that of an exchange", document=BODIES)
