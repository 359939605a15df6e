"""A file system to be: what stands at each path, with owner and mode, and where a file's bytes come from.

It knows no clock, no umask and no user: a tree is written with one fixed time, and with the owners that it names.
"""

from __future__ import annotations

import fnmatch
import hashlib
import posixpath
import re
import zipfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from runner.images.origins import Origin

_CHUNK_BYTES = 1 << 20


class Content(Protocol):
    """The bytes of a file, which may be too many to hold."""

    @property
    def size(self) -> int:
        """How many bytes `chunks` gives."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """The bytes in order; may be asked for again."""
        ...


@dataclass(frozen=True)
class Held:
    """Bytes in memory."""

    data: bytes

    @property
    def size(self) -> int:
        """How many bytes they are."""
        return len(self.data)

    def chunks(self) -> Iterator[bytes]:
        """The bytes, at once."""
        yield self.data


@dataclass(frozen=True)
class Zipped:
    """A member of a zip archive (a wheel), read when it is needed."""

    archive: Path
    member: str
    size: int

    def chunks(self) -> Iterator[bytes]:
        """The member's bytes; zipfile checks their CRC."""
        with zipfile.ZipFile(self.archive) as wheel, wheel.open(self.member) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk


@dataclass(frozen=True)
class Pinned:
    """Content that must have a digest; it is checked while it is read."""

    content: Content
    digest: str
    origin: str

    @property
    def size(self) -> int:
        """How many bytes they are."""
        return self.content.size

    def chunks(self) -> Iterator[bytes]:
        """The bytes in order.

        Raises:
            EvidenceError: at their end, that they have another digest.
        """
        hasher = hashlib.sha256()
        for chunk in self.content.chunks():
            hasher.update(chunk)
            yield chunk
        if f"sha256:{hasher.hexdigest()}" != self.digest:
            raise EvidenceError(f"its digest is sha256:{hasher.hexdigest()}, not {self.digest}", document=self.origin)


@dataclass(frozen=True)
class FolderEntry:
    """A folder."""

    mode: int = 0o755
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True)
class FileEntry:
    """A regular file."""

    content: Content
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    origin: Origin | None = field(default=None, compare=False)
    """What it came out of; None where nobody said."""
    compiled: bool = field(default=False, compare=False)
    """Whether it was compiled here, from a source of that origin."""

    def data(self) -> bytes:
        """All of the file's bytes."""
        return b"".join(self.content.chunks())


@dataclass(frozen=True)
class LinkEntry:
    """A symbolic link."""

    target: str
    origin: Origin | None = field(default=None, compare=False)


Entry: TypeAlias = FolderEntry | FileEntry | LinkEntry


@dataclass
class Tree:
    """Entries by absolute path; `/` itself isn't one of them."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, path: str, entry: Entry, origin: str) -> None:
        """`path` is `entry`, beneath folders; a folder may be named again, and a file may repeat itself.

        Raises:
            EvidenceError: another thing stands there, or `path` would leave the tree; `origin` is named.
        """
        checked = plain_path(path, origin)
        present = self.entries.get(checked)
        if present is None or (isinstance(present, FolderEntry) and isinstance(entry, FolderEntry)):
            self.entries[checked] = entry
        elif not _same(present, entry):
            raise EvidenceError(f"{checked} is there already, as something else", document=origin)

    def put(self, path: str, entry: Entry) -> None:
        """`path` is `entry`, whatever was there; for what a declaration says."""
        self.entries[plain_path(path, path)] = entry

    def out_of(self, origin: Origin) -> Tree:
        """The same tree, whose files and links all say that they came out of `origin`."""
        return Tree(
            {
                path: entry if isinstance(entry, FolderEntry) else replace(entry, origin=origin)
                for path, entry in self.entries.items()
            }
        )

    def with_parents(self) -> Iterator[tuple[str, Entry]]:
        """Every entry in the order of its path's bytes, with the folders above it (0755 of root where not named)."""
        complete = dict(self.entries)
        for path in self.entries:
            for parent in parents(path):
                complete.setdefault(parent, FolderEntry())
        yield from sorted(complete.items(), key=lambda item: item[0].encode())

    def without(self, drop: Sequence[str], keep: Sequence[str] = ()) -> Tree:
        """The tree less what matches a pattern of `drop` and none of `keep`; `*` matches across slashes."""
        dropped, kept = _any_of(drop), _any_of(keep)
        return Tree({path: entry for path, entry in self.entries.items() if kept(path) or not dropped(path)})

    def python_sources(self, below: Sequence[str]) -> dict[str, bytes]:
        """The Python sources beneath the folders `below`, by path; a link to a source is one too."""
        prefixes = tuple(f"{folder}/" for folder in below)
        named = sorted(path for path in self.entries if path.endswith(".py") and path.startswith(prefixes))
        return {path: entry.data() for path in named if (entry := self.file_at(path)) is not None}

    def file_at(self, path: str) -> FileEntry | None:
        """The file that `path` leads to, by one link or none."""
        entry = self.entries.get(path)
        if isinstance(entry, LinkEntry):
            entry = self.entries.get(posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target)))
        return entry if isinstance(entry, FileEntry) else None


def parents(path: str) -> Iterator[str]:
    """The folders above `path`, nearest first, `/` left out."""
    while path := path.rpartition("/")[0]:
        yield path


def plain_path(path: str, origin: str) -> str:
    """`path` as an absolute path without `.` or empty parts.

    Raises:
        EvidenceError: it holds `..` or a zero byte, or names the root; `origin` is named.
    """
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts or not parts or "\0" in path:
        raise EvidenceError(f"{path!r} is no path of a file system to be", document=origin)
    return "/" + "/".join(parts)


def safe_mode(mode: int) -> int:
    """`mode` without set-user-id and set-group-id: no program of an image runs as anyone but its user."""
    return mode & 0o1777


def merged(trees: Iterable[Tree]) -> Tree:
    """One tree of all; raises `EvidenceError` where two of them disagree."""
    result = Tree()
    for tree in trees:
        for path, entry in tree.entries.items():
            result.add(path, entry, path)
    return result


def owned_by_root(entry: Entry) -> Entry:
    """`entry` with root as its owner and without set-id bits."""
    return entry if isinstance(entry, LinkEntry) else replace(entry, uid=0, gid=0, mode=safe_mode(entry.mode))


def _same(first: Entry, second: Entry) -> bool:
    if isinstance(first, FileEntry) and isinstance(second, FileEntry):
        return (first.mode, first.data()) == (second.mode, second.data())
    return first == second


def _any_of(patterns: Sequence[str]) -> _Matcher:
    return _Matcher(tuple(re.compile(fnmatch.translate(pattern)) for pattern in patterns))


@dataclass(frozen=True)
class _Matcher:
    patterns: tuple[re.Pattern[str], ...]

    def __call__(self, path: str) -> bool:
        return any(pattern.match(path) for pattern in self.patterns)
