"""What a run used in all: every attempt, also of trials that no figure counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.prices import PriceTable, list_cost_microusd, unknown_usage
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.summary import Spend
from runner.core.usage import all_tokens

if TYPE_CHECKING:
    from runner.core.records import AttemptRecord
    from runner.summarize.trials import Trial


def spend_of_all_attempts(
    trials: tuple[Trial, ...], arms: tuple[str, ...], prices: PriceTable, price_model: str
) -> tuple[Spend, ...]:
    """Tokens and list price of every attempt by arm; attempts whose usage isn't known are counted, not guessed."""
    return tuple(_of_arm(arm, trials, prices, price_model) for arm in arms)


def _of_arm(arm: str, trials: tuple[Trial, ...], prices: PriceTable, price_model: str) -> Spend:
    records = [trial.record for trial in trials if trial.planned.arm == arm]
    attempts = [attempt for record in records for attempt in record.attempts]
    tokens = [_tokens(attempt) for attempt in attempts]
    costs = [_cost(attempt, prices, price_model) for attempt in attempts]
    return Spend(
        arm=arm,
        trials=len(records),
        attempts=len(attempts),
        repeated=sum(max(0, len(record.attempts) - 1) for record in records),
        tokens=_known(tokens),
        cost_microusd=_known(costs),
        attempts_without_tokens=sum(isinstance(item, Unavailable) for item in tokens),
        attempts_without_cost=sum(isinstance(item, Unavailable) for item in costs),
    )


def _known(quantities: list[Quantity]) -> int:
    return sum(item.value for item in quantities if isinstance(item, Measured))


def _tokens(attempt: AttemptRecord) -> Quantity:
    usages = (*attempt.observed, *attempt.observed_memory)
    return unknown_usage(attempt.outcome, usages) or all_tokens(usages)


def _cost(attempt: AttemptRecord, prices: PriceTable, price_model: str) -> Quantity:
    usages = (*attempt.observed, *attempt.observed_memory)
    return unknown_usage(attempt.outcome, usages) or list_cost_microusd(usages, prices, price_model)
