"""What a run used in all: every attempt, also of trials that no figure counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.records import NOT_CAPPED
from runner.core.summary import Spend

if TYPE_CHECKING:
    from runner.core.quantities import Quantity
    from runner.summarize.folds import Folds, SpendSums

NO_ATTEMPT: Final = Unavailable("no attempt was made")


def spend_of_all_attempts(folds: Folds) -> tuple[Spend, ...]:
    """Tokens and list price of every attempt by arm.

    What is known of an attempt counts, the input of an answer that was cut too; attempts of which something isn't known
    are counted, and nothing is guessed.
    """
    return tuple(
        Spend(
            arm=arm,
            trials=sums.spend.trials,
            attempts=sums.spend.attempts,
            repeated=sums.spend.repeated,
            tokens=sums.spend.tokens,
            cost_microusd=sums.spend.cost_microusd,
            memory_tokens=sums.spend.memory_tokens,
            memory_cost_microusd=sums.spend.memory_cost_microusd,
            attempts_without_tokens=sums.spend.without_tokens,
            attempts_without_cost=sums.spend.without_cost,
            charged_microusd=_charged(sums.spend),
            attempts_without_charge=sums.spend.without_charge,
        )
        for arm, sums in folds.arms.items()
    )


def _charged(sums: SpendSums) -> Quantity:
    if sums.capped:
        return Measured(sums.charged_microusd)
    return NOT_CAPPED if sums.attempts else NO_ATTEMPT
