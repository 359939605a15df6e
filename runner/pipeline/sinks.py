"""Where the lines of a document go: to its file, or against what the file holds. No document is held as a whole."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from runner.core.canonical import Digest
from runner.core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BEFORE, _AFTER = 40, 20


class Sink(Protocol):
    """Takes a document piece by piece."""

    def put(self, data: bytes) -> None:
        """Take the next piece."""

    def digest(self) -> Digest:
        """The digest of what was taken so far."""


class Written:
    """Goes to where `put` brings it."""

    def __init__(self, put: Callable[[bytes], object]) -> None:
        """Nothing yet."""
        self._put = put
        self._hash = hashlib.sha256()

    def put(self, data: bytes) -> None:
        """Take the next piece."""
        self._hash.update(data)
        self._put(data)

    def digest(self) -> Digest:
        """The digest of what was taken so far."""
        return Digest(f"sha256:{self._hash.hexdigest()}")


class Compared:
    """Is held against what a file holds, as far as the two are alike."""

    def __init__(self, found: Iterator[bytes]) -> None:
        """Nothing yet, of a file whose bytes are `found`."""
        self._hash = hashlib.sha256()
        self._found = found
        self._held = b""
        self._at = 0
        self._taken = 0
        self._lines = 0
        self._before = b""
        self._differs_at: tuple[int, int] | None = None
        self._after = b""

    def put(self, data: bytes) -> None:
        """Take the next piece."""
        self._hash.update(data)
        if self._differs_at is not None:
            self._after += data[: _AFTER - len(self._after)]
            return
        found = self._next(len(data))
        if found == data:
            self._pass(data)
            return
        pairs = zip(found, data, strict=False)
        same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(found), len(data)))
        self._pass(data[:same])
        self._differs_at = self._lines + 1, self._taken
        self._after = data[same : same + _AFTER]

    def digest(self) -> Digest:
        """The digest of what was taken so far."""
        return Digest(f"sha256:{self._hash.hexdigest()}")

    def difference(self, name: str) -> Problem | None:
        """What the file called `name` holds otherwise, after everything was taken."""
        if self._differs_at is None:
            if not self._next(1):
                return None
            self._differs_at = self._lines + 1, self._taken
        line, place = self._differs_at
        around = (self._before + self._after).decode("utf-8", "replace").replace("\n", " ")
        where = f"line {line}, byte {place}, near {around!r}"
        return Problem(f"differs from what the raw evidence gives, first at {where}", name)

    def _next(self, size: int) -> bytes:
        while len(self._held) - self._at < size:
            piece = next(self._found, b"")
            if not piece:
                break
            self._held, self._at = self._held[self._at :] + piece, 0
        start, self._at = self._at, self._at + size
        return self._held[start : self._at]

    def _pass(self, data: bytes) -> None:
        self._taken += len(data)
        self._lines += data.count(b"\n")
        self._before = (self._before + data[-_BEFORE:])[-_BEFORE:]
