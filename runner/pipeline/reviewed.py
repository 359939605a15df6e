"""A run whose output is reviewed: what of its folder a review reads, held against ledger, contract and itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from runner.adjudicate.contracting import Pinned, drift
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.documents import Document
from runner.core.errors import EvidenceError, PairbenchError, Problem
from runner.core.lock import Lock
from runner.core.outcomes import Outcome
from runner.core.plan import Plan
from runner.core.quantities import Unavailable
from runner.core.reconsolidation.baseline import ControlBaseline, baseline_of
from runner.core.reconsolidation.contract import Contract
from runner.core.reconsolidation.identity import RunIdentity
from runner.core.reconsolidation.observation import Observation
from runner.core.records import Record
from runner.core.usage import all_tokens
from runner.pipeline.chronicle import StoredLedger
from runner.pipeline.concluding import read_summary
from runner.pipeline.folder import file_fault, required
from runner.plan.reconsolidation import MANIFEST, read_reconsolidation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.core.ledger import LedgerLine
    from runner.core.plan import PlannedTrial
    from runner.core.reconsolidation.corpus import Case, ReconsolidationCorpus
    from runner.pipeline.world import World

D = TypeVar("D", bound=Document)

_PINNED: Final = (layout.LOCK, layout.PLAN, layout.CONTRACT, layout.BASELINE)


@dataclass(frozen=True)
class ReviewedRun:
    """What a review knows of a run."""

    folder: Path
    plan: Plan
    identity: RunIdentity
    contract: Contract
    contract_sha256: str
    corpora: Mapping[str, ReconsolidationCorpus]
    observations: tuple[Observation, ...]
    observations_sha256: str
    records: Mapping[str, Record]
    """By trial."""
    rerun_of: str = ""
    """The run that this one is a rerun of, as the ledger says; "" for none."""

    def cases(self) -> dict[str, Case]:
        """Every case, by its name."""
        return {case.id: case for corpus in self.corpora.values() for case in corpus.cases}

    def trials(self, arm: str) -> list[PlannedTrial]:
        """The trials of one arm."""
        return [trial for trial in self.plan.trials if trial.arm == arm]


def is_run(world: World, folder: Path) -> bool:
    """Whether a run lies in `folder`, however damaged."""
    return any(world.files.is_regular(folder / mark) for mark in (layout.LOCK, layout.LEDGER, layout.SUMMARY))


def read_reviewed(world: World, folder: Path) -> ReviewedRun:
    """The run in `folder`, which was made under a contract that was bound before its first trial, and kept.

    Raises:
        EvidenceError: with everything that is missing, was changed, or isn't what the contract says.
    """
    files = world.files
    if files.read(folder / layout.CONTRACT) is None:
        raise EvidenceError(
            "the run has no contract, so it can't be reviewed as v2",
            document=layout.CONTRACT,
            hint="a contract is bound before the first model call, and never afterwards",
        )
    contract_bytes = required(files, folder, layout.CONTRACT)
    contract = Contract.from_bytes(contract_bytes, layout.CONTRACT)
    plan = _document(world, folder, layout.PLAN, Plan)
    ledger = StoredLedger(files, folder / layout.LEDGER)
    digest = sha256_digest(contract_bytes)
    try:
        corpus = read_reconsolidation(folder / layout.RECONSOLIDATION / MANIFEST, files, world.sources())
    except PairbenchError as error:
        raise EvidenceError.of(error.problems) from error
    pinned = Pinned(corpus.files, corpus.manifest, corpus.splits, world.sources(), world.versions())
    seen = required(files, folder, layout.OBSERVATIONS)
    run = ReviewedRun(
        folder=folder,
        plan=plan,
        identity=_identity(world, folder, ledger),
        contract=contract,
        contract_sha256=digest,
        corpora=corpus.splits,
        observations=tuple(Observation.from_lines(seen, layout.OBSERVATIONS)),
        observations_sha256=sha256_digest(seen),
        records=_records(world, folder),
        rerun_of=next((line.detail.get("rerun_of", "") for line in ledger if line.kind == "run_started"), ""),
    )
    problems = [
        *drift(contract, pinned, layout.CONTRACT),
        *_files_of_ledger(world, folder, ledger),
        *_arms(run),
        *_bound(run, ledger),
        *_baseline(world, run),
        *_summary(world, run, ledger),
    ]
    if problems:
        raise EvidenceError.of(problems)
    return run


def missing(run: ReviewedRun) -> Iterator[str]:
    """What wasn't measured: trials that didn't complete, and cases of them without an observation."""
    seen = {(one.trial, one.case) for one in run.observations}
    for trial in run.plan.trials:
        record = run.records.get(trial.trial)
        if record is None:
            yield f"{trial.trial}: there is no record"
        elif record.outcome is not Outcome.COMPLETED:
            yield f"{trial.trial}: {record.outcome.value}"
        for case in _cases_of(run, trial):
            if (trial.trial, case.id) not in seen:
                yield f"{trial.trial}: there is no observation of {case.id}"


def unknown_usage(run: ReviewedRun) -> Iterator[str]:
    """Trials of which it isn't known what they used."""
    for trial in run.plan.trials:
        record = run.records.get(trial.trial)
        if record is None:
            yield f"{trial.trial}: there is no record"
            continue
        usage = all_tokens((*record.observed, *record.observed_memory))
        if isinstance(usage, Unavailable):
            yield f"{trial.trial}: {usage.reason}"


