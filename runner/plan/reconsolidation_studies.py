"""Does a reconsolidation study fit together, and what of its corpus may enter a trial?

Knows the declared study and its splits; whether the corpus is as it was frozen is asked by whoever knows the sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.errors import EvidenceError, Problem
from runner.core.plan import by_digest
from runner.core.reconsolidation.corpus import SPLITS, ReconsolidationCorpus
from runner.core.resolved import ResolvedCase, ResolvedCases, ResolvedProbe
from runner.core.study import ReconsolidationClient
from runner.core.systems import Reconsolidator
from runner.plan.reconsolidation import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.core.reconsolidation.contract import Contract
    from runner.core.resolved import ResolvedStudy
    from runner.core.study import Arm, StudyFile
    from runner.ports.files import Files

_EXAMPLE: Final = 'as in system = { kind = "reconsolidator", mode = "merge_only" }'


def is_reconsolidation(declared: StudyFile) -> bool:
    """Whether the study compares memories that reconsolidate."""
    return isinstance(declared.client, ReconsolidationClient)


def needs_no_model(declared: StudyFile) -> bool:
    """Whether none of a reconsolidation study's arms asks a model."""
    return is_reconsolidation(declared) and not any(_asks(arm) for arm in declared.arms)


def reconsolidation_problems(declared: StudyFile, document: str) -> Iterator[Problem]:
    """Everything in a study that only a reconsolidation study may have, or that one may not have."""
    if not is_reconsolidation(declared):
        yield from _foreign_problems(declared, document)
        return
    if not declared.schedule.control_first:
        message = "what the control answers is frozen before any other arm starts"
        yield Problem(message, document, "schedule.control_first", "say control_first = true")
    if declared.labels is not None:
        yield Problem("the corpus of a reconsolidation study brings its labels", document, "labels", "leave it out")
    if declared.corpora:
        yield Problem("a reconsolidation study has no workspaces", document, "corpora", "leave the table out")
    if not declared.client.model and not needs_no_model(declared):
        yield Problem("missing: an arm asks a model", document, "client.model")
    if "model" in declared.model_fields_set and declared.model.mode == "none" and not needs_no_model(declared):
        yield Problem("an arm asks a model", document, "model.mode", "say who plays it")
    for arm in declared.arms:
        for message, key, hint in _arm_faults(arm):
            yield Problem(message, document, f"arms.{arm.name}.{key}", hint)
    yield from _folder_problems(declared, document)


def _foreign_problems(declared: StudyFile, document: str) -> Iterator[Problem]:
    if not declared.corpora:
        yield Problem("missing", document, "corpora")
    if declared.contract is not None:
        yield Problem("only a reconsolidation study is reviewed", document, "contract", "leave it out")
    for arm in declared.arms:
        if arm.system is not None and not arm.system.is_retrieval:
            message = "only a client of kind reconsolidation runs such a system"
            yield Problem(message, document, f"arms.{arm.name}.system", "leave it out")


def agreed_problems(study: ResolvedStudy, contract: Contract, document: str) -> Iterator[Problem]:
    """Whatever of a study isn't what its contract says: nothing could be reviewed afterwards."""
    terms = contract.terms
    agreed = {arm.name: str(arm.mode) for arm in terms.arms}
    found = {arm.name: str(getattr(arm.system, "mode", "")) for arm in study.arms}
    if agreed != found:
        told = ", ".join(f"{name} ({mode})" for name, mode in agreed.items())
        yield Problem(f"the contract has the arms {told}", document, "arms")
    elif terms.control != study.control:
        yield Problem(f"the contract has the control {terms.control!r}", document, "control")
    if terms.repeats != study.repetitions:
        yield Problem(f"the contract has {terms.repeats} repeats", document, "repetitions")
    if any(task.cases is None or task.id != task.cases.split for task in study.tasks) or len(study.tasks) != len(
        SPLITS
    ):
        message = f"the contract's splits are {', '.join(SPLITS)}: each is a task of that id"
        yield Problem(message, document, "tasks")


def manifest_of(declared: StudyFile, root: Path) -> Path | None:
    """Where the manifest of the study's corpus should be: beside its splits; None of a study without cases."""
    splits = [task.cases for task in declared.tasks if task.cases is not None]
    return (root / splits[0]).parent / MANIFEST if splits else None


def read_split(
    path: Path, files: Files, seed: str, task: str
) -> tuple[ResolvedCases | None, dict[Path, bytes], tuple[Problem, ...]]:
    """What of the split at `path` may enter a trial, the bytes of the file, and what is wrong with it."""
    data = files.read(path)
    if data is None:
        return None, {}, (Problem(f"there is no file {path}", task, "cases"),)
    try:
        corpus = ReconsolidationCorpus.from_bytes(data, str(path))
    except EvidenceError as error:
        return None, {path: data}, error.problems
    return resolved_cases(corpus, seed, task), {path: data}, ()


def resolved_cases(corpus: ReconsolidationCorpus, seed: str, task: str) -> ResolvedCases:
    """The cases as a trial may know them: no label, no category, names that say nothing, in an order from the seed."""
    opaque = opaque_names(corpus, seed, task)
    cases = {case.id: case for case in corpus.cases}
    return ResolvedCases(
        split=corpus.split,
        clock=corpus.clock,
        recall_budget=corpus.recall_budget,
        cases=tuple(
            ResolvedCase(
                case=name,
                seeds=cases[identity].seeds,
                probes=tuple(ResolvedProbe(id=probe.id, question=probe.question) for probe in cases[identity].probes),
            )
            for name, identity in opaque.items()
        ),
    )


def opaque_names(corpus: ReconsolidationCorpus, seed: str, task: str) -> Mapping[str, str]:
    """`c01`, `c02`, … -> the corpus's own name of the case, in the order in which trials are given them."""
    order = by_digest(seed, f"cases of {task}", [case.id for case in corpus.cases])
    width = max(2, len(str(len(order))))
    return {f"c{number:0{width}}": identity for number, identity in enumerate(order, 1)}


def _asks(arm: Arm) -> bool:
    match arm.system:
        case Reconsolidator(mode=mode):
            return mode == "connections"
        case _:
            return True


def _arm_faults(arm: Arm) -> Iterator[tuple[str, str, str]]:
    if arm.system is None or arm.system.is_retrieval:
        yield "an arm of a reconsolidation study needs its system", "system", _EXAMPLE
    if not arm.sidecar and "sidecar" in arm.model_fields_set:
        yield "a memory that reconsolidates keeps what it knows in the sidecar", "sidecar", "leave it out"


def _folder_problems(declared: StudyFile, document: str) -> Iterator[Problem]:
    folders = {task.cases.rpartition("/")[0] for task in declared.tasks if task.cases is not None}
    if declared.task_files:
        yield Problem("the tasks of a reconsolidation study stand in it", document, "task_files", "leave it out")
    if len(folders) > 1:
        yield Problem("its splits lie in different folders", document, "tasks", "one study scores one corpus")
