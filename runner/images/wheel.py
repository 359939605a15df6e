"""Where the files of a wheel go, without running an installer.

The layout is that of the binary distribution format (PEP 427). Console scripts aren't made: programs of an image are
started by their file, and what a wheel puts into `.data/scripts` or `.data/headers` stays out.
"""

from __future__ import annotations

import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.tree import FileEntry, Held, Tree, Zipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from runner.images.tree import Entry

# Larger files stay in the archive until they are written.
_HELD_BYTES = 4 << 20


def wheel_tree(wheel: Path, site: str, drop: Sequence[str] = ()) -> Tree:
    """The files of `wheel` less those that match a pattern of `drop`, installed into the folder `site`.

    Raises:
        EvidenceError: it isn't a wheel, it is damaged, or it holds a path that leaves its folder.
    """
    tree = Tree()
    with _opened(wheel) as archive:
        for member in archive.infolist():
            place = _place(member.filename, site)
            if place and not member.is_dir():
                executable = (member.external_attr >> 16) & 0o111
                content = Zipped(wheel, member.filename, member.file_size)
                tree.add(place, FileEntry(content, 0o755 if executable else 0o644), wheel.name)
        return _held(tree.without(drop), archive)


def wheel_member(wheel: Path, name: str, mode: int) -> FileEntry:
    """The file `name` of `wheel`.

    Raises:
        EvidenceError: it isn't a wheel, or it has no such file.
    """
    with _opened(wheel) as archive:
        for member in archive.infolist():
            if member.filename == name:
                return FileEntry(Zipped(wheel, name, member.file_size), mode)
    raise EvidenceError(f"holds no {name}", document=wheel.name)


def wheel_metadata(wheel: Path) -> bytes:
    """The wheel's `METADATA`; b"" where it has none.

    Raises:
        EvidenceError: it isn't a wheel.
    """
    with _opened(wheel) as archive:
        for name in archive.namelist():
            folder, _, rest = name.partition("/")
            if rest == "METADATA" and folder.endswith(".dist-info"):
                return archive.read(name)
    return b""


def _held(tree: Tree, archive: zipfile.ZipFile) -> Tree:
    """`tree` with its small files in memory: opening an archive anew for each of thousands costs seconds."""
    held: dict[str, Entry] = {}
    for path, entry in tree.entries.items():
        if isinstance(entry, FileEntry) and isinstance(entry.content, Zipped) and entry.content.size <= _HELD_BYTES:
            held[path] = replace(entry, content=Held(archive.read(entry.content.member)))
        else:
            held[path] = entry
    return Tree(held)


@contextmanager
def _opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield archive
    except (OSError, zipfile.BadZipFile, zlib.error) as error:
        raise EvidenceError(f"not a wheel: {error}", document=wheel.name) from error


def _place(name: str, site: str) -> str:
    first, _, rest = name.partition("/")
    if not first.endswith(".data"):
        return f"{site}/{name}"
    scheme, _, inner = rest.partition("/")
    match scheme:
        case "purelib" | "platlib":
            return f"{site}/{inner}"
        case "data":
            return f"/usr/local/{inner}"
        case _:
            return ""