def complete_repeats(run: ReviewedRun) -> dict[tuple[str, str], int]:
    """Arm and split -> trials that completed and have an observation of every case."""
    seen = {(one.trial, one.case) for one in run.observations}
    found: Counter[tuple[str, str]] = Counter()
    for trial in run.plan.trials:
        record = run.records.get(trial.trial)
        completed = record is not None and record.outcome is Outcome.COMPLETED
        if completed and all((trial.trial, case.id) in seen for case in _cases_of(run, trial)):
            found[trial.arm, trial.task] += 1
    return dict(found)


def _cases_of(run: ReviewedRun, trial: PlannedTrial) -> Sequence[Case]:
    return run.corpora[trial.task].cases


def _identity(world: World, folder: Path, ledger: StoredLedger) -> RunIdentity:
    lock = required(world.files, folder, layout.LOCK)
    return RunIdentity(
        name=Lock.from_bytes(lock, layout.LOCK).run,
        lock_sha256=sha256_digest(lock),
        ledger_head=ledger.head,
        summary_sha256=sha256_digest(world.files.read(folder / layout.SUMMARY) or b""),
    )


def _records(world: World, folder: Path) -> dict[str, Record]:
    data = required(world.files, folder, layout.RECORDS)
    return {record.trial: record for record in Record.from_lines(data, layout.RECORDS)}


def _files_of_ledger(world: World, folder: Path, ledger: StoredLedger) -> Iterator[Problem]:
    inputs = [name for name in ledger.other_files if name.startswith(f"{layout.RECONSOLIDATION}/")]
    for name in (*_PINNED, *inputs):
        if name not in ledger.other_files:
            yield Problem("the ledger doesn't name it", name)
        elif fault := file_fault(world.files, folder, name, ledger.other_files[name]):
            yield Problem(fault, name)


def _arms(run: ReviewedRun) -> Iterator[Problem]:
    """The plan has the arms, tasks and repeats of the contract, and observations are of its trials and cases."""
    terms = run.contract.terms
    if {arm.name for arm in terms.arms} != set(run.plan.arms):
        yield Problem("its arms are not those of the plan", layout.CONTRACT, "terms.arms")
    if run.plan.control != terms.control:
        yield Problem(f"the control of the plan is {run.plan.control!r}", layout.CONTRACT, "terms.arms")
    if set(run.plan.tasks) != set(run.corpora):
        yield Problem(f"its tasks are not {', '.join(run.corpora)}", layout.PLAN, "tasks")
    if run.plan.repetitions != terms.repeats:
        told = f"the plan has {run.plan.repetitions} repetitions, and the contract {terms.repeats}"
        yield Problem(told, layout.PLAN, "repetitions")
    tasks = {trial.trial: trial.task for trial in run.plan.trials}
    splits = {case.id: split for split, corpus in run.corpora.items() for case in corpus.cases}
    for number, seen in enumerate(run.observations, 1):
        if seen.trial in tasks and seen.case in splits and tasks[seen.trial] != splits[seen.case]:
            told = f"{seen.trial} is of another split than {seen.case}"
            yield Problem(told, f"{layout.OBSERVATIONS} line {number}")


