"""Which blocks a measure may use under a treatment of failures, and what it leaves out, always from every arm alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.rounding import doubled_median, rounded_quotient
from runner.core.summary import Exclusion
from runner.summarize.measures import MEASURES, counted_as_failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.summary import Treatment
    from runner.summarize.measures import Measure, Reading
    from runner.summarize.trials import Block, Trial

NO_BLOCK: Final = "no block has this measure in every arm"
_NONE_COMPLETE: Final = "no block is complete"
_NONE_ENDED: Final = "in no block did every arm complete or fail"


@dataclass(frozen=True)
class Value:
    """A measured figure of one trial."""

    value: int
    out_of: int


@dataclass(frozen=True)
class Pair:
    """One block that has the measure in every arm."""

    block: Block
    values: Mapping[str, Value]


@dataclass(frozen=True)
class MeasuredPairs:
    """The blocks of one measure, and why the others aren't among them."""

    measure: Measure
    pairs: tuple[Pair, ...]
    excluded: tuple[Exclusion, ...]
    none: str = NO_BLOCK
    """Why there is no figure, where there is no pair."""

    def by_task(self) -> dict[str, list[Pair]]:
        """The pairs of each task that has any, tasks in the order of their names."""
        grouped: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            grouped.setdefault(pair.block.task, []).append(pair)
        return dict(sorted(grouped.items()))

    def total(self, arm: str) -> int:
        """The sum of an arm's values."""
        return sum(pair.values[arm].value for pair in self.pairs)

    def out_of(self, arm: str) -> int:
        """What the sum is out of: trials, or labels."""
        return sum(pair.values[arm].out_of for pair in self.pairs)

    def scaled(self, arm: str) -> list[int]:
        """Each block's value of an arm, in units of 1/scale."""
        scale = self.measure.scale
        return [rounded_quotient(pair.values[arm].value * scale, pair.values[arm].out_of) for pair in self.pairs]

    def task_median_scaled(self, pairs: list[Pair], arm: str) -> int:
        """The median of an arm's values in `pairs`, of one task and not empty, in units of 1/scale."""
        scale = self.measure.scale
        scaled = [rounded_quotient(pair.values[arm].value * scale, pair.values[arm].out_of) for pair in pairs]
        return rounded_quotient(doubled_median(scaled), 2)


def measured_pairs(measure: Measure, blocks: tuple[Block, ...], treatment: Treatment) -> MeasuredPairs:
    """The blocks in which `measure` is known in every arm, under `treatment`."""
    pairs: list[Pair] = []
    reasons: Counter[str] = Counter()
    for block in blocks:
        values: dict[str, Value] = {}
        for arm, trial in block.trials.items():
            taken = _value(measure, trial, treatment)
            if isinstance(taken, Unavailable):
                reasons[f"{arm}: {taken.reason}"] += 1
                break
            values[arm] = taken
        else:
            pairs.append(Pair(block, values))
    excluded = tuple(Exclusion(reason=reason, blocks=count) for reason, count in sorted(reasons.items()))
    return MeasuredPairs(measure, tuple(pairs), excluded, NO_BLOCK if pairs else _none(blocks, treatment))


def _none(blocks: tuple[Block, ...], treatment: Treatment) -> str:
    """Why no block has a measure: whatever isn't measured at all is no matter of this measure."""
    counted = treatment == "failures_counted"
    if any(all(_stands(trial, counted=counted) for trial in block.trials.values()) for block in blocks):
        return NO_BLOCK
    return _NONE_ENDED if counted else _NONE_COMPLETE


def _stands(trial: Trial, *, counted: bool) -> bool:
    return trial.consequence.in_pairs or (counted and trial.consequence.failure)


def all_measured(blocks: tuple[Block, ...], treatment: Treatment) -> tuple[MeasuredPairs, ...]:
    """The blocks of every measure, in the order of the table."""
    return tuple(measured_pairs(measure, blocks, treatment) for measure in MEASURES)


def _value(measure: Measure, trial: Trial, treatment: Treatment) -> Value | Unavailable:
    consequence = trial.consequence
    reading: Reading = trial.readings[measure.name]
    if not consequence.in_pairs:
        if not _stands(trial, counted=treatment == "failures_counted"):
            return Unavailable(f"ended {trial.record.outcome}")
        reading = counted_as_failure(measure, reading)
    match reading.value:
        case Measured(value):
            return Value(value, reading.out_of)
        case Unavailable():
            return reading.value


def task_medians(item: MeasuredPairs, arm: str) -> list[int]:
    """The median of each task in `arm`, in units of 1/scale, tasks in the order of their names."""
    return [item.task_median_scaled(pairs, arm) for pairs in item.by_task().values()]
