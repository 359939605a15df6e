"""Synthetic runs: a plan with its records, scores and context, for whoever tests what comes after collection.

Figures follow from digests of names, so a run is the same everywhere and every trial differs from every other one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.core.canonical import Digest, canonical_lines, sha256_digest
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.plan import Plan, PlannedTrial, make_plan
from runner.core.prices import FIXTURE_MODEL, LIST_PRICES, list_cost_microusd
from runner.core.quantities import Measured, Unavailable
from runner.core.records import AttemptRecord, Finding, Record, Score, Timing, ToolCalls
from runner.core.summary import Check, ClientIdentity, HarnessIdentity, NotChecked, Pin, ScheduleIdentity
from runner.core.usage import ModelUsage
from runner.summarize.context import ArmFacts, ModelFacts, SourceDigests, SummaryContext

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PRICE_MODEL = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Run:
    """Everything that a summary is computed from."""

    context: SummaryContext
    plan: Plan
    records: tuple[Record, ...]
    scores: tuple[Score, ...]

    def with_records(self, changed: Mapping[str, Record]) -> Run:
        """The run with some trials' records exchanged; documents' digests are left alone."""
        return replace(self, records=tuple(changed.get(record.trial, record) for record in self.records))

    def with_scores(self, changed: Mapping[str, Score]) -> Run:
        """The run with some trials' scores exchanged."""
        return replace(self, scores=tuple(changed.get(score.trial, score) for score in self.scores))


