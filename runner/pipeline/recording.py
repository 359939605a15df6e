"""A recorded run becomes a cassette: one file that plays every trial's last attempt again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.collect.documents import read_documents
from runner.core.bodies import read_bodies
from runner.core.cassette import CassetteHeader, cassette_bytes, entries_of
from runner.core.evidence import BODIES, RECORDING
from runner.core.masks import MASKS
from runner.core.quantities import Unavailable
from runner.pipeline.folder import read_run, required

if TYPE_CHECKING:
    from pathlib import Path

    from runner.collect.documents import ExchangeLog
    from runner.ports.files import Files


def make_cassette(files: Files, folder: Path) -> bytes:
    """The cassette of the run in `folder`.

    Raises:
        EvidenceError: something of the run is damaged.
    """
    run = read_run(files, folder)
    last = {line.trial: line for line in run.ledger if line.kind == "attempt_ended"}
    entries: list[bytes] = []
    incomplete: list[str] = []
    for planned in run.plan.trials:
        line = last.get(planned.trial)
        found: dict[str, bytes] = {}
        if line is not None:
            found = {name.rpartition("/")[2]: required(files, folder, name) for name in line.files}
        log = read_documents(found).exchanges
        known = () if isinstance(log, Unavailable) else log.exchanges
        made = entries_of(planned, found.get(RECORDING, b""), read_bodies(found.get(BODIES, b""), known))
        entries += made
        if len(made) != _answered(log):
            incomplete.append(planned.trial)
    header = CassetteHeader(
        run=run.lock.run,
        evidence="fixture" if run.lock.evidence == "fixture" else "measurement",
        model_shown=run.lock.model_shown,
        masks=MASKS,
        exchanges=len(entries),
        incomplete=tuple(incomplete),
    )
    return cassette_bytes(header, entries)


def _answered(log: ExchangeLog | Unavailable) -> int:
    """How many exchanges weren't refused; -1 when nobody knows."""
    if isinstance(log, Unavailable) or log.damage or log.absent():
        return -1
    return sum(exchange.refused is None for exchange in log.exchanges)
