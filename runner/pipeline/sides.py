"""One of the runs that are held against each other: its documents are those that its sealed summary was made with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.comparison import ComparedRun
from runner.core.errors import EvidenceError, PairbenchError, Problem
from runner.core.lock import Lock
from runner.core.relation import Locked
from runner.core.resolved import ResolvedStudy
from runner.pipeline.concluding import read_summary
from runner.pipeline.folder import required

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
            locked=Locked(lock, sha256_digest(written), recorded, study.model.goes_out),
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
            summary_sha256=digest_of_file(self.files, self.folder / layout.SUMMARY) or "",
            evidence=self.lock.evidence,
            model_shown=self.lock.model_shown,
            mode=self.study.model.mode,
            rerun_of="" if self.lock.rerun_of is None else self.lock.rerun_of.run,
        )


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
    for name, digest in named.items():
        if digest_of_file(side.files, side.folder / name) != digest:
            yield Problem(
                "it isn't the one that the sealed summary was made with",
                name,
                hint=f"see what is wrong with: pairbench verify {side.given}",
            )


def digest_of_file(files: Files, path: Path) -> str | None:
    """The digest of a file, or None where there is none."""
    pieces = files.pieces(path)
    if pieces is None:
        return None
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return f"sha256:{found.hexdigest()}"
