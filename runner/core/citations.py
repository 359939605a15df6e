"""Where does an answer say that it comes from?

An answer cites places of the workspace in one of these forms, anywhere in its text:

    path:12            one line; also path#L12
    path:12-30         lines, both ends included; also path#L12-L30
    path#bytes=0-480   bytes, the end exclusive

A `path` is a file of the workspace, with or without `/workspace/` or `./` before it. A citation may stand in a list
item, in backquotes, brackets or quotes, and be followed by punctuation. What has the form but names no file of the
workspace (`127.0.0.1:80`, `https://host:443`) isn't a citation: which files there are decides, not a guess about names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORKSPACE = "/workspace/"
# Digits are bounded: a number of a million digits in an answer must not cost quadratic time to convert.
_NUMBER = r"[0-9]{1,9}"
_DASH = "[-\u2013]"
_PATH = r"[^\s:#`'\"()\[\]<>|,;*]"
# The look-behind and the possessive `++` keep the search linear in answers that hold megabytes without a space.
_PLACE = re.compile(
    rf"(?<!{_PATH})(?P<path>{_PATH}++)"
    rf"(?:#bytes=(?P<start>{_NUMBER})-(?P<end>{_NUMBER})"
    rf"|(?::|#L)(?P<first>{_NUMBER})(?:{_DASH}L?(?P<last>{_NUMBER}))?)"
    r"(?![0-9A-Za-z_])"
)


@dataclass(frozen=True)
class Lines:
    """Lines `first` to `last`, counted from 1, both included."""

    first: int
    last: int


@dataclass(frozen=True)
class ByteRange:
    """Bytes `start` to `end`, counted from 0, the end excluded."""

    start: int
    end: int

    def overlaps(self, other: ByteRange) -> bool:
        """Whether at least one byte is in both."""
        return max(self.start, other.start) < min(self.end, other.end)


Place: TypeAlias = Lines | ByteRange


@dataclass(frozen=True)
class Citation:
    """A place that an answer names; `path` is relative to the workspace, and nothing says yet that it exists."""

    path: str
    place: Place


@dataclass(frozen=True)
class CitedRange:
    """Bytes of a file of the workspace that an answer cites."""

    path: str
    range: ByteRange


@dataclass(frozen=True)
class Resolved:
    """What an answer cites: ranges that exist, and citations of a file of the workspace that lie outside of it."""

    ranges: tuple[CitedRange, ...]
    outside: tuple[Citation, ...]


def parse_citations(answer: str) -> tuple[Citation, ...]:
    """The citations of `answer`, each once, as they first appear; a range that ends before it begins is none."""
    found: dict[Citation, None] = {}
    for match in _PLACE.finditer(answer):
        path = _relative(match["path"])
        place = _place(match)
        if path and place is not None:
            found.setdefault(Citation(path, place))
    return tuple(found)


def byte_range(lines: Lines, data: bytes) -> ByteRange | None:
    """The bytes of `lines` in a file that holds `data`, line ends included, or None when the file ends before them.

    Lines end at line feeds; a last line beyond the file's end means the end of the file.
    """
    starts = [0]
    position = data.find(b"\n")
    while position >= 0:
        starts.append(position + 1)
        position = data.find(b"\n", position + 1)
    if starts[-1] == len(data):
        starts.pop()
    if lines.first > len(starts):
        return None
    end = starts[lines.last] if lines.last < len(starts) else len(data)
    return ByteRange(starts[lines.first - 1], end)


def resolve(citations: tuple[Citation, ...], files: Mapping[str, bytes]) -> Resolved:
    """The ranges of `files` that the citations mean; a citation of anything that isn't a file there is dropped."""
    ranges: dict[CitedRange, None] = {}
    outside: list[Citation] = []
    for citation in citations:
        data = files.get(citation.path)
        if data is None:
            continue
        found = _clipped(citation.place, data)
        if found is None:
            outside.append(citation)
        else:
            ranges.setdefault(CitedRange(citation.path, found))
    return Resolved(tuple(ranges), tuple(outside))


def _clipped(place: Place, data: bytes) -> ByteRange | None:
    if isinstance(place, Lines):
        return byte_range(place, data)
    if place.start >= len(data):
        return None
    return ByteRange(place.start, min(place.end, len(data)))


def _relative(path: str) -> str:
    path = path.removeprefix(_WORKSPACE)
    while path.startswith("./"):
        path = path[2:]
    return path


def _place(match: re.Match[str]) -> Place | None:
    if match["start"] is not None:
        start, end = int(match["start"]), int(match["end"])
        return ByteRange(start, end) if start < end else None
    first = int(match["first"])
    last = first if match["last"] is None else int(match["last"])
    return Lines(first, last) if 1 <= first <= last else None
