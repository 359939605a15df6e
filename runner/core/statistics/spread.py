"""How far would a contrast lie from the truth, by the tasks' own disagreement, and on how many tasks does that rest?

Tasks are the units. A task's influence is what it adds to the contrast; a task that holds a large share of the total
pulls the contrast towards itself, and its influence is corrected for that (as HC2 corrects residuals for leverage,
MacKinnon and White 1985, here for tasks whose effects vary in proportion to their size). The degrees of freedom are
those of the effective number of tasks, (sum of sizes)**2 / sum of squared sizes (Kish 1965), less one.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Unavailable
from runner.core.statistics.exact import decimals

if TYPE_CHECKING:
    from collections.abc import Sequence

_ONE_TASK: Final = "one task holds everything that was measured"


@dataclass(frozen=True)
class TaskSums:
    """Per task, over its blocks: the sum of the control, of the treatment, and what a mean divides by."""

    control: tuple[int, ...]
    treatment: tuple[int, ...]
    divisor: tuple[int, ...]


@dataclass(frozen=True)
class Spread:
    """The variance of a contrast, in its unit squared, and on how many equally large tasks it rests."""

    variance: Decimal
    effective_tasks: Decimal

    @property
    def df(self) -> Decimal:
        """The effective number of tasks less one; at least 1."""
        with decimals():
            return max(Decimal(1), self.effective_tasks - 1)


def ratio_spread(sums: TaskSums) -> Spread | Unavailable:
    """Of the natural logarithm of (total of the treatment / total of the control); both totals are positive."""
    with decimals():
        control, treatment = _shares(sums.control), _shares(sums.treatment)
        influences = [mine - other for mine, other in zip(treatment, control, strict=True)]
        sizes = [(mine + other) / 2 for mine, other in zip(treatment, control, strict=True)]
        return _spread(influences, sizes, sizes)


def difference_spread(sums: TaskSums) -> Spread | Unavailable:
    """Of (total of the treatment - total of the control) / total of the divisors, which is positive."""
    with decimals():
        whole = Decimal(sum(sums.divisor))
        mean = Decimal(sum(sums.treatment) - sum(sums.control)) / whole
        influences = [
            (treatment - control - mean * divisor) / whole
            for control, treatment, divisor in zip(sums.control, sums.treatment, sums.divisor, strict=True)
        ]
        amounts = [control + treatment for control, treatment in zip(sums.control, sums.treatment, strict=True)]
        sizes = _shares(tuple(amounts) if any(amounts) else sums.divisor)
        return _spread(influences, _shares(sums.divisor), sizes)


def _shares(values: tuple[int, ...]) -> list[Decimal]:
    whole = Decimal(sum(values))
    return [value / whole for value in values]


def _spread(
    influences: Sequence[Decimal], leverages: Sequence[Decimal], sizes: Sequence[Decimal]
) -> Spread | Unavailable:
    squares = sum((leverage * leverage for leverage in leverages), Decimal(0))
    kept = [1 - 2 * leverage + squares for leverage in leverages]
    if min(kept) <= 0:
        return Unavailable(_ONE_TASK)
    variance = sum((one * one / rest for one, rest in zip(influences, kept, strict=True)), Decimal(0))
    return Spread(variance, 1 / sum((size * size for size in sizes), Decimal(0)))