def _bound(run: ReviewedRun, ledger: Sequence[LedgerLine]) -> Iterator[Problem]:
    """The contract was bound before the first attempt, and rechecked after the last one of each arm."""
    arms = {trial.trial: trial.arm for trial in run.plan.trials}
    first, last = _attempts(ledger, arms)
    bound = [line for line in ledger if line.kind == "contract_bound"]
    if [line.files.get(layout.CONTRACT) for line in bound] != [run.contract_sha256]:
        yield Problem("the contract isn't bound, or more than once, or another one", layout.LEDGER, "contract_bound")
    elif first and bound[0].seq > min(first.values()):
        yield Problem("the contract was bound after the first attempt", layout.LEDGER, "contract_bound")
    control = run.contract.terms.control
    frozen = [line.seq for line in ledger if line.kind == "control_frozen"]
    others = [seq for arm, seq in first.items() if arm != control]
    if len(frozen) != 1:
        yield Problem(f"the control's answers were frozen {len(frozen)} times", layout.LEDGER, "control_frozen")
    elif frozen[0] < last.get(control, 0) or (others and frozen[0] > min(others)):
        told = "the control's answers weren't frozen between its last attempt and the first of another arm"
        yield Problem(told, layout.LEDGER, "control_frozen")
    rechecks = [line for line in ledger if line.kind == "contract_rechecked"]
    for arm in run.plan.arms:
        after = [line for line in rechecks if line.detail.get("arm") == arm and line.seq > last.get(arm, 0)]
        if not after:
            yield Problem(f"the contract wasn't rechecked after arm {arm!r}", layout.LEDGER, "contract_rechecked")
    for line in rechecks:
        if line.detail.get("contract") != run.contract_sha256 or line.detail.get("drift"):
            why = line.detail.get("drift") or "it was another one"
            told = f"after arm {line.detail.get('arm')!r} the contract didn't hold: {why}"
            yield Problem(told, layout.LEDGER, "contract_rechecked")


def _attempts(ledger: Sequence[LedgerLine], arms: Mapping[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """By arm, the number of the line that starts its first attempt, and of the one that ends its last."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for line in ledger:
        arm = arms.get(line.trial)
        if arm is not None and line.kind == "attempt_started":
            first.setdefault(arm, line.seq)
        elif arm is not None and line.kind == "attempt_ended":
            last[arm] = line.seq
    return first, last


def _baseline(world: World, run: ReviewedRun) -> Iterator[Problem]:
    control = run.contract.terms.control
    trials = {trial.trial for trial in run.trials(control)}
    expected = baseline_of(control, (seen for seen in run.observations if seen.trial in trials))
    if _document(world, run.folder, layout.BASELINE, ControlBaseline) != expected:
        yield Problem("it isn't what the observations of the control give", layout.BASELINE)


def _summary(world: World, run: ReviewedRun, ledger: StoredLedger) -> Iterator[Problem]:
    """The sealed summary, which anybody can compute again from raw evidence, was computed from what is reviewed."""
    absent = [name for name in (layout.SUMMARY, layout.CHECKSUM) if world.files.read(run.folder / name) is None]
    if len(absent) == 1:
        yield Problem("the file is missing", absent[0], hint="run `pairbench verify`")
        return
    try:
        summary = read_summary(world.files, run.folder)
    except PairbenchError as error:
        yield from error.problems
        return
    section = summary.reconsolidation
    if section is None:
        yield Problem("it is of no reconsolidation study", layout.SUMMARY, "reconsolidation")
        return
    for name, key, told in (
        (layout.OBSERVATIONS, "reconsolidation.observations_sha256", section.observations_sha256),
        (layout.BASELINE, "reconsolidation.baseline_sha256", section.baseline_sha256),
        (layout.RECORDS, "inputs.records", summary.inputs.records),
        (layout.PLAN, "inputs.plan", summary.inputs.plan),
        (layout.LOCK, "inputs.lock", summary.inputs.lock),
    ):
        if told != sha256_digest(required(world.files, run.folder, name)):
            yield Problem(f"it was computed from another {name}", layout.SUMMARY, key, "run `pairbench verify`")
    if summary.inputs.ledger_head != ledger.head:
        yield Problem(f"it was computed from another {layout.LEDGER}", layout.SUMMARY, "inputs.ledger_head")


def _document(world: World, folder: Path, name: str, model: type[D]) -> D:
    return model.from_bytes(required(world.files, folder, name), name)
