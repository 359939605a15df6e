"""The run that a rerun is made of, held against every digest that names a file of it, before anything starts.

What follows from its evidence isn't computed again: `verify` does that.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.passages import tree_digest
from runner.pipeline.concluding import ledger_problems, read_summary, verify_evidence
from runner.pipeline.folder import read_run, required
from runner.pipeline.reopening import is_finished
from runner.pipeline.sides import Side

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.core.summary import Summary
    from runner.pipeline.folder import Run
    from runner.ports.files import Files


@dataclass(frozen=True)
class Original:
    """A run that ended, with everything that running it once more needs."""

    run: Run
    lock_sha256: str
    """Of the lock as it was written, whichever code reads it."""
    summary_sha256: str

    @property
    def name(self) -> str:
        """How the run is called."""
        return self.run.lock.run


def called(runs: Path, folder: Path) -> str:
    """What a command calls the run in `folder`, where `runs` is the folder that names are looked up in."""
    place = folder.resolve()
    return place.name if place.parent == runs.resolve() else str(place)


def read_original(files: Files, folder: Path, given: str = "", *, archived: bool = False) -> Original:
    """The run in `folder`, all of whose files are what its ledger, its lock and its summary say.

    It is spoken of as `given`, or by its folder's path; one that is `archived` can't be resumed where it is.

    Raises:
        StudyError: the run never came to its end.
        PairbenchError: it has no summary.
        EvidenceError: something of it is missing or damaged; everything that is, at once.
    """
    run, given = read_run(files, folder), given or str(folder)
    if not is_finished(run):
        raise StudyError(
            "the run never came to its end, and there is nothing to hold a rerun against",
            document=given,
            hint="resume it where it was made, and archive it again"
            if archived
            else f"pairbench resume {shlex.quote(given)}",
        )
    summary = read_summary(files, folder)
    problems = [*_faults(files, run, summary)]
    # What a comparison refuses in the end is refused while it costs nothing.
    told = {problem.document for problem in problems}
    problems += [problem for problem in _unsealed(files, folder, given) if problem.document not in told]
    if problems:
        raise EvidenceError.of(problems)
    lock, sealed = (sha256_digest(required(files, folder, name)) for name in (layout.LOCK, layout.SUMMARY))
    return Original(run, lock, sealed)


def _unsealed(files: Files, folder: Path, given: str) -> Iterator[Problem]:
    """Every document that the summary, or the lock that it names, was made with and that is another now."""
    try:
        Side.of(files, folder, given)
    except EvidenceError as error:
        for problem in error.problems:
            yield replace(problem, document=problem.document.removeprefix(f"{given}: "))


def _faults(files: Files, run: Run, summary: Summary) -> Iterator[Problem]:
    """Every file of the run that isn't what is said of it: by the ledger, by the lock, and by the summary."""
    named, sealed = run.ledger.other_files, summary.inputs
    try:
        _, damaged = verify_evidence(files, run.folder)
        yield from damaged
    except EvidenceError as error:
        yield from error.problems
    yield from ledger_problems(files, run)
    for name, pin in run.lock.corpora.items():
        files_of_corpus = run.corpora.get(name)
        if files_of_corpus is None or tree_digest(files_of_corpus) != pin.tree_sha256:
            yield Problem("it is not the corpus that the lock names", layout.corpus_tar(name))
        index = files.read(run.folder / layout.index_tar(name))
        if index is None or sha256_digest(index) != pin.index.archive_sha256:
            yield Problem("it is not the index that the lock names", layout.index_tar(name))
    for name, found, said in (
        (layout.LOCK, named.get(layout.LOCK, "none"), sealed.lock),
        (layout.LEDGER, run.ledger_head, sealed.ledger_head),
        (layout.PLAN, named.get(layout.PLAN, "none"), sealed.plan),
    ):
        if found != said:
            yield Problem(f"its digest is {found}, and the summary says {said}", name)
