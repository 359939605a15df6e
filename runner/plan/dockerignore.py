"""Which files of a build context are left out: `.dockerignore`, as Docker's reference describes it.

Each pattern is matched against the path and every folder above it; of all that match the last one decides, and one that
begins with `!` takes back. `*` and `?` stop at a slash, `**` doesn't.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ignored:
    """The patterns of one `.dockerignore`."""

    def __init__(self, text: str) -> None:
        """Whatever `text` leaves out; raises `ValueError`, which names it, for a pattern that isn't one."""
        self._rules = list(_rules(text))

    def __contains__(self, path: str) -> bool:
        """Whether the file at `path`, relative with `/`, is left out."""
        places = [path, *_parents(path)]
        out = False
        for takes_back, pattern in self._rules:
            if any(pattern.fullmatch(place) for place in places):
                out = not takes_back
        return out


def _rules(text: str) -> Iterator[tuple[bool, re.Pattern[str]]]:
    for raw in text.removeprefix("\ufeff").splitlines():
        line = raw.strip()
        if not line or raw.startswith("#"):
            continue
        takes_back = line.startswith("!")
        # Slashes at either end mean nothing, and `.` and `..` are resolved as if the context were the root.
        plain = posixpath.normpath("/" + line.removeprefix("!").strip()).strip("/")
        if plain:
            try:
                yield takes_back, re.compile(_translated(plain), re.DOTALL)
            except re.error as error:
                raise ValueError(f"{line!r} is no pattern: {error}") from error


def _translated(pattern: str) -> str:
    """The regular expression of Go's `filepath.Match`, with `**`."""
    result, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            result, at = result + "(?:.*/)?", at + 3
        elif pattern.startswith("**", at):
            result, at = result + ".*", at + 2
        elif pattern[at] == "*":
            result, at = result + "[^/]*", at + 1
        elif pattern[at] == "?":
            result, at = result + "[^/]", at + 1
        elif pattern[at] == "\\" and at + 1 < len(pattern):
            result, at = result + re.escape(pattern[at + 1]), at + 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            # Go negates with `^`, and knows neither classes nor set operations.
            inner = re.sub(r"([&~|\[])", r"\\\1", pattern[at + 1 : end])
            result, at = f"{result}[{inner}]", end + 1
        else:
            result, at = result + re.escape(pattern[at]), at + 1
    return result


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
