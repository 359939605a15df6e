"""Which passages does a file give, where no splitter makes them, and what is wrong with them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from runner.core.boundaries import NONE, Boundaries
from runner.core.canonical import parse_json
from runner.core.corpus import GivenPassage
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.passages import Passage, in_order, is_text, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LONGEST_PASSAGE_BYTES: Final = 65_536
"""Far beyond what an embedding model reads of a passage; a longer one is a file that wasn't split."""


@dataclass(frozen=True)
class _Line:
    number: int
    given: GivenPassage


def given_passages(
    data: bytes, files: Mapping[str, bytes], scopes: Mapping[str, Boundaries], document: str
) -> tuple[Passage, ...]:
    """The passages of `data`, lines of JSON, numbered from 1 in the order of path and position.

    `scopes` has what is declared of sources; what a line says itself goes before.

    Raises:
        StudyError: with everything that is wrong with any of them.
    """
    problems: list[Problem] = []
    lines = [line for line in _lines(data, document, problems) if _fits(line, files, document, problems)]
    order = {path: number for number, path in enumerate(in_order(files))}
    lines.sort(key=lambda line: (order[line.given.source], line.given.start, line.given.end))
    found: list[Passage] = []
    before: _Line | None = None
    for line in lines:
        given = line.given
        if before is not None and given.source == before.given.source and given.start < before.given.end:
            message = f"it overlaps with the passage of line {before.number} in {given.source}"
            problems.append(Problem(message, document, f"line {line.number}"))
        before = line
        says = Boundaries.of(given).over(scopes.get(given.source, NONE))
        if says.fault():
            problems.append(Problem(says.fault(), document, f"line {line.number}"))
        text = files[given.source][given.start : given.end].decode("utf-8", "replace")
        title = one_line(given.title or given.source)
        found.append(says.on(Passage(len(found) + 1, given.source, given.start, given.end, title, text)))
    if not found and not problems:
        problems.append(Problem("it gives no passage", document))
    if problems:
        raise StudyError.of(sorted(problems, key=_place))
    return tuple(found)


def _place(problem: Problem) -> int:
    return int(problem.key.removeprefix("line ").partition(":")[0] or 0)


def _lines(data: bytes, document: str, problems: list[Problem]) -> Iterator[_Line]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        key = f"line {number}"
        try:
            yield _Line(number, GivenPassage.model_validate(parse_json(line, document)))
        except EvidenceError as error:
            problems += [Problem(found.message, document, key) for found in error.problems]
        except ValidationError as error:
            problems += [
                Problem(found["msg"].removeprefix("Value error, "), document, f"{key}: {_named(found['loc'])}")
                for found in error.errors()
            ]


def _named(place: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in place) or "(the line)"


def _fits(line: _Line, files: Mapping[str, bytes], document: str, problems: list[Problem]) -> bool:
    fault = _fault(line.given, files.get(line.given.source))
    if fault:
        problems.append(Problem(fault, document, f"line {line.number}"))
    return not fault


def _fault(given: GivenPassage, data: bytes | None) -> str:
    """Why the passage can't be taken from `data`, the bytes of its source; "" when it can."""
    if data is None:
        return f"the corpus has no file {given.source}"
    if given.start >= given.end:
        return "start must be below end"
    if given.end > len(data):
        return f"{given.source} has {len(data)} bytes, and the passage ends at {given.end}"
    if given.end - given.start > LONGEST_PASSAGE_BYTES:
        return f"it has {given.end - given.start} bytes; the limit is {LONGEST_PASSAGE_BYTES}"
    part = data[given.start : given.end]
    if _continues(data, given.start) or _continues(data, given.end):
        return f"its range cuts a character of {given.source}"
    if not is_text(part):
        return f"its bytes of {given.source} are not UTF-8 text"
    return "" if part.strip() else "it is blank"


def _continues(data: bytes, place: int) -> bool:
    """Whether a cut at `place` is within a character: RFC 3629 section 3, a continuation byte is 10xxxxxx."""
    return place < len(data) and data[place] & 0xC0 == 0x80
