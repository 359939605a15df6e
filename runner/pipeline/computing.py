"""Everything after *execute*, computed from the raw evidence alone: records, scores, summary.

The same functions serve a fresh run and a stranger's verification; none of them needs an engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from runner.clients.launching import expectation_of
from runner.collect.attempt import collect_attempt
from runner.collect.record import make_record
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.evidence import ENGINE, AttemptEvidence, EngineFacts, OutcomeHint
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.records import Score
from runner.core.summary import Check, ClientIdentity, HarnessIdentity, NotChecked, Pin, ScheduleIdentity
from runner.measure.checks import count
from runner.measure.cost import trial_cost_microusd
from runner.pipeline.folder import required
from runner.summarize.context import ArmFacts, ModelFacts, SourceDigests, SummaryContext
from runner.summarize.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.collect.attempt import AttemptResult
    from runner.core.canonical import Digest
    from runner.core.ledger import LedgerLine
    from runner.core.plan import PlannedTrial
    from runner.core.quantities import Quantity
    from runner.core.records import Record
    from runner.core.resolved import ResolvedStudy
    from runner.core.study import Label
    from runner.core.summary import Summary
    from runner.pipeline.folder import Run
    from runner.ports.files import Files

_NO_LABEL: Final = "the task has no labels"
_NO_ANSWER: Final = "there is no answer"


def attempt_result(study: ResolvedStudy, arm: str, files: Mapping[str, bytes]) -> AttemptResult:
    """What the raw `files` of an attempt in `arm` come to."""
    return collect_attempt(AttemptEvidence(files, expectation_of(study, study.arm(arm))))


def may_retry(result: AttemptResult) -> bool:
    """Whether another attempt may be made."""
    return CONSEQUENCES[result.outcome].retried


@dataclass(frozen=True)
class Computed:
    """Everything that follows from the raw evidence of a run."""

    records: bytes
    """NDJSON, in the order of the plan."""
    scores: bytes
    summary: Summary


def compute(run: Run, files: Files) -> Computed:
    """Records, scores and summary of `run`.

    One trial's evidence is held at a time; of its record stays what a summary needs, and its line.
    """
    labels = {label.task: label for label in run.labels.labels} if run.labels is not None else {}
    record_lines, score_lines = bytearray(), bytearray()
    records: list[Record] = []
    scores: list[Score] = []
    for record in records_of(run, files):
        score = _score(run, record, labels.get(record.task))
        record_lines += record.to_line()
        score_lines += score.to_line()
        records.append(record.without_bulk())
        scores.append(score)
    lines = bytes(record_lines), bytes(score_lines)
    context = context_of(run, sha256_digest(lines[0]), sha256_digest(lines[1]))
    return Computed(*lines, summarize(context, run.plan, records, scores))


def records_of(run: Run, files: Files) -> Iterator[Record]:
    """The record of every planned trial, in the order of the plan, made when it is asked for."""
    ended: dict[str, list[LedgerLine]] = {}
    for line in run.ledger:
        if line.kind == "attempt_ended":
            ended.setdefault(line.trial, []).append(line)
    for planned in run.plan.trials:
        yield make_record(planned, [_attempt(run, planned, line, files) for line in ended.get(planned.trial, ())])


def context_of(run: Run, records: Digest, scores: Digest) -> SummaryContext:
    """What a summary of a run needs beside its plan and the records and scores with these digests."""
    sources = SourceDigests(run.lock.digest(), run.ledger_head, records, scores)
    return _context(run, sources)


def _attempt(run: Run, planned: PlannedTrial, line: LedgerLine, files: Files) -> AttemptResult:
    """What the attempt that `line` ends came to.

    Where the runner broke it off, the ledger is the one that knows: there may be no evidence at all, or half of it.
    """
    found = dict(_evidence(run, line.files, planned.trial, line.attempt, files))
    if line.detail.get("outcome") != Outcome.CANCELLED:
        return attempt_result(run.study, planned.arm, found)
    reason = line.detail.get("reason", "")
    unknown = EngineFacts(
        gateway=None,
        sidecar=None,
        trial=None,
        outcome_hint=OutcomeHint.CANCELLED,
        detail=reason,
        pod_ms=None,
        gone_proven=False,
    )
    result = attempt_result(run.study, planned.arm, {ENGINE: unknown.to_bytes(), **found})
    kept = {name: digest for name, digest in result.evidence.items() if name in found}
    return replace(result, outcome=Outcome.CANCELLED, reason=reason, answer="", evidence=kept)


def _evidence(
    run: Run, names: Mapping[str, str], trial: str, attempt: int, files: Files
) -> Iterator[tuple[str, bytes]]:
    folder = layout.attempt_folder(trial, attempt)
    for name in names:
        yield name.removeprefix(f"{folder}/"), required(files, run.folder, name)


def _score(run: Run, record: Record, label: Label | None) -> Score:
    counts = None if label is None else count(record.answer, label, run.corpora[run.study.task(record.task).corpus])
    missing = _NO_LABEL if counts is None else _NO_ANSWER

    def found(value: int) -> Quantity:
        return Measured(value) if counts is not None and record.answer else Unavailable(missing)

    return Score(
        trial=record.trial,
        cost_microusd=trial_cost_microusd(record, run.prices, run.study.client.model),
        references_found=found(counts.sources.found if counts else 0),
        references_total=counts.sources.total if counts else 0,
        reference_files_found=found(counts.files.found if counts else 0),
        reference_files_total=counts.files.total if counts else 0,
        diagnostic_found=found(counts.coverage.found if counts else 0),
        diagnostic_total=counts.coverage.total if counts else 0,
    )


def _context(run: Run, sources: SourceDigests) -> SummaryContext:
    study, lock = run.study, run.lock
    return SummaryContext(
        description=study.description,
        protocol_version=lock.protocol_version,
        arms=tuple(ArmFacts(arm.name, arm.description, bool(arm.mcp_servers) or arm.sidecar) for arm in study.arms),
        differences=tuple(f"{arm.name}: {line}" for arm in lock.arms for line in arm.difference),
        model=_model_facts(run),
        client=ClientIdentity(name=study.client.kind, version=lock.client_version),
        harness=HarnessIdentity(version=lock.harness.version, digest=lock.harness.source_sha256),
        schedule=ScheduleIdentity(
            slots=study.schedule.slots if study.schedule.slots != "auto" else 1,
            preparation=study.schedule.preparation,
            attempts=study.schedule.attempts,
        ),
        prices=run.prices,
        sources=sources,
        gates=lock.gates,
        ceilings={"model_requests": study.limits.requests},
        pins=tuple(_pins(run)),
        checks=_checks(run),
        not_checked=tuple(_not_checked(run)),
    )


def _model_facts(run: Run) -> ModelFacts:
    model = run.study.model
    policy = f"{model.policy} {model.policy_version}" if model.policy else ""
    return ModelFacts(model.mode, policy, run.study.client.model, fixture=run.lock.evidence == "fixture")


def _pins(run: Run) -> Iterator[Pin]:
    for image in run.lock.images:
        yield Pin(kind="image", name=image.name, digest=image.config_digest)
    for name, corpus in sorted(run.lock.corpora.items()):
        yield Pin(kind="corpus", name=name, digest=corpus.tree_sha256)
        yield Pin(kind="index", name=name, digest=corpus.index.archive_sha256)


def _checks(run: Run) -> tuple[Check, ...]:
    started = {(line.trial, line.attempt) for line in run.ledger if line.kind == "attempt_started"}
    ended = {(line.trial, line.attempt) for line in run.ledger if line.kind == "attempt_ended"}
    open_ended = tuple(sorted(f"{trial} attempt {attempt}" for trial, attempt in started - ended))
    broken = _broken_blocks(run)
    return (
        Check(
            name="blocks unbroken",
            claim="The arms of each block ran back to back, with no interruption of the run between them.",
            passed=not broken,
            checked=len({planned.block for planned in run.plan.trials}),
            failed=broken,
        ),
        Check(
            name="ledger-chain",
            claim="Every line of the ledger holds the digest of the line before it.",
            passed=True,
            checked=len(run.ledger),
            failed=(),
        ),
        Check(
            name="attempts-ended",
            claim="Every attempt that the ledger starts is ended in it.",
            passed=not open_ended,
            checked=len(started),
            failed=open_ended,
        ),
    )


def _broken_blocks(run: Run) -> tuple[str, ...]:
    """Blocks of which one arm was done before a resumption of the run, and another after it."""
    where = {planned.trial: planned.block for planned in run.plan.trials}
    stretches: dict[str, set[int]] = {}
    stretch = 0
    for line in run.ledger:
        if line.kind == "run_resumed":
            stretch += 1
        elif line.kind == "attempt_ended" and line.detail.get("final") == "yes":
            stretches.setdefault(where[line.trial], set()).add(stretch)
    return tuple(sorted(block for block, found in stretches.items() if len(found) > 1))


def _not_checked(run: Run) -> Iterator[NotChecked]:
    if run.labels is None:
        yield NotChecked(name="labels", reason="the study has no labels")
