"""Everything after *execute*, computed from the raw evidence alone: records, scores, summary.

The same functions serve a fresh run and a stranger's verification; none of them needs an engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.errors import EvidenceError
from runner.core.outcomes import CONSEQUENCES
from runner.core.summary import Check, ClientIdentity, HarnessIdentity, NotChecked, Pin, ScheduleIdentity
from runner.pipeline.deriving import Trials, model_facts
from runner.pipeline.observing import reconsolidation_of
from runner.pipeline.retrieving import retrieval_of
from runner.summarize.context import ArmFacts, SourceDigests, SummaryContext
from runner.summarize.summary import summarize_table
from runner.summarize.trials import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.collect.attempt import AttemptResult
    from runner.core.canonical import Digest
    from runner.core.errors import Problem
    from runner.core.outcomes import Outcome
    from runner.core.records import Record
    from runner.core.summary import Summary
    from runner.pipeline.folder import Run
    from runner.pipeline.outlets import Outlet
    from runner.pipeline.remaking import Remaker
    from runner.ports.files import Files
    from runner.summarize.facts import Facts


def may_retry(result: AttemptResult) -> bool:
    """Whether another attempt may be made."""
    return CONSEQUENCES[result.outcome].retried


@dataclass
class Doubt:
    """That evidence is what it should be is looked at while it is read."""

    checked: bool
    """Every file of evidence is held against the digest in the ledger."""
    remaker: Remaker
    problems: list[Problem] = field(default_factory=list)
    """Files of attempts that their other evidence doesn't give."""


def compute(run: Run, files: Files, outlet: Outlet, doubt: Doubt | None = None) -> Summary:
    """The summary of `run`; every other document that is computed from it went to where it belongs.

    One trial's evidence is held at a time, and of its record what a summary needs. Where there is `doubt`, what is
    wrong with evidence goes there.

    Raises:
        EvidenceError: something of the run is damaged.
        DoubtfulError: where evidence is checked: some file isn't there as the ledger says.
    """
    if {arm.name for arm in run.study.arms} != set(run.plan.arms):
        raise EvidenceError("the plan's arms are not those of the study", document=layout.PLAN, key="arms")
    trials = (
        Trials.of(run, files) if doubt is None else Trials.of(run, files, checked=doubt.checked, remaker=doubt.remaker)
    )
    records, scores = outlet.sink(layout.RECORDS), outlet.sink(layout.SCORES)
    ends: dict[str, tuple[Outcome, str]] = {}

    def facts() -> Iterator[Facts]:
        for found in trials.concluded(run.plan.trials, run.ledger):
            records.put(found.record)
            scores.put(found.score)
            if doubt is not None:
                doubt.problems += found.problems
            if run.query_sets or run.reconsolidation:
                ends[found.facts.trial] = found.facts.outcome, found.facts.reason
            yield found.facts

    table = tabulate(run.plan, facts())
    retrieval = retrieval_of(run, files, outlet, ends) if run.query_sets else None
    reconsolidation = reconsolidation_of(run, files, outlet, ends) if run.reconsolidation else None
    return summarize_table(context_of(run, records.digest(), scores.digest()), table, retrieval, reconsolidation)


def records_of(run: Run, files: Files) -> Iterator[Record]:
    """The record of every planned trial, in the order of the plan, made when it is asked for."""
    trials = Trials.of(run, files)
    for planned in run.plan.trials:
        yield trials.record(planned, run.ledger.ends_of(planned.trial))


def context_of(run: Run, records: Digest, scores: Digest) -> SummaryContext:
    """What a summary of a run needs beside its plan and the records and scores with these digests."""
    sources = SourceDigests(
        plan=run.input_digest(layout.PLAN),
        lock=run.input_digest(layout.LOCK),
        prices=run.input_digest(layout.PRICES),
        ledger_head=run.ledger_head,
        records=records,
        scores=scores,
    )
    return _context(run, sources)


def _context(run: Run, sources: SourceDigests) -> SummaryContext:
    study, lock = run.study, run.lock
    return SummaryContext(
        description=study.description,
        protocol_version=lock.protocol_version,
        arms=tuple(ArmFacts(arm.name, arm.description, bool(arm.mcp_servers) or arm.sidecar) for arm in study.arms),
        differences=tuple(f"{arm.name}: {line}" for arm in lock.arms for line in arm.difference),
        model=model_facts(run.study, run.lock),
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
        control_first=study.schedule.control_first,
        pins=tuple(_pins(run)),
        checks=_checks(run),
        not_checked=tuple(_not_checked(run)),
    )


def _pins(run: Run) -> Iterator[Pin]:
    for image in run.lock.images:
        yield Pin(kind="image", name=image.name, digest=image.config_digest)
    for name, corpus in sorted(run.lock.corpora.items()):
        yield Pin(kind="corpus", name=name, digest=corpus.tree_sha256)
        yield Pin(kind="index", name=name, digest=corpus.index.archive_sha256)
    for task, queries in sorted(run.lock.query_sets.items()):
        yield Pin(kind="query set", name=task, digest=queries.lock_sha256)
    if run.lock.reconsolidation_sha256:
        yield Pin(kind="reconsolidation corpus", name="manifest", digest=run.lock.reconsolidation_sha256)


def _checks(run: Run) -> tuple[Check, ...]:
    started = {(trial, attempt) for trial, told in run.ledger.trials.items() for attempt in told.started}
    ended = {(trial, attempt) for trial, told in run.ledger.trials.items() for attempt in told.ended}
    open_ended = tuple(sorted(f"{trial} attempt {attempt}" for trial, attempt in started - ended))
    return (
        *(() if run.study.schedule.control_first else (_unbroken(run),)),
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


def _unbroken(run: Run) -> Check:
    broken = _broken_blocks(run)
    return Check(
        name="blocks unbroken",
        claim="The arms of each block ran back to back, with no interruption of the run between them.",
        passed=not broken,
        checked=len({planned.block for planned in run.plan.trials}),
        failed=broken,
    )


def _broken_blocks(run: Run) -> tuple[str, ...]:
    """Blocks of which one arm was done before a resumption of the run, and another after it."""
    stretches: dict[str, set[int]] = {}
    for planned in run.plan.trials:
        told = run.ledger.trials.get(planned.trial)
        if told is not None and told.final_stretches:
            stretches.setdefault(planned.block, set()).update(told.final_stretches)
    return tuple(sorted(block for block, found in stretches.items() if len(found) > 1))


def _not_checked(run: Run) -> Iterator[NotChecked]:
    if run.study.schedule.control_first:
        yield NotChecked(
            name="order effect",
            reason=(
                "Every trial of the control ran before any other arm: what order does can't be told from what the "
                "arms do, and no block ran back to back."
            ),
        )
    if run.labels is None and not run.query_sets and not run.reconsolidation:
        yield NotChecked(name="labels", reason="the study has no labels")
