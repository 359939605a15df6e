"""Where in a chunked body is the body? Follows the framing of RFC 9112 section 7.1; bytes only, no connections."""

from __future__ import annotations

import re

from gateway.exchange import Burst

# With its extensions; none was ever seen.
SIZE_LINE_LIMIT_BYTES = 4096
TRAILER_LIMIT_BYTES = 65536
SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]{0,4000})?\r\n")
LINE_END = b"\r\n"


class FramingError(Exception):
    """What came is no chunked body."""


def chunk_of(data: bytes) -> bytes:
    """One chunk, or nothing: an empty one would be the last."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


class ChunkedBody:
    """A chunked body on its way."""

    def __init__(self) -> None:
        """Nothing of it came."""
        self.ended = False
        self.rest = b""
        """What came behind its end."""
        self._held = b""
        self._chunk_bytes = 0
        self._left_bytes = 0
        self._in_chunk = False
        self._in_trailer = False
        self._trailer_bytes = 0

    def feed(self, data: bytes) -> Burst:
        """What of the body came with `data`, in its framing; the last chunk, which ends it, is left out.

        Raises:
            FramingError: when it is no chunked body.
        """
        if self._held:
            data, self._held = self._held + data, b""
        if self._in_trailer:
            self._skip_trailer(data, 0)
            return Burst(b"", ())
        view = memoryview(data)
        bodies: list[memoryview] = []
        sizes: list[int] = []
        place, end = self._in_midst(view, bodies, sizes), len(data)
        while not self._in_chunk and (size := SIZE_LINE.match(data, place)) is not None:
            self._chunk_bytes = self._left_bytes = int(size[1], 16)
            if not self._left_bytes:
                self._in_trailer = True
                self._skip_trailer(data, size.end())
                return _burst(bodies, sizes, data[:place])
            self._in_chunk = True
            place = size.end()
            behind = place + self._left_bytes
            if behind + len(LINE_END) <= end and data.startswith(LINE_END, behind):
                # A whole chunk, as nearly all are.
                bodies.append(view[place:behind])
                sizes.append(self._left_bytes)
                place, self._in_chunk = behind + len(LINE_END), False
            else:
                place += self._take(view[place:], bodies, sizes)
        self._held = data[place:]
        if not self._in_chunk and (len(self._held) > SIZE_LINE_LIMIT_BYTES or LINE_END in self._held):
            raise FramingError("the size of a chunk is malformed")
        opened = self._in_chunk and 0 < self._left_bytes < self._chunk_bytes
        return _burst(bodies, sizes, data if place == end else data[:place], is_open=opened)

    def _in_midst(self, view: memoryview, bodies: list[memoryview], sizes: list[int]) -> int:
        """How much of `view` belongs to the chunk that was begun before."""
        return self._take(view, bodies, sizes) if self._in_chunk else 0

    def _take(self, view: memoryview, bodies: list[memoryview], sizes: list[int]) -> int:
        """How much of `view` belongs to the chunk, its end included."""
        taken = view[: self._left_bytes]
        if taken:
            bodies.append(taken)
            sizes.append(len(taken))
            self._left_bytes -= len(taken)
        ending = view[len(taken) : len(taken) + len(LINE_END)]
        if self._left_bytes or len(ending) < len(LINE_END):
            return len(taken)
        if ending != LINE_END:
            raise FramingError("a chunk has another end than its size says")
        self._in_chunk = False
        return len(taken) + len(LINE_END)

    def _skip_trailer(self, data: bytes, place: int) -> None:
        """Its fields describe one connection, or nothing that anybody asked for."""
        while (end := data.find(LINE_END, place)) >= 0:
            self._trailer_bytes += end - place
            if end == place:
                self.ended, self.rest = True, data[end + len(LINE_END) :]
                return
            place = end + len(LINE_END)
        if self._trailer_bytes + len(data) - place > TRAILER_LIMIT_BYTES:
            raise FramingError("the trailer is too large")
        self._held = data[place:]


def _burst(bodies: list[memoryview], sizes: list[int], framed: bytes, *, is_open: bool = False) -> Burst:
    return Burst(b"".join(bodies), tuple(sizes), framed, is_open)
