"""One of the runs that are held against each other: its documents are those that its sealed summary was made with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.archives.harness import harness_in
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.comparison import ComparedRun
from runner.core.errors import EvidenceError, PairbenchError, Problem
from runner.core.lock import Lock
from runner.core.passages import tree_digest
from runner.core.reconsolidation.corpus import ReconsolidationManifest
from runner.core.relation import Locked
from runner.core.resolved import ResolvedStudy
from runner.core.tars import files_of
from runner.pipeline.concluding import read_summary
from runner.pipeline.folder import required
from runner.plan.reconsolidation import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.core.summary import Summary
    from runner.ports.files import Files


@dataclass(frozen=True)
class Side:
    """One of the two runs, whose documents are those that its seal names."""

    given: str
    folder: Path
    files: Files
    lock: Lock
    summary: Summary
    study: ResolvedStudy
    locked: Locked

    @classmethod
    def of(cls, files: Files, folder: Path, given: str) -> Side:
        """The run in `folder`.

        Raises:
            StudyError: the run has no summary yet.
            EvidenceError: its seal is broken, or a document isn't the one that the seal names.
        """
        try:
            return cls._read(files, folder, given)
        except PairbenchError as error:
            # Which of the two runs it is can't be told by the names of their documents.
            raise type(error).of(
                replace(problem, document=f"{given}: {problem.document}") for problem in error.problems
            ) from error

    @classmethod
    def _read(cls, files: Files, folder: Path, given: str) -> Side:
        summary = read_summary(files, folder)
        written = required(files, folder, layout.LOCK)
        lock = Lock.from_bytes(written, layout.LOCK)
        study = ResolvedStudy.from_bytes(required(files, folder, layout.STUDY), layout.STUDY)
        recorded = digest_of_file(files, folder / layout.CASSETTE) or ""
        side = cls(
            given=given,
            folder=folder,
            files=files,
            lock=lock,
            summary=summary,
            study=study,
            locked=Locked(
                lock,
                lock_sha256=sha256_digest(written),
                summary_sha256=digest_of_file(files, folder / layout.SUMMARY) or "",
                recorded_sha256=recorded,
                asks_provider=study.model.goes_out,
                plays=study.model.mode == "replay" and not study.model_ca,
            ),
        )
        problems = [*_unsealed(side)]
        if problems:
            raise EvidenceError.of(problems)
        return side

    @property
    def described(self) -> ComparedRun:
        """The run as a comparison names it."""
        return ComparedRun(
            given=self.given,
            run=self.lock.run,
            study=self.study.name,
            lock_sha256=self.locked.lock_sha256,
            summary_sha256=self.locked.summary_sha256,
            evidence=self.lock.evidence,
            model_shown=self.lock.model_shown,
            mode=self.study.model.mode,
            rerun_of="" if self.lock.rerun_of is None else self.lock.rerun_of.run,
        )


def code_fault(side: Side) -> str:
    """Why the code that the run keeps isn't the one that its lock names; "" where it is, or the run keeps none."""
    folder = side.folder / layout.HARNESS
    kept = {
        str(name): required(side.files, side.folder, f"{layout.HARNESS}/{name}") for name in side.files.walk(folder)
    }
    try:
        if kept or side.lock.harness.requirements_sha256:
            harness_in(side.lock.harness, kept)
    except EvidenceError as error:
        return "; ".join(
            f"{problem.document.removeprefix(f'{layout.HARNESS}/')}: {problem.message}" for problem in error.problems
        )
    return ""


def _unsealed(side: Side) -> Iterator[Problem]:
    """Documents that aren't those which the sealed summary, or the lock that it names, was made with."""
    summary, lock = side.summary, side.lock
    named: dict[str, str] = {
        layout.LOCK: summary.inputs.lock,
        layout.PLAN: summary.inputs.plan,
        layout.RECORDS: summary.inputs.records,
        layout.SCORES: summary.inputs.scores,
        layout.PRICES: summary.inputs.price_table,
        layout.STUDY: lock.study_sha256,
    }
    if lock.labels_sha256:
        named[layout.LABELS] = lock.labels_sha256
    if summary.retrieval is not None:
        named |= {document.name: document.digest for document in summary.retrieval.documents}
    if summary.reconsolidation is not None:
        named[layout.OBSERVATIONS] = summary.reconsolidation.observations_sha256
        if summary.reconsolidation.baseline_sha256:
            named[layout.BASELINE] = summary.reconsolidation.baseline_sha256
    hint = f"see what is wrong with: pairbench verify {side.given}"
    for name, digest in named.items():
        if digest_of_file(side.files, side.folder / name) != digest:
            yield Problem("it isn't the one that the sealed summary was made with", name, hint=hint)
    for name in _unpinned(side):
        yield Problem("it isn't the one that the run's lock names", name, hint=hint)


def _unpinned(side: Side) -> Iterator[str]:
    """Inputs that aren't those which the lock pins, and such as it would pin if the run had had them."""
    lock, files, folder = side.lock, side.files, side.folder
    pinned = {layout.index_tar(name): pin.index.archive_sha256 for name, pin in lock.corpora.items()}
    pinned |= {layout.query_set(task): pin.resolved_sha256 for task, pin in lock.query_sets.items()}
    pinned |= {layout.context_tar(pin.name): pin.context_sha256 for pin in lock.images if pin.context_sha256}
    asked = {task.corpus for task in side.study.tasks if task.id in lock.query_sets} & lock.corpora.keys()
    pinned |= {layout.passages(name): lock.corpora[name].passages_sha256 for name in asked}
    if lock.cassette_sha256:
        pinned[layout.PLAYED] = lock.cassette_sha256
    if lock.reconsolidation_sha256:
        pinned |= _of_reconsolidation(side)
    yield from (name for name, digest in pinned.items() if digest_of_file(files, folder / name) != digest)
    trees = {layout.corpus_tar(name): pin.tree_sha256 for name, pin in lock.corpora.items()}
    for name, digest in trees.items():
        tar = files.read(folder / name)
        if tar is None or tree_digest(files_of(tar, name)) != digest:
            yield name
    kinds = (layout.corpus_tar, layout.index_tar, layout.query_set, layout.context_tar, layout.passages)
    folders = tuple(kind("").rpartition("/")[0] + "/" for kind in kinds)
    for found in files.walk(folder / layout.INPUTS):
        name = f"{layout.INPUTS}/{found}"
        if name not in pinned.keys() | trees.keys() and (name == layout.PLAYED or name.startswith(folders)):
            yield name


def _of_reconsolidation(side: Side) -> dict[str, str]:
    """The files of the corpus, as the manifest has them that the lock names."""
    name = f"{layout.RECONSOLIDATION}/{MANIFEST}"
    manifest = ReconsolidationManifest.from_bytes(required(side.files, side.folder, name), name)
    below = {f"{layout.RECONSOLIDATION}/{split}": digest for split, digest in manifest.files.items()}
    return {name: side.lock.reconsolidation_sha256, **below}


def digest_of_file(files: Files, path: Path) -> str | None:
    """The digest of a file, or None where there is none."""
    pieces = files.pieces(path)
    if pieces is None:
        return None
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return f"sha256:{found.hexdigest()}"
