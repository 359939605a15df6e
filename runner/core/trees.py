"""Which files of a part go into a workspace, and which workspaces are refused?

Names only: whoever reads a wheel or a folder brings the paths, and refuses links and devices there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MODIFIED_S = 1_577_836_800
"""2020-01-01T00:00:00Z as seconds since the epoch: the modification time of everything in a workspace."""

FILE_MODE = 0o644
EXECUTABLE_MODE = 0o755
FOLDER_MODE = 0o755

_CONTROL = re.compile("[\x00-\x1f\x7f]")
_SPECIAL = re.compile(r"\*\*/|\*\*|\*|\?")


def selected(paths: Iterable[str], include: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...]:
    """The `paths` that match a glob of `include` and none of `exclude`, in their order.

    `**/` stands for any folders or none, `**` for anything, `*` and `?` for what stands within one name; every other
    character for itself. Globs match whole paths and mind the case.
    """
    taken = [_pattern(glob) for glob in include]
    left = [_pattern(glob) for glob in exclude]
    return tuple(
        path
        for path in paths
        if any(pattern.fullmatch(path) for pattern in taken) and not any(pattern.fullmatch(path) for pattern in left)
    )


def placed(into: str, path: str) -> str:
    """Where a part's file `path` stands in the workspace."""
    return path if into == "." else f"{into.rstrip('/')}/{path}"


def tree_problems(paths: Iterable[str], document: str) -> tuple[Problem, ...]:
    """Everything that forbids laying down a tree of files at `paths`, which may hold one path twice."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    listed = list(paths)
    for path in listed:
        reason = _path_fault(path)
        if reason:
            problems.append(Problem(reason, document, path))
            continue
        folded = path.casefold()
        if folded in seen:
            other = seen[folded]
            twice = "two parts give this file" if other == path else f"differs from {other} in case only"
            problems.append(Problem(twice, document, path, "leave one of them out with exclude"))
        seen[folded] = path
        parts = folded.split("/")
        for depth in range(1, len(parts)):
            folders.setdefault("/".join(parts[:depth]), path)
    problems += [
        Problem(f"is a file, and the folder of {folders[folded]}", document, path, "leave one of them out with exclude")
        for folded, path in seen.items()
        if folded in folders
    ]
    if not listed:
        problems.append(Problem("the corpus has no files", document, "parts", "look at include and exclude"))
    return tuple(problems)


def _path_fault(path: str) -> str:
    if _CONTROL.search(path) or "\\" in path:
        return "a path holds a control character or a backslash"
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "a path isn't UTF-8"
    if path.startswith("/"):
        return "a path is absolute"
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return "a path has an empty part, . or .."
    return ""


def _pattern(glob: str) -> re.Pattern[str]:
    meaning = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces: list[str] = []
    position = 0
    for match in _SPECIAL.finditer(glob):
        pieces += [re.escape(glob[position : match.start()]), meaning[match.group()]]
        position = match.end()
    pieces.append(re.escape(glob[position:]))
    return re.compile("".join(pieces), re.DOTALL)
