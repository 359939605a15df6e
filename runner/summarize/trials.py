"""The plan's trials joined with their records and scores, and what makes that join refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from runner.core.errors import EvidenceError, Problem
from runner.core.gates import SHARES
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.prices import FIXTURE_MODEL
from runner.core.quantities import Measured, Unavailable
from runner.core.records import Record, Score, Timing
from runner.core.usage import TOKEN_CLASSES
from runner.summarize.measures import MEASURES, Reading, Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.core.outcomes import Consequence
    from runner.core.plan import Plan, PlannedTrial
    from runner.summarize.context import SummaryContext

D = TypeVar("D", Record, Score)

# Integers beyond this lose digits in other readers of JSON (RFC 8785).
_MOST = 2**53 - 1
_PLACE = ("block", "task", "arm", "repetition", "position", "sequence")


@dataclass(frozen=True)
class Trial:
    """One planned trial with everything that is known of it."""

    planned: PlannedTrial
    source: Source
    readings: Mapping[str, Reading]
    recorded: bool

    @property
    def record(self) -> Record:
        """Its record; one that says `not_run` when there is none."""
        return self.source.record

    @property
    def consequence(self) -> Consequence:
        """What follows from its outcome."""
        return CONSEQUENCES[self.record.outcome]


@dataclass(frozen=True)
class Block:
    """All arms of one task and repetition."""

    name: str
    task: str
    repetition: int
    trials: Mapping[str, Trial]

    @property
    def complete(self) -> bool:
        """Every arm ended in a way that may stand in a pair."""
        return all(trial.consequence.in_pairs for trial in self.trials.values())

    def faults(self) -> tuple[str, ...]:
        """Which arms keep the block from being complete, and how they ended."""
        return tuple(
            f"{arm} ended {trial.record.outcome}"
            for arm, trial in self.trials.items()
            if not trial.consequence.in_pairs
        )


def join_trials(
    context: SummaryContext, plan: Plan, records: Iterable[Record], scores: Iterable[Score]
) -> tuple[Trial, ...]:
    """Every planned trial, in the order of the plan, whatever the order of records and scores.

    Raises:
        EvidenceError: a record or score is of no planned trial, stands twice, or contradicts the plan, the price table
            or the kind of evidence; all of them at once.
    """
    planned = {trial.trial: trial for trial in plan.trials}
    problems: list[Problem] = []
    by_trial = _unique(records, planned, "records.jsonl", problems)
    scored = _unique(scores, planned, "scores.jsonl", problems)
    trials: list[Trial] = []
    for name, place in planned.items():
        record = by_trial.get(name)
        score = scored.get(name) or Unavailable("the trial has no score")
        source = source_of(record or _not_run(place), score, context.prices, context.model.asked)
        if record is not None:
            problems.extend(_contradictions(place, record, context))
        problems.extend(_foreign_price(source))
        readings = {measure.name: measure.read(source) for measure in MEASURES}
        problems.extend(_absurd(name, readings))
        trials.append(Trial(place, source, readings, record is not None))
    problems.extend(_unequal_labels(trials))
    if problems:
        raise EvidenceError.of(problems)
    return tuple(trials)


def blocks_of(trials: tuple[Trial, ...], arms: tuple[str, ...]) -> tuple[Block, ...]:
    """The blocks in the order of the plan, each with its arms in the order of `arms`."""
    grouped: dict[str, list[Trial]] = {}
    for trial in trials:
        grouped.setdefault(trial.planned.block, []).append(trial)
    return tuple(
        Block(
            name,
            members[0].planned.task,
            members[0].planned.repetition,
            {arm: trial for arm in arms for trial in members if trial.planned.arm == arm},
        )
        for name, members in grouped.items()
    )


def _unique(
    documents: Iterable[D], planned: Mapping[str, PlannedTrial], document: str, problems: list[Problem]
) -> dict[str, D]:
    found: dict[str, D] = {}
    for item in documents:
        if item.trial not in planned:
            problems.append(Problem("the plan has no such trial", document, item.trial))
        elif item.trial in found:
            problems.append(Problem("stands twice", document, item.trial))
        else:
            found[item.trial] = item
    return found


def _contradictions(place: PlannedTrial, record: Record, context: SummaryContext) -> Iterator[Problem]:
    for name in _PLACE:
        said, meant = getattr(record, name), getattr(place, name)
        if said != meant:
            yield Problem(f"{name} is {said!r}; the plan says {meant!r}", "records.jsonl", record.trial)
    for last in record.attempts[-1:]:
        for name in ("outcome", "observed", "observed_memory"):
            if getattr(last, name) != getattr(record, name):
                yield Problem(f"{name} of the last attempt is not that of the trial", "records.jsonl", record.trial)
    for model in sorted(_claimed_models(record)):
        if context.model.scripted != (model == FIXTURE_MODEL):
            yield Problem(
                f"model {model!r} answered in mode {context.model.mode!r}",
                "records.jsonl",
                record.trial,
                f"a scripted run names {FIXTURE_MODEL!r}, and no other run does",
            )


def _claimed_models(record: Record) -> set[str]:
    """Models that are said to have used tokens; where nothing is known, as after a loss, nothing is claimed."""
    attempted = (usage for attempt in record.attempts for usage in (*attempt.observed, *attempt.observed_memory))
    return {
        usage.model
        for usage in (*record.observed, *record.observed_memory, *attempted)
        if any(isinstance(usage.tokens(name), Measured) for name in TOKEN_CLASSES)
    }


def _foreign_price(source: Source) -> Iterator[Problem]:
    score, cost = source.score, source.client_cost_microusd
    if isinstance(score, Unavailable) or isinstance(score.cost_microusd, Unavailable) or isinstance(cost, Unavailable):
        return
    if score.cost_microusd != cost:
        yield Problem(
            f"cost is {score.cost_microusd.value} micro-dollars; the price table gives {cost.value}",
            "scores.jsonl",
            score.trial,
            "scores and summary must use one price table",
        )


def _absurd(trial: str, readings: Mapping[str, Reading]) -> Iterator[Problem]:
    """Nothing that is measured can be less than nothing, more than there is, or beyond what readers of JSON hold."""
    for name, reading in readings.items():
        if not isinstance(reading.value, Measured):
            continue
        value = reading.value.value
        if value < 0 or value > _MOST:
            yield Problem(f"{name} is {value}, which nothing can be", "records.jsonl", trial)
        elif name in SHARES and value > reading.out_of:
            yield Problem(f"{name} is {value}, out of {reading.out_of}", "scores.jsonl", trial)


def _unequal_labels(trials: list[Trial]) -> Iterator[Problem]:
    """Trials of one task have the same labels, so what a share is out of can't differ between them."""
    first: dict[tuple[str, str], int] = {}
    for trial in trials:
        if isinstance(trial.source.score, Unavailable):
            continue
        for measure in MEASURES:
            out_of = trial.readings[measure.name].out_of
            meant = first.setdefault((trial.planned.task, measure.name), out_of)
            if out_of != meant:
                yield Problem(
                    f"{measure.name} is out of {out_of}; another trial of the task says {meant}",
                    "scores.jsonl",
                    trial.planned.trial,
                )


def _not_run(place: PlannedTrial) -> Record:
    nothing = Unavailable("the trial was not run")
    return Record(
        trial=place.trial,
        block=place.block,
        task=place.task,
        arm=place.arm,
        repetition=place.repetition,
        position=place.position,
        sequence=place.sequence,
        outcome=Outcome.NOT_RUN,
        reason="no record of it exists",
        attempts=(),
        answer="",
        observed=(),
        observed_memory=(),
        reported=(),
        reported_cost_microusd=nothing,
        turns=nothing,
        tool_calls=(),
        memory_calls=0,
        sidecar_requests=0,
        timing=Timing(
            wall_ms=nothing,
            startup_ms=nothing,
            model_ms=nothing,
            working_ms=nothing,
            pod_ms=nothing,
            user_cpu_ms=nothing,
            system_cpu_ms=nothing,
            peak_rss_bytes=nothing,
        ),
        client_versions=(),
        findings=(),
    )
