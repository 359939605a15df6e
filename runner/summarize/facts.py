"""Everything that a summary takes of one trial: figures and short texts, and nothing of its record but those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from runner.core.errors import Problem
from runner.core.findings import FindingKind
from runner.core.gates import SHARES
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.prices import FIXTURE_END, PriceTable, known_cost_microusd, list_cost_microusd, unknown_usage
from runner.core.quantities import Measured, Quantity, Unavailable, total
from runner.core.records import NOT_CAPPED, Record, Timing
from runner.core.usage import INPUT_CLASSES, TOKEN_CLASSES, all_tokens, class_total
from runner.summarize.measures import MEASURES, TIMED_HEADLINE, Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.core.outcomes import Consequence
    from runner.core.plan import PlannedTrial
    from runner.core.records import AttemptRecord, Score
    from runner.core.usage import ModelUsage
    from runner.summarize.context import ModelFacts

Figure: TypeAlias = "int | str"
"""A quantity as briefly as it can be held: its value, or the reason why there is none."""

# Integers beyond this lose digits in other readers of JSON (RFC 8785).
_MOST: Final = 2**53 - 1
_NO_MODEL: Final = "there is no model"
_PLACE: Final = ("block", "task", "arm", "repetition", "position", "sequence")
# Both figures are rounded to whole micro-dollars, the client's from a float of dollars: the same cost may come out one
# apart.
_COST_TOLERANCE_MICROUSD: Final = 1


@dataclass(frozen=True, slots=True)
class UsedModel:
    """What one model used in a trial, as the gateway observed it."""

    model: str
    requests: int
    tokens: tuple[Figure, ...]
    """By class, in the order of `TOKEN_CLASSES`."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What all attempts of a trial used."""

    tokens: int
    cost_microusd: int
    memory_tokens: int
    memory_cost_microusd: int
    without_tokens: int
    """Attempts of which some tokens aren't known."""
    without_cost: int
    charged_microusd: int
    """What is known to count against the caps."""
    without_charge: int
    capped: int
    """Attempts that kept to a cap."""


