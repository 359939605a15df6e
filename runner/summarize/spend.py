"""What a run used in all: every attempt, also of trials that no figure counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.summary import Spend

if TYPE_CHECKING:
    from runner.summarize.folds import Folds


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
        )
        for arm, sums in folds.arms.items()
    )
