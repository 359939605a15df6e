"""Documents that other code computes, held against those that a run has: figure by figure, not byte by byte.

Code that came later may write a field more. It confirms a run when it gives every figure that the run has; what only
this code gives is counted, and is no difference.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.canonical import Digest, parse_json
from runner.core.errors import EvidenceError, Problem
from runner.core.field_comparison import FieldComparison, Found, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.core.field_comparison import Difference
    from runner.pipeline.sinks import Sink
    from runner.ports.files import Files

MOST_SHOWN: Final = 50
"""Figures of one document that are told; of more, how many they are."""
_AS_JSON: Final = (".json", ".jsonl")
_IN_LINES: Final = (".jsonl", ".run", ".qrels")
_NOTHING_MAY_DIFFER: Final = Rules.of("", frozenset(), ())


class AgainstFigures:
    """Holds the figures of documents against those of the documents that lie in the folder."""

    def __init__(self, files: Files, folder: Path) -> None:
        """Nothing yet."""
        self._files = files
        self._folder = folder
        self._sinks: dict[str, LinesCompared] = {}
        self.documents = 0

    def sink(self, name: str) -> Sink:
        """What holds the document against its file."""
        self.documents += 1
        self._sinks[name] = LinesCompared(name, lambda: self._files.pieces(self._folder / name))
        return self._sinks[name]

    def put(self, name: str, data: bytes) -> Digest:
        """The document `name` was held against its file."""
        sink = self.sink(name)
        sink.put(data)
        return sink.digest()

    def differences(self) -> Iterator[Problem]:
        """Everything that the run has and that this code doesn't give, after all was taken."""
        for sink in self._sinks.values():
            yield from sink.differences()
        for name in self._files.walk(self._folder / layout.FIELD_FILES):
            if f"{layout.FIELD_FILES}/{name}" not in self._sinks:
                yield Problem("nothing of the run gives this file", f"{layout.FIELD_FILES}/{name}")

    @property
    def added(self) -> int:
        """How many fields only this code gives."""
        return sum(sink.added for sink in self._sinks.values())


class LinesCompared:
    """Takes a document piece by piece; its lines are held against those of a file, as JSON where the file is of JSON.

    Its digest is that of the file: what is computed from a document goes on from the one that the run has.
    """

    def __init__(self, name: str, opened: Callable[[], Iterator[bytes] | None]) -> None:
        """Nothing yet, of the file `name`; `opened` gives its bytes from the start, or None where there is none."""
        self._name = name
        self._opened = opened
        found = opened()
        self._is_there = found is not None
        self._found = _lines(found or iter(()))
        self._rest = b""
        self._number = 0
        self._problems: list[Problem] = []
        self._different = 0
        self.added = 0

    def put(self, data: bytes) -> None:
        """Take the next piece."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._compare(line)

    def digest(self) -> Digest:
        """The digest of the file; of nothing where there is none."""
        hasher = hashlib.sha256()
        for piece in self._opened() or iter(()):
            hasher.update(piece)
        return Digest(f"sha256:{hasher.hexdigest()}")

    def differences(self) -> Iterator[Problem]:
        """What the file has otherwise, after everything was taken."""
        if not self._is_there:
            yield Problem("missing", self._name)
            return
        if self._rest:
            self._compare(self._rest)
            self._rest = b""
        surplus = sum(1 for _ in self._found)
        if surplus:
            self._differs(f"it has {surplus} more lines than this code gives")
        yield from self._problems
        if self._different > len(self._problems):
            yield Problem(f"{self._different - len(self._problems)} more figures differ", self._name)

    def _compare(self, line: bytes) -> None:
        self._number += 1
        found = next(self._found, None)
        if found == line:
            return
        if found is None:
            self._differs("the file has no such line, and this code gives one")
        elif not self._name.endswith(_AS_JSON):
            self._differs("the file has another line than this code gives")
        else:
            try:
                value, given = parse_json(found, self._name), parse_json(line, self._name)
            except EvidenceError as error:
                self._differs(error.problems[0].message)
                return
            FieldComparison(_NOTHING_MAY_DIFFER, Found(), self._take).compare(value, given)

    def _take(self, found: Difference) -> None:
        if found.only_in == "B" and not found.field.endswith("]"):
            self.added += 1
        elif found.only_in:
            whose = (
                "the run has it, and this code doesn't give it" if found.only_in == "A" else "only this code gives it"
            )
            self._differs(whose, found.field)
        else:
            self._differs(f"{found.a} in the run, and {found.b} by this code", found.field)

    def _differs(self, message: str, key: str = "") -> None:
        self._different += 1
        if len(self._problems) < MOST_SHOWN:
            in_lines = self._name.endswith(_IN_LINES) and self._number
            document = f"{self._name} line {self._number}" if in_lines else self._name
            self._problems.append(Problem(message, document, key))


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of what `pieces` make up, without their ends; what follows the last end is one too, if there is any."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest
