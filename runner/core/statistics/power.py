"""Which effect can a study of this size see, and how large must a study be to see a given one?

An effect is seen when its interval doesn't hold "no effect". With a standard error s and f degrees of freedom an
effect is seen with probability P when it lies about t(f, level) + t(f, P) standard errors from none (Student's t;
Lenth 2001). The standard error of a study of another size follows from two parts of the variance: that of the tasks'
own reaction to the treatment, which only more tasks reduce, and that of repetitions, which more of either reduce.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Unavailable
from runner.core.rounding import PPM
from runner.core.statistics.bootstrap import MINIMUM_TASKS
from runner.core.statistics.exact import decimals, student_quantile
from runner.core.statistics.spread import Spread, ratio_spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.statistics.bootstrap import Sample

POWER_PPM: Final = 800_000
MOST_REPETITIONS: Final = 1_000
MOST_TASKS: Final = 10_000


def detectable(spread: Spread, level_ppm: int, power_ppm: int = POWER_PPM) -> Decimal:
    """The smallest effect that is seen with the probability `power_ppm`, in the unit of `spread`."""
    with decimals():
        level = student_quantile(spread.df, (PPM - level_ppm) // 2)
        power = student_quantile(spread.df, PPM - power_ppm)
        return (level + power) * spread.variance.sqrt()


@dataclass(frozen=True)
class Variances:
    """What the variance of a logarithm of a ratio is made of, in a study of so many tasks and repetitions."""

    tasks: int
    repetitions: Decimal
    """A mean where tasks have different numbers of them."""
    effective_tasks: Decimal
    of_tasks: Decimal
    """The part that tasks' own reactions to the treatment make; 0 when repetitions explain all of it."""
    of_repetitions: Decimal

    def spread(self, tasks: int, repetitions: int) -> Spread:
        """The spread of a study of the same kind of tasks, at another size."""
        with decimals():
            share = Decimal(self.tasks) / tasks
            variance = share * (self.of_tasks + self.of_repetitions * self.repetitions / repetitions)
            return Spread(variance, self.effective_tasks / share)


def stated_variances(task_sd_milli: int, effect_sd_milli: int, repetition_sd_milli: int) -> Variances:
    """The variances of one task and repetition from standard deviations of logarithms, in thousandths.

    Between tasks' sizes; of the treatment's effect from task to task; between the repetitions of one arm of a task.
    Costs are taken as log-normal: sizes that differ much leave fewer effective tasks.
    """
    with decimals():
        sizes, effects, repetitions = (
            (Decimal(value).scaleb(-3) ** 2).exp() for value in (task_sd_milli, effect_sd_milli, repetition_sd_milli)
        )
        return Variances(
            tasks=1,
            repetitions=Decimal(1),
            effective_tasks=1 / sizes,
            of_tasks=sizes * (effects - 1),
            of_repetitions=sizes * effects * 2 * (repetitions - 1),
        )


def observed_variances(sample: Sample, arm: int) -> Variances | Unavailable:
    """The variances that a pilot shows, by moments; its tasks need a second repetition, some of them at least."""
    if not sample.repetitions or max(sample.repetitions) < 2:
        return Unavailable("no task has a second repetition: what repetitions vary by can't be told")
    sums = sample.task_sums(arm)
    if not sum(sums.control) or not sum(sums.treatment):
        return Unavailable("an arm's total is 0")
    whole = ratio_spread(sums)
    if isinstance(whole, Unavailable):
        return whole
    with decimals():
        totals = Decimal(sum(sums.control)), Decimal(sum(sums.treatment))
        within, start = Decimal(0), 0
        several = 0
        for count in sample.repetitions:
            blocks = slice(start, start + count)
            start += count
            if count < 2:
                continue
            several += count
            influences = [
                Decimal(int(treatment)) / totals[1] - Decimal(int(control)) / totals[0]
                for control, treatment in zip(sample.arms[0, blocks], sample.arms[arm, blocks], strict=True)
            ]
            mean = sum(influences, Decimal(0)) / count
            squares = sum(((one - mean) ** 2 for one in influences), Decimal(0))
            within += squares * count / (count - 1)
        # Blocks of tasks with one repetition vary like the others, for want of anything better.
        within *= Decimal(sum(sample.repetitions)) / several
        return Variances(
            tasks=len(sample.repetitions),
            repetitions=Decimal(sum(sample.repetitions)) / len(sample.repetitions),
            effective_tasks=whole.effective_tasks,
            of_tasks=max(Decimal(0), whole.variance - within),
            of_repetitions=within,
        )


def needed_repetitions(variances: Variances, tasks: int, effect: Decimal, level_ppm: int) -> int | Unavailable:
    """The fewest repetitions with which `tasks` tasks can see `effect`, a logarithm of a ratio."""

    def sees(repetitions: int) -> bool:
        return detectable(variances.spread(tasks, repetitions), level_ppm) <= abs(effect)

    if not sees(MOST_REPETITIONS):
        return Unavailable(
            f"more than {MOST_REPETITIONS} repetitions of {tasks} tasks would be needed: add tasks instead"
        )
    return _fewest(sees, MOST_REPETITIONS)


def needed_tasks(variances: Variances, repetitions: int, effect: Decimal, level_ppm: int) -> int | Unavailable:
    """The fewest tasks of the same kind that see `effect` with so many repetitions."""

    def sees(tasks: int) -> bool:
        return detectable(variances.spread(tasks, repetitions), level_ppm) <= abs(effect)

    if not sees(MOST_TASKS):
        return Unavailable(f"more than {MOST_TASKS} tasks would be needed")
    return max(MINIMUM_TASKS, _fewest(sees, MOST_TASKS))


def _fewest(sees: Callable[[int], bool], most: int) -> int:
    """The smallest number that sees; `most` does, and so does every number above one that does."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return high
