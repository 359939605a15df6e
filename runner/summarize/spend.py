"""What a run used in all: every attempt, also of trials that no figure counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.prices import PriceTable, known_cost_microusd, list_cost_microusd, unknown_usage
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.summary import Spend
from runner.core.usage import TOKEN_CLASSES, all_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.core.records import AttemptRecord
    from runner.core.usage import ModelUsage
    from runner.summarize.trials import Trial


def spend_of_all_attempts(
    trials: tuple[Trial, ...], arms: tuple[str, ...], prices: PriceTable, price_model: str
) -> tuple[Spend, ...]:
    """Tokens and list price of every attempt by arm.

    What is known of an attempt counts, the input of an answer that was cut too; attempts of which something isn't known
    are counted, and nothing is guessed.
    """
    return tuple(_of_arm(arm, trials, prices, price_model) for arm in arms)


def _of_arm(arm: str, trials: tuple[Trial, ...], prices: PriceTable, price_model: str) -> Spend:
    records = [trial.record for trial in trials if trial.planned.arm == arm]
    attempts = [attempt for record in records for attempt in record.attempts]

    def cost(usages: Iterable[ModelUsage]) -> int:
        return known_cost_microusd(usages, prices, price_model)

    return Spend(
        arm=arm,
        trials=len(records),
        attempts=len(attempts),
        repeated=sum(max(0, len(record.attempts) - 1) for record in records),
        tokens=sum(_known_tokens(_usages(attempt)) for attempt in attempts),
        cost_microusd=sum(cost(_usages(attempt)) for attempt in attempts),
        memory_tokens=sum(_known_tokens(attempt.observed_memory) for attempt in attempts),
        memory_cost_microusd=sum(cost(attempt.observed_memory) for attempt in attempts),
        attempts_without_tokens=sum(isinstance(_tokens(attempt), Unavailable) for attempt in attempts),
        attempts_without_cost=sum(isinstance(_cost(attempt, prices, price_model), Unavailable) for attempt in attempts),
    )


def _usages(attempt: AttemptRecord) -> tuple[ModelUsage, ...]:
    return (*attempt.observed, *attempt.observed_memory)


def _known_tokens(usages: Iterable[ModelUsage]) -> int:
    counts = [usage.tokens(name) for usage in usages for name in TOKEN_CLASSES]
    return sum(count.value for count in counts if isinstance(count, Measured))


def _tokens(attempt: AttemptRecord) -> Quantity:
    usages = _usages(attempt)
    return unknown_usage(attempt.outcome, usages) or all_tokens(usages)


def _cost(attempt: AttemptRecord, prices: PriceTable, price_model: str) -> Quantity:
    usages = _usages(attempt)
    return unknown_usage(attempt.outcome, usages) or list_cost_microusd(usages, prices, price_model)