@dataclass(frozen=True)
class Usage:
    """What one trial uses, in round terms."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read: int
    cache_write: int
    wall_ms: int
    memory_calls: int
    references_found: int
    diagnostic_found: int


@dataclass(frozen=True)
class RunSpec:
    """Which run to make."""

    tasks: Sequence[str] = field(default_factory=lambda: [f"task-{number:02}" for number in range(1, 13)])
    repetitions: int = 2
    arms: Sequence[str] = ("off", "memory")
    seed: str = "synthetic 1"
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """Trial -> its end; the others complete."""
    usages: Mapping[str, Usage] = field(default_factory=dict)
    """Trial -> what it uses; the others by digest."""
    inert: frozenset[str] = frozenset()
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    retried: frozenset[str] = frozenset()
    """Trials whose first attempt ended with an infrastructure failure."""


def drawn(name: str, low: int, high: int) -> int:
    """A number in [low, high] that follows from `name` alone."""
    return low + int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % (high - low + 1)


def make_run(spec: RunSpec | None = None) -> Run:
    """The run that `spec` describes."""
    spec = spec or RunSpec()
    plan = make_plan(
        study="synthetic",
        seed=spec.seed,
        control=spec.arms[0],
        arms=spec.arms,
        tasks=spec.tasks,
        repetitions=spec.repetitions,
    )
    usages = {trial.trial: spec.usages.get(trial.trial) or drawn_usage(trial, spec) for trial in plan.trials}
    records = tuple(make_record(trial, usages[trial.trial], spec) for trial in plan.trials)
    scores = tuple(make_score(record, usages[record.trial]) for record in records)
    return Run(make_context(spec, plan, records, scores), plan, records, scores)


def drawn_usage(trial: PlannedTrial, spec: RunSpec) -> Usage:
    """Figures like those of a small study: the memory saves reading, on some tasks more than on others."""
    memory = trial.arm != spec.arms[0]
    size = drawn(f"size {trial.task}", 60, 240)
    saved = drawn(f"saved {trial.task} {trial.arm}", 15, 70) if memory else 0
    noise = drawn(f"noise {trial.trial}", 90, 110)
    work = size * (100 - saved) * noise // 10_000
    return Usage(
        requests=2 + work // 30,
        input_tokens=400 + 11 * work,
        output_tokens=150 + 3 * work,
        cache_read=9_000 + 310 * work,
        cache_write=3_000 + 45 * work,
        wall_ms=1_100 + 9 * work + (350 if memory else 0),
        memory_calls=0 if not memory or trial.trial in spec.inert else 1 + work // 90,
        references_found=drawn(f"references {trial.trial}", 1, 3)
        if memory
        else drawn(f"references {trial.trial}", 0, 3),
        diagnostic_found=drawn(f"diagnostic {trial.trial}", 1, 2),
    )


def make_record(trial: PlannedTrial, usage: Usage, spec: RunSpec) -> Record:
    """The record of one trial."""
    outcome = spec.outcomes.get(trial.trial, Outcome.COMPLETED)
    ran = outcome not in {Outcome.NOT_RUN, Outcome.INFRASTRUCTURE, Outcome.SIDECAR_FAILED, Outcome.GATEWAY_FAILED}
    observed = (model_usage(FIXTURE_MODEL, usage),) if ran else ()
    reason = "" if outcome is Outcome.COMPLETED else CONSEQUENCES[outcome].meaning
    attempts = [_attempt(1, Outcome.INFRASTRUCTURE, ())] if trial.trial in spec.retried else []
    if outcome is not Outcome.NOT_RUN:
        attempts.append(_attempt(len(attempts) + 1, outcome, observed))
    cost = list_cost_microusd(observed, LIST_PRICES, PRICE_MODEL)
    completed = outcome is Outcome.COMPLETED
    nothing = Unavailable("the client gave no result")
    return Record(
        trial=trial.trial,
        block=trial.block,
        task=trial.task,
        arm=trial.arm,
        repetition=trial.repetition,
        position=trial.position,
        sequence=trial.sequence,
        outcome=outcome,
        reason=reason,
        attempts=tuple(attempts),
        answer=f"The answer to {trial.task}." if completed else "",
        observed=observed,
        observed_memory=(),
        reported=(model_usage(PRICE_MODEL, usage),) if completed else (),
        reported_cost_microusd=cost if completed else nothing,
        turns=Measured(usage.requests) if completed else nothing,
        tool_calls=_tools(usage) if ran else (),
        memory_calls=usage.memory_calls if ran else 0,
        sidecar_requests=2 * usage.memory_calls if ran else 0,
        timing=make_timing(usage, ran=ran),
        client_versions=("2.1.332",) if ran else (),
        findings=tuple(spec.findings.get(trial.trial, ())),
    )


def make_score(record: Record, usage: Usage) -> Score:
    """The score of one record: three reference passages, two files and two checks a task."""
    completed = record.outcome is Outcome.COMPLETED
    unscored = Unavailable(f"the trial ended {record.outcome}")
    return Score(
        trial=record.trial,
        cost_microusd=list_cost_microusd(record.observed, LIST_PRICES, PRICE_MODEL) if record.observed else unscored,
        references_found=Measured(usage.references_found) if completed else unscored,
        references_total=3,
        reference_files_found=Measured(min(2, usage.references_found)) if completed else unscored,
        reference_files_total=2,
        diagnostic_found=Measured(usage.diagnostic_found) if completed else unscored,
        diagnostic_total=2,
    )


def model_usage(model: str, usage: Usage) -> ModelUsage:
    """`usage` as the tokens of one model."""
    return ModelUsage(
        model=model,
        requests=usage.requests,
        input_tokens=Measured(usage.input_tokens),
        output_tokens=Measured(usage.output_tokens),
        cache_read_input_tokens=Measured(usage.cache_read),
        cache_write_5m_input_tokens=Measured(usage.cache_write),
        cache_write_1h_input_tokens=Measured(0),
    )


def make_timing(usage: Usage, *, ran: bool) -> Timing:
    """Where the time went; unavailable when nothing ran."""

    def known(value: int) -> Measured[int] | Unavailable:
        return Measured(value) if ran else Unavailable("the client never started")

    return Timing(
        wall_ms=known(usage.wall_ms),
        startup_ms=known(700 + usage.wall_ms // 20),
        model_ms=known(usage.requests * 12),
        working_ms=known(max(0, usage.wall_ms - usage.requests * 12)),
        pod_ms=known(usage.wall_ms + 900),
        user_cpu_ms=known(400),
        system_cpu_ms=known(120),
        peak_rss_bytes=known(140_000_000),
    )


def make_context(spec: RunSpec, plan: Plan, records: Sequence[Record], scores: Sequence[Score]) -> SummaryContext:
    """The context of a scripted run."""
    control, *treatments = spec.arms
    return SummaryContext(
        description="Questions about two public packages, with and without a memory of the same files.",
        protocol_version="1",
        arms=(
            ArmFacts(control, "The client with Read, Grep and Glob, and nothing else.", memory=False),
            *(
                ArmFacts(name, "The same, and an MCP memory that holds passages of the same files.", memory=True)
                for name in treatments
            ),
        ),
        differences=tuple(
            line
            for name in treatments
            for line in (
                f"{name}: MCP server memory: python3 /opt/pairbench/memory/main.py",
                f"{name}: allowed tools: mcp__memory__memory_search, mcp__memory__memory_get",
                f"{name}: joined to the network namespace of its Qdrant sidecar",
            )
        ),
        model=ModelFacts("scripted", "plain-agent 1", PRICE_MODEL),
        client=ClientIdentity(name="claude-code", version="2.1.332"),
        harness=HarnessIdentity(version="0.1.0", digest=labelled("harness")),
        schedule=ScheduleIdentity(slots=1, preparation="overlap", attempts=2),
        prices=LIST_PRICES,
        sources=SourceDigests(
            plan=plan.digest(),
            lock=labelled("lock"),
            prices=LIST_PRICES.digest(),
            ledger_head=labelled("ledger"),
            records=sha256_digest(canonical_lines(record.json_value() for record in records)),
            scores=sha256_digest(canonical_lines(score.json_value() for score in scores)),
        ),
        pins=(
            Pin(kind="image", name="trial", digest=labelled("image trial")),
            Pin(kind="image", name="gateway", digest=labelled("image gateway")),
            Pin(kind="corpus", name="h11", digest=labelled("corpus h11")),
        ),
        checks=(
            Check(
                name="ledger",
                claim="Every entry of the ledger follows from the one before it.",
                passed=True,
                checked=3 * len(records),
                failed=(),
            ),
        ),
        not_checked=(NotChecked(name="second machine", reason="The run was made on one host."),),
    )


def labelled(name: str) -> Digest:
    """A digest that follows from `name`."""
    return sha256_digest(name.encode())


def _attempt(number: int, outcome: Outcome, observed: tuple[ModelUsage, ...]) -> AttemptRecord:
    reason = "" if outcome is Outcome.COMPLETED else CONSEQUENCES[outcome].meaning
    return AttemptRecord(number=number, outcome=outcome, reason=reason, observed=observed, evidence={})


def _tools(usage: Usage) -> tuple[ToolCalls, ...]:
    tools = [ToolCalls(name="Grep", calls=usage.requests // 2, errors=0)]
    tools.append(ToolCalls(name="Read", calls=usage.requests - usage.requests // 2 - 1, errors=0))
    if usage.memory_calls:
        tools.append(ToolCalls(name="mcp__memory__memory_search", calls=usage.memory_calls, errors=0))
    return tuple(tools)
