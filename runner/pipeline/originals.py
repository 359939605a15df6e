"""The run that a rerun is made of, held against every digest that names its inputs.

What its trials left isn't looked at: `verify` does that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.passages import tree_digest
from runner.pipeline.concluding import ledger_problems, read_summary
from runner.pipeline.folder import file_fault, read_run, required
from runner.pipeline.reopening import is_finished

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


def read_original(files: Files, folder: Path) -> Original:
    """The run in `folder`, whose inputs are what its lock, its ledger and its summary say.

    Raises:
        StudyError: the run never came to its end.
        PairbenchError: it has no summary.
        EvidenceError: something of it is missing or damaged; everything that is, at once.
    """
    run = read_run(files, folder)
    if not is_finished(run):
        raise StudyError(
            "the run never came to its end, and there is nothing to hold a rerun against",
            document=str(folder),
            hint=f"pairbench resume {folder.name}",
        )
    summary = read_summary(files, folder)
    problems = [*_faults(files, run, summary)]
    if problems:
        raise EvidenceError.of(problems)
    lock, sealed = (sha256_digest(required(files, folder, name)) for name in (layout.LOCK, layout.SUMMARY))
    return Original(run, lock, sealed)


def _faults(files: Files, run: Run, summary: Summary) -> Iterator[Problem]:
    """Everything of inputs and lock that isn't what is said of it: by the ledger, by the lock, and by the summary."""
    named, sealed = run.ledger.other_files, summary.inputs
    for name, digest in named.items():
        if fault := file_fault(files, run.folder, name, digest):
            yield Problem(fault, name)
    for name in (
        layout.LOCK,
        layout.PLAN,
        *(f"{layout.INPUTS}/{name}" for name in files.walk(run.folder / layout.INPUTS)),
    ):
        if name not in named:
            yield Problem("the ledger does not know this file", name)
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
