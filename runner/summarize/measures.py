"""What is measured of a trial: one table, and what each entry reads from a record, its score and its costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from runner.core.gates import AMOUNT_SCALE
from runner.core.prices import list_cost_microusd, unknown_usage, unpriced_models
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM
from runner.core.usage import TOKEN_CLASSES, all_tokens, class_total

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.prices import PriceTable
    from runner.core.records import Record, Score
    from runner.core.usage import ModelUsage


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure of one trial, out of how many: an amount is out of 1 (trial), a share out of its labelled total."""

    value: Quantity
    out_of: int = 1


@dataclass(frozen=True, slots=True)
class Source:
    """What readings of one trial are taken from."""

    record: Record
    score: Score | Unavailable
    cost_microusd: Quantity
    """Of client and memory together, rounded once: it may be one beside the sum of the two below."""
    client_cost_microusd: Quantity
    memory_cost_microusd: Quantity
    unpriced: tuple[str, ...]
    """Models that the client used and the price table doesn't have."""
    unobserved: Unavailable | None
    """Why the record's empty usage isn't zero usage; None when it can be taken as it is."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One entry of the table."""

    name: str
    label: str
    unit: str
    group: str
    read: Callable[[Source], Reading]
    kind: Literal["amount", "share"] = "amount"

    @property
    def scale(self) -> int:
        """Derived figures are in units of 1/scale."""
        return AMOUNT_SCALE if self.kind == "amount" else PPM


def source_of(record: Record, score: Score | Unavailable, prices: PriceTable, price_model: str) -> Source:
    """The source of `record`'s readings, its usage priced."""
    unknown = unobserved(record)
    return Source(
        record,
        score,
        unknown or list_cost_microusd((*record.observed, *record.observed_memory), prices, price_model),
        unknown or list_cost_microusd(record.observed, prices, price_model),
        unknown or list_cost_microusd(record.observed_memory, prices, price_model),
        unpriced_models(record.observed, prices, price_model),
        unknown,
    )


def unobserved(record: Record) -> Unavailable | None:
    """Why the record's empty usage isn't zero usage; None when it can be taken as it is."""
    return unknown_usage(record.outcome, (*record.observed, *record.observed_memory))


def counted_as_failure(measure: Measure, reading: Reading) -> Reading:
    """How a failed trial counts: an amount at what was observed, a share with nothing found."""
    if measure.kind == "share" and reading.out_of > 0:
        return Reading(Measured(0), reading.out_of)
    return reading


def _amount(name: str, label: str, unit: str, group: str, read: Callable[[Source], Quantity]) -> Measure:
    return Measure(name, label, unit, group, lambda source: Reading(read(source)))


def _observed(read: Callable[[tuple[ModelUsage, ...]], Quantity]) -> Callable[[Source], Quantity]:
    def reading(source: Source) -> Quantity:
        return source.unobserved or read(source.record.observed)

    return reading


def _token_class(token_class: str, label: str) -> Measure:
    def read(usages: tuple[ModelUsage, ...]) -> Quantity:
        return class_total(usages, token_class)

    return _amount(token_class, label, "tokens", "tokens", _observed(read))


def _memory_tokens(source: Source) -> Quantity:
    return source.unobserved or all_tokens(source.record.observed_memory)


def _requests(usages: tuple[ModelUsage, ...]) -> Quantity:
    return Measured(sum(usage.requests for usage in usages))


def _reported_tokens(source: Source) -> Quantity:
    if not source.record.reported:
        return Unavailable("the client reported no usage")
    return all_tokens(source.record.reported)


def _share(name: str, label: str, found: str, out_of: str) -> Measure:
    def read(source: Source) -> Reading:
        if isinstance(source.score, Unavailable):
            return Reading(source.score, 0)
        labelled = int(getattr(source.score, out_of))
        if labelled == 0:
            return Reading(Unavailable("the task has no such label"), 0)
        return Reading(getattr(source.score, found), labelled)

    return Measure(name, label, "found", "references", read, "share")


_TOKEN_LABELS: Final = dict(
    zip(
        TOKEN_CLASSES,
        (
            "Input tokens, uncached",
            "Output tokens",
            "Cache-read tokens",
            "Cache-write tokens, 5 m",
            "Cache-write tokens, 1 h",
        ),
        strict=True,
    )
)

MEASURES: Final[tuple[Measure, ...]] = (
    _amount(
        "cost_microusd",
        "Cost at list price",
        "microusd",
        "cost",
        lambda source: source.cost_microusd,
    ),
    _amount(
        "client_cost_microusd",
        "Cost of the client's model requests",
        "microusd",
        "cost",
        lambda source: source.client_cost_microusd,
    ),
    _amount(
        "memory_cost_microusd",
        "Cost of the memory's model requests",
        "microusd",
        "cost",
        lambda source: source.memory_cost_microusd,
    ),
    _amount(
        "reported_cost_microusd",
        "Cost as the client reports it",
        "microusd",
        "cost",
        lambda source: source.record.reported_cost_microusd,
    ),
    _amount("total_tokens", "Tokens, all classes", "tokens", "tokens", _observed(all_tokens)),
    *(_token_class(name, label) for name, label in _TOKEN_LABELS.items()),
    _amount("reported_total_tokens", "Tokens as the client reports them", "tokens", "tokens", _reported_tokens),
    _amount(
        "memory_total_tokens",
        "Tokens of the memory's model requests",
        "tokens",
        "tokens",
        _memory_tokens,
    ),
    _amount("wall_ms", "Wall time, start-up included", "ms", "time", lambda source: source.record.timing.wall_ms),
    _amount(
        "startup_ms", "Start-up, to first model request", "ms", "time", lambda source: source.record.timing.startup_ms
    ),
    _amount("model_ms", "Time in model requests", "ms", "time", lambda source: source.record.timing.model_ms),
    _amount(
        "working_ms",
        "Working time, outside model requests",
        "ms",
        "time",
        lambda source: source.record.timing.working_ms,
    ),
    _amount("model_requests", "Model requests", "requests", "work", _observed(_requests)),
    _amount("turns", "Turns", "turns", "work", lambda source: source.record.turns),
    _amount(
        "tool_calls",
        "Tool calls, memory's included",
        "calls",
        "work",
        lambda source: Measured(sum(tool.calls for tool in source.record.tool_calls)),
    ),
    _amount(
        "memory_calls", "Calls of the memory", "calls", "work", lambda source: Measured(source.record.memory_calls)
    ),
    _share("references", "Reference passages cited", "references_found", "references_total"),
    _share("reference_files", "Reference files cited", "reference_files_found", "reference_files_total"),
    _share("diagnostic", "Diagnostic coverage (lexical, not quality)", "diagnostic_found", "diagnostic_total"),
)

TIMED_HEADLINE: Final = ("wall_ms",)
"""As below, of a study without a model: its rankings have a section of their own."""
HEADLINE: Final = ("cost_microusd", "total_tokens", "wall_ms", "references")
"""What a reader sees first; fixed here, before any run, so that no run chooses its own best figure."""
