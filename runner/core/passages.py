"""What does a corpus hold, as one digest and as passages?

Knows bytes and paths only: not where files come from, nor how passages are embedded. The splitter looks at lines,
indentation and headings, never at a parse tree, so that every Python version makes the same passages; a change of any
rule here is a new splitter name.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from runner.core.canonical import (
    Digest,
    canonical_line,
    canonical_lines,
    digest_of,
    sha256_digest,
    whole_lines,
)
from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.core.canonical import Json

_TITLE_LIMIT = 160
# The bracket or colon after the name tells a definition from prose that begins with "class".
_DEFINITION = re.compile(rb"([ \t]*)(?:(?:async[ \t]+)?def|class)[ \t]+([^ \t\r\n(:\[]+)[ \t]*[(:\[]")
_HEADING = re.compile(rb"(#{1,6})[ \t]+(.*)")
_FENCE = re.compile(rb"[ ]{0,3}(```|~~~)")

# What it costs to begin a passage at a line, in quarters of the target size: a top-level definition or heading is free.
_TOP, _INNER, _AFTER_BLANK, _ANYWHERE = 0, 1, 2, 5


LIVE: Final = "live"
"""The status of a passage of which nothing else is declared."""


@dataclass(frozen=True)
class Splitter:
    """The rule that makes passages, by name, with its parameters."""

    name: str = "lines-1"
    target_bytes: int = 800
    max_bytes: int = 1600


LINES_1 = Splitter()


@dataclass(frozen=True)
class Passage:
    """The bytes `start` to `end` (exclusive) of the file `source`, which are valid UTF-8: `text`."""

    id: int
    source: str
    start: int
    end: int
    title: str
    text: str
    workspace: str = ""
    """Whose it is; "" is everybody's."""
    status: str = LIVE
    known_from_s: int | None = None
    """Seconds since the epoch from which on it is known; None: always was."""
    expires_s: int | None = None
    """Seconds since the epoch from which on it is valid no more; None: it stays valid."""

    def value(self) -> dict[str, Json]:
        """The passage as it stands in files; a boundary that it hasn't got has no key."""
        found: dict[str, Json] = {
            "id": self.id,
            "source": self.source,
            "start": self.start,
            "end": self.end,
            "title": self.title,
            "text": self.text,
        }
        if self.workspace:
            found["workspace"] = self.workspace
        if self.status != LIVE:
            found["status"] = self.status
        if self.known_from_s is not None:
            found["known_from_s"] = self.known_from_s
        if self.expires_s is not None:
            found["expires_s"] = self.expires_s
        return found


_PASSAGE: Final = TypeAdapter(Passage)


@dataclass(frozen=True)
class _Line:
    start: int
    data: bytes
    cut: int
    """What it costs to begin a passage here, in quarters of the target."""
    context: tuple[tuple[int, str], ...]
    """Definitions or headings that stand open before this line, outermost first, with their indentation or level."""
    opens: str
    """The definition or heading on this line, or ""."""

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    @property
    def is_blank(self) -> bool:
        return not self.data.strip(b" \t\r\n\f\v")


def tree_digest(files: Mapping[str, bytes]) -> Digest:
    """The digest over the canonical JSON of every file's `[path, size_bytes, sha256]`, sorted by the path's UTF-8."""
    return digest_of([[path, len(files[path]), sha256_digest(files[path])] for path in in_order(files)])


def split(files: Mapping[str, bytes], splitter: Splitter = LINES_1) -> tuple[Passage, ...]:
    """The passages of all `files`, numbered from 1 in the order of path and position.

    A file that isn't UTF-8 text, or is blank, has none. Passages are whole lines (a line beyond the maximum is cut
    between characters), don't overlap, hold every line that isn't blank, and are at most `splitter.max_bytes` long.
    """
    found: list[Passage] = []
    for path in in_order(files):
        if not is_text(files[path]):
            continue
        for group in _groups(_lines(path, files[path], splitter.max_bytes), splitter):
            text = b"".join(line.data for line in group).decode("utf-8")
            title = _title(path, group)
            found.append(Passage(len(found) + 1, path, group[0].start, group[-1].end, title, text))
    return tuple(found)


def skipped(files: Mapping[str, bytes], passages: Iterable[Passage]) -> tuple[str, ...]:
    """The paths of `files` that no passage comes from, in order."""
    sources = {passage.source for passage in passages}
    return tuple(path for path in in_order(files) if path not in sources)


def passages_jsonl(passages: Iterable[Passage]) -> bytes:
    """The passages as canonical NDJSON, one a line."""
    return canonical_lines(passage.value() for passage in passages)


def read_passages(data: bytes, document: str) -> tuple[Passage, ...]:
    """The passages that `passages_jsonl` wrote.

    Raises:
        EvidenceError: a line isn't a passage.
    """
    found: list[Passage] = []
    for number, line in enumerate(whole_lines(data, document), 1):
        try:
            found.append(_PASSAGE.validate_json(line, strict=True))
        except ValidationError as error:
            raise EvidenceError("not a passage", document=f"{document} line {number}") from error
    if passages_jsonl(found) != data:
        raise EvidenceError("not the passages as they are written", document=document)
    return tuple(found)


def passages_digest(passages: Iterable[Passage]) -> Digest:
    """The digest of `passages_jsonl`, without its bytes being in memory at once."""
    found = hashlib.sha256()
    for passage in passages:
        found.update(canonical_line(passage.value()))
    return Digest(f"sha256:{found.hexdigest()}")


