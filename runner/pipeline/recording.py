"""A recorded run becomes a cassette: one file that plays every trial's last attempt again."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.collect.documents import read_documents
from runner.core import layout
from runner.core.bodies import read_bodies
from runner.core.cassette import CassetteHeader, cassette_bytes, entries_of
from runner.core.errors import EvidenceError, Problem
from runner.core.evidence import BODIES, RECORDING
from runner.core.ledger import LedgerLine
from runner.core.masks import MASKS
from runner.core.quantities import Unavailable
from runner.pipeline.folder import read_run, required
from runner.pipeline.sinks import Compared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.collect.documents import ExchangeLog
    from runner.pipeline.folder import Run
    from runner.ports.files import Files

_MOST_HEADER_BYTES: Final = 1 << 20


def make_cassette(files: Files, folder: Path) -> bytes:
    """The cassette of the run in `folder`.

    Raises:
        EvidenceError: something of the run is damaged.
    """
    tape = Tape(files, read_run(files, folder))
    entries = [*tape.entries()]
    return cassette_bytes(tape.header(), entries)


@dataclass
class Tape:
    """What the last attempts of a run recorded, a trial at a time; its header is known when all of it was taken."""

    files: Files
    run: Run
    _exchanges: int = 0
    _incomplete: list[str] = field(default_factory=list)

    def entries(self) -> Iterator[bytes]:
        """The entries, in the order of the plan.

        Raises:
            EvidenceError: something of the run is damaged.
        """
        for planned in self.run.plan.trials:
            ends = self.run.ledger.ends_of(planned.trial)
            found: dict[str, bytes] = {}
            if ends:
                names = LedgerLine.from_bytes(ends[-1], layout.LEDGER).files
                found = {name.rpartition("/")[2]: required(self.files, self.run.folder, name) for name in names}
            log = read_documents(found).exchanges
            known = () if isinstance(log, Unavailable) else log.exchanges
            made = entries_of(planned, found.get(RECORDING, b""), read_bodies(found.get(BODIES, b""), known))
            self._exchanges += len(made)
            if len(made) != _answered(log):
                self._incomplete.append(planned.trial)
            yield from made

    def header(self) -> CassetteHeader:
        """What stands before the entries that were taken."""
        lock = self.run.lock
        return CassetteHeader(
            run=lock.run,
            evidence="fixture" if lock.evidence == "fixture" else "measurement",
            model_shown=lock.model_shown,
            masks=MASKS,
            exchanges=self._exchanges,
            incomplete=tuple(self._incomplete),
        )


def cassette_problems(files: Files, run: Run, *, same_code: bool) -> Iterator[Problem]:
    """What the cassette that lies in the folder of `run` isn't, by what trials recorded; it is never held as a whole.

    Raises:
        EvidenceError: something of the run is damaged.
    """
    last = run.ledger[-1] if run.ledger else None
    is_recorded = run.study.model.record and last is not None and last.detail.get("complete") == "yes"
    pieces = files.pieces(run.folder / layout.CASSETTE)
    if pieces is None or not is_recorded:
        if pieces is not None:
            yield Problem("nothing of the run gives this file", layout.CASSETTE)
        elif is_recorded:
            yield Problem("missing", layout.CASSETTE)
        return
    if not files.is_regular(run.folder / layout.CASSETTE):
        yield Problem("it is a link, and no regular file", layout.CASSETTE)
    first, rest = _first_line(pieces)
    against = Compared(itertools.chain([first], rest))
    against.put(first)
    tape = Tape(files, run)
    for entry in tape.entries():
        against.put(entry)
    if not _is_header(first, tape.header(), same_code=same_code):
        yield Problem("its first line isn't the one that the recordings give", layout.CASSETTE)
    if difference := against.difference(layout.CASSETTE):
        yield difference


def _first_line(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """A file's first line, as far as it may be one, and what follows it."""
    held = b""
    for piece in pieces:
        held += piece
        if b"\n" in piece or len(held) > _MOST_HEADER_BYTES:
            break
    first, end, rest = held.partition(b"\n")
    return first + end, itertools.chain([rest], pieces)


def _is_header(line: bytes, made: CassetteHeader, *, same_code: bool) -> bool:
    """Whether `line` is what was made; other code may have masked otherwise, as its line says."""
    if same_code or line == made.to_line():
        return line == made.to_line()
    try:
        found = CassetteHeader.from_bytes(line, layout.CASSETTE)
    except EvidenceError:
        return False
    return found.model_copy(update={"masks": made.masks}) == made


def _answered(log: ExchangeLog | Unavailable) -> int:
    """How many exchanges weren't refused; -1 when nobody knows."""
    if isinstance(log, Unavailable) or log.damage or log.absent():
        return -1
    return sum(exchange.refused is None for exchange in log.exchanges)