_NONE: Final = Spent(0, 0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Facts:
    """One planned trial."""

    trial: str
    recorded: bool
    scored: bool
    outcome: Outcome
    reason: str
    attempts: int
    figures: tuple[Figure, ...]
    """Its readings, in the order of `MEASURES`."""
    out_of: tuple[int, ...]
    """What each of them is out of."""
    problems: tuple[Problem, ...]
    """Why no summary can hold it."""
    findings: tuple[tuple[str, str], ...]
    """Kind and detail."""
    client_models: tuple[UsedModel, ...]
    memory_models: tuple[UsedModel, ...]
    tools: tuple[tuple[str, int, int], ...]
    """Name, calls, errors."""
    client_versions: tuple[str, ...]
    memory_calls: int
    sidecar_requests: int
    cache_read_tokens: Figure
    input_side_tokens: Figure
    pod_ms: Figure
    priced: bool
    """Its score has a cost."""
    agrees: bool | None
    """Whether the client reports the tokens that the gateway observed; None where it reports none."""
    spent: Spent

    @property
    def consequence(self) -> Consequence:
        """What follows from its outcome."""
        return CONSEQUENCES[self.outcome]


def facts_of(
    place: PlannedTrial, found: Record | None, score: Score | Unavailable, prices: PriceTable, model: ModelFacts
) -> Facts:
    """What a summary takes of the trial at `place`, of which a record was `found` or none."""
    record = found or _not_run(place)
    source = source_of(record, score, prices, model.asked)
    readings = [measure.read(source) for measure in MEASURES]
    figures = tuple(figure(reading.value) for reading in readings)
    if not model.exists:
        # Nobody asked anything, which isn't to have used nothing.
        timed = zip(MEASURES, figures, strict=True)
        figures = tuple(known if measure.name in TIMED_HEADLINE else _NO_MODEL for measure, known in timed)
    out_of = tuple(reading.out_of for reading in readings)
    input_side = total([class_total(record.observed, name) for name in INPUT_CLASSES])
    return Facts(
        trial=place.trial,
        recorded=found is not None,
        scored=not isinstance(score, Unavailable),
        outcome=record.outcome,
        reason=record.reason,
        attempts=len(record.attempts),
        figures=figures,
        out_of=out_of,
        problems=(
            *(() if found is None else _contradictions(place, found, model)),
            *_foreign_price(source),
            *_absurd(place.trial, figures, out_of),
        ),
        findings=tuple(_findings(source)),
        client_models=tuple(map(_used, record.observed)),
        memory_models=tuple(map(_used, record.observed_memory)),
        tools=tuple((tool.name, tool.calls, tool.errors) for tool in record.tool_calls),
        client_versions=record.client_versions,
        memory_calls=record.memory_calls,
        sidecar_requests=record.sidecar_requests,
        cache_read_tokens=figure(class_total(record.observed, "cache_read_input_tokens")),
        input_side_tokens=figure(input_side),
        pod_ms=figure(record.timing.pod_ms),
        priced=not isinstance(score, Unavailable) and isinstance(score.cost_microusd, Measured),
        agrees=_agrees(record) if record.reported else None,
        spent=_spent(record.attempts, prices, model.asked),
    )


def figure(quantity: Quantity) -> Figure:
    """`quantity`, briefly."""
    return quantity.value if isinstance(quantity, Measured) else quantity.reason


def _used(usage: ModelUsage) -> UsedModel:
    return UsedModel(usage.model, usage.requests, tuple(figure(usage.tokens(name)) for name in TOKEN_CLASSES))


def _contradictions(place: PlannedTrial, record: Record, model: ModelFacts) -> Iterator[Problem]:
    for name in _PLACE:
        said, meant = getattr(record, name), getattr(place, name)
        if said != meant:
            yield Problem(f"{name} is {said!r}; the plan says {meant!r}", "records.jsonl", record.trial)
    for last in record.attempts[-1:]:
        for name in ("outcome", "observed", "observed_memory"):
            if getattr(last, name) != getattr(record, name):
                yield Problem(f"{name} of the last attempt is not that of the trial", "records.jsonl", record.trial)
    for claimed in sorted(_claimed_models(record)):
        if model.scripted != claimed.endswith(FIXTURE_END):
            yield Problem(
                f"model {claimed!r} answered in mode {model.mode!r}",
                "records.jsonl",
                record.trial,
                f"a scripted run names models that end in {FIXTURE_END!r}, and no other run does",
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


def _absurd(trial: str, figures: tuple[Figure, ...], out_of: tuple[int, ...]) -> Iterator[Problem]:
    """Nothing that is measured can be less than nothing, more than there is, or beyond what readers of JSON hold."""
    for measure, value, whole in zip(MEASURES, figures, out_of, strict=True):
        if isinstance(value, str):
            continue
        if value < 0 or value > _MOST:
            yield Problem(f"{measure.name} is {value}, which nothing can be", "records.jsonl", trial)
        elif measure.name in SHARES and value > whole:
            yield Problem(f"{measure.name} is {value}, out of {whole}", "scores.jsonl", trial)


def _findings(source: Source) -> Iterator[tuple[str, str]]:
    """Findings of the record, completed with the price that only a summary knows, and those that only it can make."""
    computed = _amount(source.client_cost_microusd)
    for finding in source.record.findings:
        guessed = finding.kind == FindingKind.COST_GUESSED
        yield finding.kind, f"{finding.detail}; list price gives {computed}" if guessed else finding.detail
    reported = source.record.reported_cost_microusd
    if isinstance(reported, Unavailable) or not source.record.observed:
        return
    said = f"the client reports {_amount(reported)}; list price gives {computed}"
    if isinstance(source.client_cost_microusd, Unavailable):
        if source.unpriced:
            yield FindingKind.COST_GUESSED, said
    elif abs(reported.value - source.client_cost_microusd.value) > _COST_TOLERANCE_MICROUSD:
        yield FindingKind.COST_DISAGREES, said


def _amount(cost: Quantity) -> str:
    return f"{cost.value} micro-dollars" if isinstance(cost, Measured) else f"none: {cost.reason}"


def _agrees(record: Record) -> bool:
    pairs = [(class_total(record.observed, name), class_total(record.reported, name)) for name in TOKEN_CLASSES]
    return all(
        seen.value == said.value for seen, said in pairs if isinstance(seen, Measured) and isinstance(said, Measured)
    )


def _spent(attempts: tuple[AttemptRecord, ...], prices: PriceTable, price_model: str) -> Spent:
    """What is known of each attempt counts, the input of an answer that was cut too; nothing is guessed."""
    parts = [_spent_in(attempt, prices, price_model) for attempt in attempts]
    return (
        parts[0] if len(parts) == 1 else Spent(*map(sum, zip(*map(_numbers, parts), strict=True))) if parts else _NONE
    )


def _numbers(spent: Spent) -> tuple[int, ...]:
    return (
        spent.tokens,
        spent.cost_microusd,
        spent.memory_tokens,
        spent.memory_cost_microusd,
        spent.without_tokens,
        spent.without_cost,
        spent.charged_microusd,
        spent.without_charge,
        spent.capped,
    )


def _spent_in(attempt: AttemptRecord, prices: PriceTable, price_model: str) -> Spent:
    usages = (*attempt.observed, *attempt.observed_memory)
    unknown = unknown_usage(attempt.outcome, usages)
    tokens = unknown or all_tokens(usages)
    cost = unknown or list_cost_microusd(usages, prices, price_model)
    known = known_cost_microusd
    charged = attempt.charged_microusd
    capped = charged != NOT_CAPPED
    return Spent(
        tokens=tokens.value if isinstance(tokens, Measured) else _known_tokens(usages),
        cost_microusd=cost.value if isinstance(cost, Measured) else known(usages, prices, price_model),
        memory_tokens=_known_tokens(attempt.observed_memory),
        memory_cost_microusd=known(attempt.observed_memory, prices, price_model),
        without_tokens=int(isinstance(tokens, Unavailable)),
        without_cost=int(isinstance(cost, Unavailable)),
        charged_microusd=charged.value if isinstance(charged, Measured) else 0,
        without_charge=int(capped and isinstance(charged, Unavailable)),
        capped=int(capped),
    )


def _known_tokens(usages: Iterable[ModelUsage]) -> int:
    counts = [usage.tokens(name) for usage in usages for name in TOKEN_CLASSES]
    return sum(count.value for count in counts if isinstance(count, Measured))


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