def in_order(files: Iterable[str]) -> list[str]:
    """Paths in the order of their UTF-8."""
    return sorted(files, key=lambda path: path.encode("utf-8"))


def is_text(data: bytes) -> bool:
    """Whether passages can be made of a file: UTF-8 without NUL."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _lines(path: str, data: bytes, max_bytes: int) -> list[_Line]:
    raw = data.split(b"\n")
    whole = [line + b"\n" for line in raw[:-1]] + ([raw[-1]] if raw[-1] else [])
    if path.endswith((".py", ".pyi")):
        marks = _python_marks(whole)
    elif path.endswith((".md", ".markdown")):
        marks = _markdown_marks(whole)
    else:
        marks = [("", 0, _ANYWHERE)] * len(whole)
    lines: list[_Line] = []
    opened: tuple[tuple[int, str], ...] = ()
    position = 0
    after_blank = False
    for content, (name, depth, cut) in zip(whole, marks, strict=True):
        if name:
            opened = tuple(entry for entry in opened if entry[0] < depth)
        for number, piece in enumerate(_pieces(content, max_bytes)):
            cost = _ANYWHERE if number else min(cut, _AFTER_BLANK if after_blank else _ANYWHERE)
            lines.append(_Line(position, piece, cost, opened, name if number == 0 else ""))
            position += len(piece)
        if name:
            opened = (*opened, (depth, name))
        after_blank = lines[-1].is_blank
    return lines


def _pieces(line: bytes, max_bytes: int) -> Iterator[bytes]:
    while len(line) > max_bytes:
        cut = max_bytes
        while line[cut] & 0xC0 == 0x80:  # RFC 3629 section 3: a continuation byte is 10xxxxxx
            cut -= 1
        yield line[:cut]
        line = line[cut:]
    yield line


def _python_marks(lines: Sequence[bytes]) -> list[tuple[str, int, int]]:
    """For each line: the name defined there or "", its indentation, and the cost of a cut before the line.

    Decorators and comments right above a definition, at its indentation, belong to it: the cut is before them.
    """
    marks = [("", 0, _ANYWHERE)] * len(lines)
    for number, line in enumerate(lines):
        match = _DEFINITION.match(line)
        if match is None:
            continue
        indent = match.group(1)
        cost = _INNER if indent else _TOP
        marks[number] = (match.group(2).decode("utf-8"), len(indent), marks[number][2])
        first = number
        while first > 0 and lines[first - 1].startswith((indent + b"@", indent + b"#")):
            first -= 1
        name, depth, _ = marks[first]
        marks[first] = (name, depth, cost)
    return marks


def _markdown_marks(lines: Sequence[bytes]) -> list[tuple[str, int, int]]:
    """For each line: the heading there or "", its level, and the cost of a cut before the line.

    Fenced code has no headings.
    """
    marks: list[tuple[str, int, int]] = []
    fence = b""
    for line in lines:
        fenced = _FENCE.match(line)
        if fenced and fence in (b"", fenced.group(1)):
            fence = b"" if fence else fenced.group(1)
        match = None if fence else _HEADING.match(line)
        text = match.group(2).strip(b" \t\r#").decode("utf-8") if match else ""
        if match is None or not text:
            marks.append(("", 0, _ANYWHERE))
        else:
            level = len(match.group(1))
            marks.append((text, level, _TOP if level <= 2 else _INNER))
    return marks


def _groups(lines: Sequence[_Line], splitter: Splitter) -> Iterator[Sequence[_Line]]:
    first = 0
    while first < len(lines):
        if lines[first].is_blank:
            first += 1
            continue
        end = _cheapest_end(lines, first, splitter)
        last = end
        while lines[last - 1].is_blank:
            last -= 1
        yield lines[first:last]
        first = end


def _cheapest_end(lines: Sequence[_Line], first: int, splitter: Splitter) -> int:
    """The line before which the passage from `first` ends: near the target, and tearing as little apart as can be."""
    best = first + 1
    best_cost = -1
    for end in range(first + 1, len(lines) + 1):
        size = lines[end - 1].end - lines[first].start
        if size > splitter.max_bytes:
            break
        cut = _TOP if end == len(lines) else lines[end].cut
        cost = 4 * abs(size - splitter.target_bytes) + cut * splitter.target_bytes
        if best_cost < 0 or cost < best_cost:
            best, best_cost = end, cost
    return best


def _title(path: str, group: Sequence[_Line]) -> str:
    """The path, and what the passage stands in: the open definitions or headings, and the one that it begins with."""
    head = group[0]
    if head.opens and not path.endswith((".py", ".pyi")):
        names = [name for _, name in head.context] + [head.opens]
        return one_line(f"{path}: {' > '.join(names)}")
    indent = len(head.data) - len(head.data.lstrip(b" \t"))
    is_python = path.endswith((".py", ".pyi"))
    names = [name for depth, name in head.context if not is_python or depth < indent]
    for line in group if is_python else ():
        if line.opens:
            names.append(line.opens)
        if line.opens or not line.data.lstrip(b" \t").startswith((b"#", b"@")):
            break
    joined = ".".join(names) if is_python else " > ".join(names)
    return one_line(f"{path}: {joined}" if joined else path)


def one_line(title: str) -> str:
    """`title` without line ends and control characters, cut to the length of a title."""
    # Control characters of ASCII and the line ends of Unicode would break a list of titles.
    flat = re.sub("[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", title)
    return flat if len(flat) <= _TITLE_LIMIT else flat[: _TITLE_LIMIT - 1] + "…"
