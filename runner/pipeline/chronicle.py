"""A run's ledger where it lies: read through once, and of each line is held where it is, not what it says."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

from runner.core import layout
from runner.core.errors import EvidenceError
from runner.core.ledger import Chain, LedgerLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.core.canonical import Digest
    from runner.ports.files import Files


@dataclass(slots=True)
class Told:
    """What the ledger tells of one trial."""

    first: int
    """The first line about it, from 1."""
    started: tuple[int, ...] = ()
    """Attempts, in the order of the lines."""
    ended: tuple[int, ...] = ()
    end_lines: tuple[int, ...] = ()
    """Of each end, the line's place from 0."""
    final_stretches: tuple[int, ...] = ()
    """After how many resumptions of the run a final end stands."""


@dataclass
class _Index:
    """Where lines are, and what they are about."""

    starts: array[int] = field(default_factory=lambda: array("q", [0]))
    """Where each line starts, and where the last one ends."""
    trials: dict[str, Told] = field(default_factory=dict)
    other_files: dict[str, str] = field(default_factory=dict)
    """Named by lines that end no attempt: name -> digest."""
    evidence_files: int = 0
    """Named by lines that end an attempt."""
    resumed: int = 0
    numbers: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)
    """One object for all equal tuples: nearly every trial has one attempt."""

    def _and(self, numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
        longer = (*numbers, number)
        return self.numbers.setdefault(longer, longer)

    def add(self, line: LedgerLine, size: int) -> None:
        place = len(self.starts) - 1
        self.starts.append(self.starts[-1] + size)
        self.resumed += line.kind == "run_resumed"
        if line.trial:
            told = self.trials.get(line.trial)
            if told is None:
                told = self.trials[line.trial] = Told(place + 1)
            if line.kind == "attempt_started":
                told.started = self._and(told.started, line.attempt)
        if line.kind != "attempt_ended":
            self.other_files.update(line.files)
            return
        self.evidence_files += len(line.files)
        told = self.trials.setdefault(line.trial, Told(place + 1))
        told.ended = self._and(told.ended, line.attempt)
        told.end_lines += (place,)
        if line.detail.get("final") == "yes":
            told.final_stretches = self._and(told.final_stretches, self.resumed)


class StoredLedger(Sequence[LedgerLine]):
    """The lines of a run's ledger, read again whenever one is asked for."""

    def __init__(self, files: Files, path: Path, journal: bytes | None = None) -> None:
        """Every line was read once, from `journal` where that is given, and held against the one before.

        Raises:
            EvidenceError: it is missing, or a line is torn, isn't canonical, is out of order, or doesn't follow from
                the one before.
        """
        self._files, self._path, self._journal = files, path, journal
        self._index = _Index()
        chain = Chain(layout.LEDGER)
        for written in self._lines():
            self._index.add(chain.next(written), len(written) + 1)
        chain.end()
        self.head: Digest = chain.head
        """The digest of the last line."""

    @property
    def trials(self) -> Mapping[str, Told]:
        """What is told of each trial that any line is about."""
        return self._index.trials

    @property
    def other_files(self) -> Mapping[str, str]:
        """Files that lines name which end no attempt, and their digests."""
        return self._index.other_files

    @property
    def evidence_files(self) -> int:
        """How many files are named by lines that end an attempt."""
        return self._index.evidence_files

    def ends_of(self, trial: str) -> tuple[bytes, ...]:
        """The lines that end an attempt of `trial`, as they are written."""
        told = self._index.trials.get(trial)
        return () if told is None else tuple(map(self._written, told.end_lines))

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self._index.starts) - 1

    def __iter__(self) -> Iterator[LedgerLine]:
        """Every line, from the first."""
        for written in self._lines():
            yield LedgerLine.from_bytes(written, layout.LEDGER)

    @overload
    def __getitem__(self, place: int) -> LedgerLine: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[LedgerLine]: ...
    def __getitem__(self, place: int | slice) -> LedgerLine | Sequence[LedgerLine]:
        """The line at `place`, from 0."""
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        return LedgerLine.from_bytes(self._written(range(len(self))[place]), layout.LEDGER)

    def _written(self, place: int) -> bytes:
        start, end = self._index.starts[place], self._index.starts[place + 1] - 1
        if self._journal is not None:
            return self._journal[start:end]
        return self._files.read_part(self._path, start, end - start)

    def _lines(self) -> Iterator[bytes]:
        pieces = self._files.pieces(self._path) if self._journal is None else iter((self._journal,))
        if pieces is None:
            raise EvidenceError("the file is missing", document=layout.LEDGER)
        return split_lines(pieces, layout.LEDGER)


def split_lines(pieces: Iterable[bytes], document: str) -> Iterator[bytes]:
    """The lines of what comes in `pieces`, without their ends.

    Raises:
        EvidenceError: the last one has no end.
    """
    rest = b""
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        if whole:
            whole[0] = rest + whole[0]
            yield from whole
            rest = last
        else:
            rest += last
    if rest:
        raise EvidenceError("the last line is torn", document=document)
