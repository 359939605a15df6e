"""What do the tools' answers say? Reads hits, numbered lines and passages out of their texts, and tolerates any."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gateway.messages_request import strict_json

HIT = re.compile(r"([^\n:]+):(\d{1,9}):(.*)")
NUMBERED = re.compile(r"\s*(\d{1,9})[\t→](.*)")
PASSAGE = re.compile(r"\[(\d{1,6})\] id=(\S+) source=(.+?) bytes=(\d{1,15})-(\d{1,15})(?: title=(.*))?")
LINE_CHARACTERS = 2000


@dataclass(frozen=True)
class Line:
    """A numbered line of a file of the workspace."""

    path: str
    number: int
    text: str


@dataclass(frozen=True)
class Passage:
    """A passage as the memory states it: `start` and `end` are byte offsets, the end exclusive."""

    source: str
    start: int
    end: int
    text: str


def grep_hits(text: str) -> list[Line]:
    """The hits of a search in content mode; other lines of the text are left out."""
    matches = (HIT.fullmatch(line[:LINE_CHARACTERS]) for line in text.split("\n"))
    return [Line(match.group(1), int(match.group(2)), match.group(3)) for match in matches if match]


def read_lines(path: str, text: str) -> list[Line]:
    """The numbered lines of a file that was read."""
    matches = (NUMBERED.fullmatch(line[:LINE_CHARACTERS]) for line in text.split("\n"))
    return [Line(path, int(match.group(1)), match.group(2)) for match in matches if match]


def memory_text(result: str) -> str:
    """The memory's text, taken out of the object that some clients wrap around it."""
    if result.lstrip().startswith("{"):
        try:
            wrapped = strict_json(result.encode())
        except ValueError:
            return result
        if isinstance(wrapped, dict) and isinstance(wrapped.get("result"), str):
            return str(wrapped["result"])
    return result


def passages(text: str) -> list[Passage]:
    """The numbered passages of a memory's answer, in its order; headers must count 1, 2, 3 …."""
    found: list[Passage] = []
    header: re.Match[str] | None = None
    body: list[str] = []
    for line in [*text.split("\n"), None]:
        match = PASSAGE.fullmatch(line) if line is not None and len(line) <= LINE_CHARACTERS else None
        expected = len(found) + (2 if header else 1)
        if line is not None and not (match and int(match.group(1)) == expected):
            body.append(line)
            continue
        if header:
            content = "\n".join(body).strip("\n")
            found.append(Passage(header.group(3), int(header.group(4)), int(header.group(5)), content))
        header, body = match, []
    return found
