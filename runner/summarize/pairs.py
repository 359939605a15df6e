"""Which blocks a measure may use under a treatment of failures, and what it leaves out, always from every arm alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from runner.core.outcomes import Outcome
from runner.core.rounding import rounded_quotient
from runner.core.statistics.bootstrap import rounded_quotients
from runner.core.summary import Exclusion
from runner.summarize.measures import MEASURES
from runner.summarize.trials import KNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runner.core.statistics.exact import Integers
    from runner.core.summary import Treatment
    from runner.summarize.measures import Measure
    from runner.summarize.trials import Table

NO_BLOCK: Final = "no block has this measure in every arm"
_NONE_COMPLETE: Final = "no block is complete"
_NONE_ENDED: Final = "in no block did every arm complete or fail"
# Integers beyond this are summed and scaled as Python's own, which have no end.
_INT64_ROOM: Final = 2**62


@dataclass(frozen=True)
class MeasuredPairs:
    """The blocks of one measure, and why the others aren't among them."""

    measure: Measure
    arms: tuple[str, ...]
    """The control first."""
    blocks: NDArray[np.int64]
    """Which blocks have the measure in every arm, by number."""
    values: Integers
    """Shape (arms, blocks)."""
    divisors: Integers
    """What each value is out of."""
    tasks: tuple[str, ...]
    """Those of the blocks, by name."""
    task_numbers: NDArray[np.int64]
    """Which of the tasks each block is of."""
    excluded: tuple[Exclusion, ...]
    none: str = NO_BLOCK
    """Why there is no figure, where there is no block."""

    @property
    def n_blocks(self) -> int:
        """How many blocks have the measure in every arm."""
        return len(self.blocks)

    def repetitions(self) -> tuple[int, ...]:
        """How many blocks each task has."""
        return tuple(np.bincount(self.task_numbers, minlength=len(self.tasks)).tolist())

    def by_task(self) -> NDArray[np.int64]:
        """Places of the blocks, those of one task one after the other, tasks in the order of their names."""
        return np.argsort(self.task_numbers, kind="stable")

    def total(self, arm: str) -> int:
        """The sum of an arm's values."""
        return exact_sum(self.values[self.arms.index(arm)])

    def out_of(self, arm: str) -> int:
        """What the sum is out of: trials, or labels."""
        return exact_sum(self.divisors[self.arms.index(arm)])

    def scaled(self, arm: str) -> Integers:
        """Each block's value of an arm, in units of 1/scale."""
        number = self.arms.index(arm)
        values, scale = self.values[number], self.measure.scale
        if values.size and int(values.max()) * scale >= _INT64_ROOM:
            values = values.astype(object)
        return rounded_quotients(values * scale, self.divisors[number])

    def task_medians(self, arm: str) -> list[int]:
        """The median of each task in `arm`, in units of 1/scale, tasks in the order of their names."""
        if not self.n_blocks:
            return []
        order, repetitions = self.by_task(), np.array(self.repetitions())
        scaled = self.scaled(arm)[order]
        starts = np.cumsum(repetitions) - repetitions
        if scaled.dtype == np.int64:
            scaled = scaled[np.lexsort((scaled, self.task_numbers[order]))]
        else:
            parts = np.split(scaled, starts[1:])
            scaled = np.array([value for part in parts for value in sorted(part)], dtype=object)
        doubled = scaled[starts + (repetitions - 1) // 2] + scaled[starts + repetitions // 2]
        return [rounded_quotient(int(value), 2) for value in doubled]


def exact_sum(values: Integers) -> int:
    """The sum of `values`, however large."""
    if values.size and int(np.abs(values).max()) * values.size >= _INT64_ROOM:
        return sum(values.tolist())
    return int(values.sum())


def measured_pairs(measure: Measure, table: Table, treatment: Treatment) -> MeasuredPairs:
    """The blocks in which `measure` is known in every arm, under `treatment`."""
    counted = treatment == "failures_counted"
    row = MEASURES.index(measure)
    values, whys, divisors = table.values[row][table.grid], table.whys[row][table.grid], table.out_of_grid(measure)
    outcomes, stands = table.outcome_numbers(), table.stands(counted=counted)
    if counted and measure.kind == "share":
        # A failed trial has found nothing of what its task has labels for.
        failed = stands & ~table.stands(counted=False) & (divisors > 0)
        values, whys = np.where(failed, 0, values), np.where(failed, KNOWN, whys)
    # A reason of the trial's end is as good as one of the measure's own: it is told by a number below 0.
    missing = np.where(stands, whys, -1 - outcomes)
    chosen = np.flatnonzero((missing == KNOWN).all(axis=0))
    chosen, tasks, numbers = table.named(chosen)
    none = NO_BLOCK if stands.all(axis=0).any() else _NONE_ENDED if counted else _NONE_COMPLETE
    return MeasuredPairs(
        measure=measure,
        arms=table.arms,
        blocks=chosen,
        values=values[:, chosen],
        divisors=divisors[:, : len(chosen)] if measure.kind == "amount" else divisors[:, chosen],
        tasks=tasks,
        task_numbers=numbers,
        excluded=_excluded(table, missing),
        none=none,
    )


def _excluded(table: Table, missing: NDArray[np.int64]) -> tuple[Exclusion, ...]:
    """Why blocks are left out: how the first arm ended that doesn't stand; where all do, why the first lacks it."""
    lacking = np.flatnonzero((missing != KNOWN).any(axis=0))
    ended = missing[:, lacking] < 0
    first = np.where(ended.any(axis=0), ended, missing[:, lacking] != KNOWN).argmax(axis=0)
    pairs = np.stack([first, missing[first, lacking]], axis=1)
    found: dict[str, int] = {}
    for (arm, why), count in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
        said = table.texts[why] if why > 0 else f"ended {tuple(Outcome)[-1 - why]}"
        reason = f"{table.arms[arm]}: {said}"
        found[reason] = found.get(reason, 0) + int(count)
    return tuple(Exclusion(reason=reason, blocks=count) for reason, count in sorted(found.items()))


def all_measured(table: Table, treatment: Treatment) -> tuple[MeasuredPairs, ...]:
    """The blocks of every measure, in the order of the table of measures."""
    return tuple(measured_pairs(measure, table, treatment) for measure in MEASURES)
