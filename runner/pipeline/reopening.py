"""A run's folder, read back as what is left to run: by whoever resumes a run, or has just laid out a rerun."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.cassette import read_cassette
from runner.core.errors import EvidenceError
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.tars import tree_of
from runner.execute.schedule import Standing
from runner.pipeline.control import completed
from runner.pipeline.folder import required
from runner.pipeline.ready import Ready
from runner.pipeline.spending import earlier_spend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.core.cassette import Cassette
    from runner.core.ledger import LedgerLine
    from runner.pipeline.folder import Run
    from runner.pipeline.world import World


def is_finished(run: Run) -> bool:
    """Whether every planned trial of `run` ran, as the last line of its ledger says."""
    last = run.ledger[-1] if run.ledger else None
    return last is not None and last.kind == "run_ended" and last.detail.get("complete") == "yes"


def unfinished(run: Run) -> tuple[str, ...]:
    """The trials of `run` whose last attempt wasn't final, or that were never tried.

    A trial of a control that goes first is done only when it completed: without it no other arm starts.
    """
    done = {line.trial for line in run.ledger if line.kind == "attempt_ended" and line.detail.get("final") == "yes"}
    if run.study.schedule.control_first:
        held = completed(run.ledger)
        done -= {one.trial for one in run.plan.trials if one.arm == run.study.control and one.trial not in held}
    return tuple(planned.trial for planned in run.plan.trials if planned.trial not in done)


def reopened(world: World, run: Run, images: Mapping[str, str]) -> Ready:
    """What is left of `run`, ready to run in `images`, the engine's names of those that its lock pins.

    Raises:
        EvidenceError: an index or a cassette isn't what the lock names, or something of the run is missing.
    """
    left = set(unfinished(run))
    indexes = {name: required(world.files, run.folder, layout.index_tar(name)) for name in run.study.corpora}
    for name, archive in indexes.items():
        if sha256_digest(archive) != run.lock.corpora[name].index.archive_sha256:
            raise EvidenceError("it is not the index that the lock names", document=layout.index_tar(name))
    return Ready(
        study=run.study,
        lock=run.lock,
        trials=tuple(planned for planned in run.plan.trials if planned.trial in left),
        images=images,
        workspaces={
            name: tree_of(required(world.files, run.folder, layout.corpus_tar(name)), layout.corpus_tar(name))
            for name in run.study.corpora
        },
        indexes=indexes,
        prices=run.prices,
        cassette=_played(world, run),
        spent=tuple(earlier_spend(world.files, run)),
        standings=dict(_standings(run.ledger)),
    )


def _played(world: World, run: Run) -> Cassette | None:
    """What the run's gateways play.

    Raises:
        EvidenceError: it isn't what the lock names.
    """
    if not run.lock.cassette_sha256:
        return None
    cassette = read_cassette(required(world.files, run.folder, layout.PLAYED), layout.PLAYED)
    if cassette.digest != run.lock.cassette_sha256:
        raise EvidenceError("it is not the cassette that the lock names", document=layout.PLAYED)
    return cassette


def _standings(ledger: Iterable[LedgerLine]) -> Iterator[tuple[str, Standing]]:
    started: dict[str, int] = {}
    used: Counter[str] = Counter()
    for line in ledger:
        if line.kind == "attempt_started":
            started[line.trial] = max(started.get(line.trial, 0), line.attempt)
        elif line.kind == "attempt_ended":
            used[line.trial] += CONSEQUENCES[Outcome(line.detail["outcome"])].retried
    for trial, attempt in started.items():
        yield trial, Standing(next_attempt=attempt + 1, used=used[trial])
