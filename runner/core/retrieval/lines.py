"""A text that people wrote is read line by line, and what is wrong with it is told with the line's number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel

from runner.core.canonical import parse_json
from runner.core.declared import BOM
from runner.core.documents import validated
from runner.core.errors import EvidenceError, Problem, StudyError

if TYPE_CHECKING:
    from collections.abc import Iterator

M = TypeVar("M", bound=BaseModel)

MOST_PROBLEMS: Final = 50
"""Of one file; a file of another kind would have as many as lines."""


@dataclass
class Complaints:
    """What is wrong with one document, in the order in which it was met."""

    document: str
    is_whole: bool = True
    """Whether every line could be read: else what another file says of this one may be right."""
    _problems: list[Problem] = field(default_factory=list)
    _more: int = 0

    def add(self, message: str, key: str = "", hint: str = "") -> None:
        """One more thing is wrong."""
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(Problem(message, self.document, key, hint))
        else:
            self._more += 1

    def lose(self, message: str, key: str = "", hint: str = "") -> None:
        """One more thing is wrong, and what stands there isn't known."""
        self.is_whole = False
        self.add(message, key, hint)

    def problems(self) -> tuple[Problem, ...]:
        """All of them, or the first ones and how many more there are."""
        if not self._more:
            return tuple(self._problems)
        return (*self._problems, Problem(f"{self._more} more problems of this kind of file", self.document))


def text_lines(data: bytes, complaints: Complaints) -> Iterator[tuple[int, str]]:
    """The lines of `data` that aren't blank and are UTF-8, each with its number from 1 and without its end.

    A line ends with LF or CR LF. A byte order mark is complained about, and passed over.
    """
    if data.startswith(BOM):
        complaints.add("begins with a byte order mark", "line 1", "save it as UTF-8 without one")
        data = data[len(BOM) :]
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            text = line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            complaints.lose("not UTF-8", f"line {number}", "save the file as UTF-8")
            continue
        if text.strip():
            yield number, text


def json_lines(model: type[M], data: bytes, complaints: Complaints) -> Iterator[tuple[int, M]]:
    """The values of a JSONL document, each with the number of its line; lines that hold none are complained about."""
    for number, text in text_lines(data, complaints):
        line = f"line {number}"
        try:
            value = parse_json(text.encode("utf-8"), complaints.document)
            found = validated(model, value, complaints.document, StudyError)
        except (EvidenceError, StudyError) as error:
            for problem in error.problems:
                complaints.lose(problem.message, f"{line}: {problem.key}" if problem.key else line, problem.hint)
            continue
        yield number, found
