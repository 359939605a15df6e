"""Which paths may a file of an archived run have?

The writer refuses what the reader would refuse, so no archive is made that can't be unpacked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONTROL: Final = re.compile("[\x00-\x1f\x7f]")
# What file systems of today hold in one name, and what they all hold in a path.
_PART_BYTES: Final = 255
_PATH_BYTES: Final = 1024
_WRITING: Final = ".writing-"
# Among runs, a link to the latest of them.
_POINTER: Final = "latest"
# An option, somebody's home, what isn't listed, and what stands between an archive and its run.
_MISREAD: Final = ("-", "~", ".", "#")

TOP: Final = frozenset(
    place.split("/")[0] for name, place in vars(layout).items() if name.isupper() and isinstance(place, str)
) - {layout.HOLDER}
"""What may stand directly in a run's folder."""


def is_left_out(path: str) -> bool:
    """Whether the file at `path` of a run's folder is none of the run's: a lock, a torn write, somebody's notes."""
    parts = path.split("/")
    return parts[0] not in TOP or parts[-1].startswith(_WRITING)


def part_fault(part: str) -> str:
    """Why `part` can't be the name of a file or folder everywhere; "" where it can."""
    if part in {"", ".", ".."}:
        return "a name is empty, . or .."
    if _CONTROL.search(part) or "\\" in part or "/" in part:
        return "a name holds a control character, a slash or a backslash"
    try:
        too_long = len(part.encode("utf-8")) > _PART_BYTES
    except UnicodeEncodeError:
        return "a name isn't UTF-8"
    return f"a name is longer than {_PART_BYTES} bytes" if too_long else ""


def run_fault(name: str) -> str:
    """Why `name` can't be the name of a run's folder among others; "" where it can."""
    if fault := part_fault(name):
        return fault
    if name.casefold() == _POINTER:
        return f"no run is called {_POINTER}: that points to one"
    if name.startswith(_MISREAD):
        return f"a run's name begins with one of {' '.join(_MISREAD)}"
    # Of a name that turns the writing, or hides a part of itself, nobody can say which folder it is.
    return "" if name.isprintable() and name == name.strip() else "a run's name holds what can't be seen"


def path_fault(path: str) -> str:
    """Why `path` can't be laid down inside a folder; "" where it can."""
    if path.startswith("/"):
        return "a path is absolute"
    fault = next((fault for part in path.split("/") if (fault := part_fault(part))), "")
    if not fault and len(path.encode("utf-8")) > _PATH_BYTES:
        return f"a path is longer than {_PATH_BYTES} bytes"
    return fault


def path_problems(paths: Iterable[str], document: str) -> Iterator[Problem]:
    """Everything that forbids laying down files at `paths` in a folder of their own, named in `document`."""
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        fault = path_fault(path)
        if fault:
            yield Problem(fault, document, path)
            continue
        folded = path.casefold()
        if folded in seen:
            other = seen[folded]
            yield Problem("stands twice" if other == path else f"differs from {other} in case only", document, path)
        seen[folded] = path
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            known = folders.setdefault(folder.casefold(), folder)
            if known != folder:
                yield Problem(f"its folder differs from {known} in case only", document, path)
    for folded, path in seen.items():
        if folded in folders:
            yield Problem("is a file, and a folder of others", document, path)
