"""A run's folder: found by path or as `latest`, and its documents read back as types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from runner.archives.reading import begins_as_archive, is_archive
from runner.core import layout
from runner.core.canonical import Digest, sha256_digest
from runner.core.documents import Document
from runner.core.errors import EvidenceError, StudyError
from runner.core.lock import Lock
from runner.core.plan import Plan
from runner.core.prices import PriceTable
from runner.core.reconsolidation.corpus import ReconsolidationCorpus
from runner.core.resolved import ResolvedLabels, ResolvedStudy
from runner.core.retrieval.queries import ResolvedQuerySet
from runner.core.tars import files_of
from runner.pipeline.chronicle import StoredLedger
from runner.plan.reconsolidation_studies import resolved_cases

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.ports.files import Files

LATEST = "latest"

D = TypeVar("D", bound=Document)


@dataclass(frozen=True)
class Run:
    """What was there before the first trial, and what the ledger says since."""

    folder: Path
    lock: Lock
    plan: Plan
    study: ResolvedStudy
    labels: ResolvedLabels | None
    prices: PriceTable
    corpora: Mapping[str, Mapping[str, bytes]]
    """Corpus -> path -> bytes: the workspaces."""
    ledger: StoredLedger
    query_sets: Mapping[str, ResolvedQuerySet] = field(default_factory=dict)
    """Task -> what it asks, with its labels; only of a retrieval study."""
    reconsolidation: Mapping[str, ReconsolidationCorpus] = field(default_factory=dict)
    """Task -> its cases with their labels; only of a reconsolidation study."""

    @property
    def ledger_head(self) -> Digest:
        """The digest of the ledger's last line."""
        return self.ledger.head

    def input_digest(self, name: str) -> Digest:
        """The digest of the input `name` as it lies there: what this code would write of it may know more fields.

        Raises:
            EvidenceError: the ledger doesn't name it.
        """
        found = self.ledger.other_files.get(name)
        if found is None:
            raise EvidenceError("the ledger does not know this file", document=name)
        return Digest(found)


def find_run(files: Files, runs: Path, name: str, cwd: Path) -> Path:
    """The folder of the run called `name`: a path, the name of a folder in `runs`, or `latest`.

    Raises:
        StudyError: there is no such run.
    """
    hint = f"give the path of a run's folder, or the name of one in {runs}"
    if not name.strip():
        raise StudyError(f"{name!r} names no run", hint=hint)
    for folder in (cwd / name, runs / name):
        # Any of them tells a run's folder: one that misses another is a damaged run, and none the less one.
        if any(files.is_regular(folder / mark) for mark in (layout.LOCK, layout.LEDGER, layout.SUMMARY)):
            return folder.resolve()
    if begins_as_archive(cwd / name):
        raise StudyError(
            f"{name!r} is an archive, and no run", hint="`pairbench verify`, `compare` and `rerun` take an archive"
        )
    if is_archive(cwd / name):
        raise StudyError(f"{name!r} is a file, and no run", hint=hint)
    if any(files.is_folder(folder) for folder in (cwd / name, runs / name)):
        marks = f"{layout.LOCK}, {layout.LEDGER}, {layout.SUMMARY}"
        raise StudyError(f"the folder {name!r} is no run: it has none of {marks}", hint=hint)
    raise StudyError(f"there is no run {name!r}", hint=hint)


def read_run(files: Files, folder: Path, journal: bytes | None = None) -> Run:
    """The run in `folder`, with `journal` for its ledger where that is given.

    Raises:
        EvidenceError: a document is missing, damaged, or of an unknown version.
    """
    ledger = StoredLedger(files, folder / layout.LEDGER, journal)
    study = _document(files, folder, layout.STUDY, ResolvedStudy)
    plan = _document(files, folder, layout.PLAN, Plan)
    _check_fit(study, plan, ledger)
    labels = files.read(folder / layout.LABELS)
    corpora = {name: layout.corpus_tar(name) for name in study.corpora}
    return Run(
        folder=folder,
        lock=_document(files, folder, layout.LOCK, Lock),
        plan=plan,
        study=study,
        labels=None if labels is None else ResolvedLabels.from_bytes(labels, layout.LABELS),
        prices=_document(files, folder, layout.PRICES, PriceTable),
        corpora={name: files_of(required(files, folder, tar), tar) for name, tar in corpora.items()},
        ledger=ledger,
        query_sets=_query_sets(files, folder, study),
        reconsolidation=_reconsolidation(files, folder, study),
    )


def _query_sets(files: Files, folder: Path, study: ResolvedStudy) -> dict[str, ResolvedQuerySet]:
    """The query sets of a retrieval study, by task: each asks what its task does, of the same corpus."""
    found: dict[str, ResolvedQuerySet] = {}
    for task in study.tasks if study.client.kind == "retrieval" else ():
        name = layout.query_set(task.id)
        queries = _document(files, folder, name, ResolvedQuerySet)
        asked = [(query.id, query.text, query.workspace, query.at_s) for query in task.queries]
        if [(query.id, query.text, query.workspace, query.at_s) for query in queries.queries] != asked:
            raise EvidenceError("its queries aren't those of the study", document=name)
        if queries.corpus != task.corpus:
            raise EvidenceError("it asks another corpus than the study", document=name)
        found[task.id] = queries
    return found


def _reconsolidation(files: Files, folder: Path, study: ResolvedStudy) -> dict[str, ReconsolidationCorpus]:
    """The cases of a reconsolidation study, by task: each is of what its task gives."""
    found: dict[str, ReconsolidationCorpus] = {}
    for task in study.tasks:
        if task.cases is not None:
            name = f"{layout.RECONSOLIDATION}/{task.cases.split}.json"
            corpus = _document(files, folder, name, ReconsolidationCorpus)
            if resolved_cases(corpus, study.seed, task.id) != task.cases:
                raise EvidenceError("its cases aren't those of the study", document=name)
            found[task.id] = corpus
    return found


def required(files: Files, folder: Path, name: str) -> bytes:
    """The bytes of the run's file `name`.

    Raises:
        EvidenceError: it isn't there.
    """
    data = files.read(folder / name)
    if data is None:
        raise EvidenceError("the file is missing", document=name)
    return data


def file_fault(files: Files, folder: Path, name: str, expected: str) -> str:
    """What is wrong with the run's file `name`, which should have the digest `expected`; "" for nothing."""
    if any(part in {"", ".", ".."} for part in name.split("/")):
        return "it leads out of the run's folder"
    if not files.is_regular(folder / name):
        return "missing, or no regular file"
    found = sha256_digest(required(files, folder, name))
    return "" if found == expected else f"its digest is {found}, and the ledger says {expected}"


def _check_fit(study: ResolvedStudy, plan: Plan, ledger: StoredLedger) -> None:
    """Study, plan and ledger speak of the same arms, tasks and trials."""
    arms, tasks = {arm.name for arm in study.arms}, {task.id for task in study.tasks}
    for planned in plan.trials:
        if planned.arm not in arms or planned.task not in tasks:
            raise EvidenceError(f"the study has no such trial as {planned.trial!r}", document=layout.PLAN)
    known = {planned.trial for planned in plan.trials}
    foreign = [(told.first, trial) for trial, told in ledger.trials.items() if trial not in known]
    if foreign:
        number, trial = min(foreign)
        raise EvidenceError(f"the plan has no trial {trial!r}", document=f"{layout.LEDGER} line {number}")


def _document(files: Files, folder: Path, name: str, model: type[D]) -> D:
    return model.from_bytes(required(files, folder, name), name)
