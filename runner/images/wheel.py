"""Where the files of a wheel go, without running an installer.

The layout is that of the binary distribution format (PEP 427). Console scripts aren't made: programs of an image are
started by their file, and what a wheel puts into `.data/scripts` or `.data/headers` stays out.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.tree import FileEntry, Tree, Zipped

if TYPE_CHECKING:
    from pathlib import Path


def wheel_tree(wheel: Path, site: str) -> Tree:
    """The files of `wheel`, installed into the folder `site`.

    Raises:
        EvidenceError: it isn't a wheel, or it holds a path that leaves its folder.
    """
    tree = Tree()
    for member in _members(wheel):
        place = _place(member.filename, site)
        if place and not member.is_dir():
            executable = (member.external_attr >> 16) & 0o111
            content = Zipped(wheel, member.filename, member.file_size)
            tree.add(place, FileEntry(content, 0o755 if executable else 0o644), wheel.name)
    return tree


def wheel_member(wheel: Path, name: str, mode: int) -> FileEntry:
    """The file `name` of `wheel`.

    Raises:
        EvidenceError: it isn't a wheel, or it has no such file.
    """
    for member in _members(wheel):
        if member.filename == name:
            return FileEntry(Zipped(wheel, name, member.file_size), mode)
    raise EvidenceError(f"holds no {name}", document=wheel.name)


def _members(wheel: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.infolist()
    except (OSError, zipfile.BadZipFile) as error:
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
