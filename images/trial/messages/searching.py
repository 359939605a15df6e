"""Which lines of which files hold a pattern? A process of its own, so that a pattern without end can be ended.

Reads one JSON object on standard input, writes hits as `path:line:text`, and ends with 0; 2 says that it was asked
something wrong.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_CHARACTERS = 2000
FILE_BYTES = 4 * 1024 * 1024
# A file with a NUL byte within so many is no text.
PROBE_BYTES = 8192


class AskedWrongError(Exception):
    """What was asked can't be searched for; the text says why."""


def files_below(root: str, start: str) -> Iterator[str]:
    """Regular files at or below `start`, by path relative to `root`, ordered by name; links aren't followed."""
    if os.path.isfile(start):
        yield os.path.relpath(start, root)
        return
    for folder, folders, names in os.walk(start):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, root)


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A pattern for relative paths: `*` and `?` stay within a folder, `**` crosses; a glob without `/` is for names."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    wild = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(part, re.escape(part)) for part in parts)
    return re.compile(body if "/" in glob else f"(?:.*/)?{body}", re.DOTALL)


def hits(asked: dict[str, Any]) -> Iterator[str]:
    """The hits, at most `limit`.

    Raises:
        AskedWrongError: the pattern is none.
    """
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise AskedWrongError(f"pattern: {error}") from error
    wanted = glob_pattern(asked["glob"]) if asked["glob"] else None
    left = int(asked["limit"])
    for path in files_below(asked["root"], asked["start"]):
        if wanted is not None and not wanted.fullmatch(path):
            continue
        for number, line in enumerate(_lines(os.path.join(asked["root"], path)), 1):
            if pattern.search(line):
                yield f"{path}:{number}:{line}"
                left -= 1
                if not left:
                    return


def _lines(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_BYTES)
    except OSError:
        return []
    if b"\0" in data[:PROBE_BYTES]:
        return []
    text = data.decode("utf-8", "replace")
    return [line.rstrip("\r")[:LINE_CHARACTERS] for line in text.removesuffix("\n").split("\n")]


def main() -> int:
    """The exit code, after the hits were written."""
    try:
        for hit in hits(json.load(sys.stdin)):
            sys.stdout.buffer.write(hit.encode("utf-8", "surrogateescape") + b"\n")
    except AskedWrongError as error:
        sys.stdout.write(str(error))
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
