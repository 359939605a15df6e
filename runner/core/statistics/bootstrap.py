"""The paired hierarchical bootstrap: what a measure of all arms gives in each resample, and intervals from that.

Tasks are resampled, then the repetitions within each drawn task, whole blocks, so that pairs are kept. All measures
that have the same blocks share their resamples, and all arms of a measure do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from runner.core.quantities import Unavailable
from runner.core.rounding import PPM, rounded_quotient
from runner.core.statistics import intervals
from runner.core.statistics.draws import Design, block_counts, noise, task_counts
from runner.core.statistics.exact import NANO, decimals, log_nano, whole
from runner.core.statistics.medians import Columns
from runner.core.statistics.spread import Spread, TaskSums, difference_spread, ratio_spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from runner.core.statistics.exact import Integers
    from runner.core.statistics.intervals import Ends, Method

RESAMPLES: Final = 9_999
LEVEL_PPM: Final = 950_000
MINIMUM_TASKS: Final = 5
MINIMUM_PAIRS: Final = 6

FINE: Final = 1_000
"""Deviations of differences are in units of 1/(FINE x scale)."""

# Doubles hold integers below this exactly, whatever the order in which they are added.
_EXACT: Final = 2**53
_INT64_ROOM: Final = 2**62
_TOO_LARGE: Final = "totals are too large for exact arithmetic"


@dataclass(frozen=True)
class Interval:
    """Two scaled integers between which the figure lies, at the stated level."""

    low: int
    high: int


IntervalOrReason: TypeAlias = Interval | Unavailable


@dataclass(frozen=True)
class Sample:
    """One measure of every arm in the blocks that have it, the blocks of one task one after the other."""

    repetitions: tuple[int, ...]
    """Blocks of each task."""
    arms: Integers
    """Shape (arms, blocks), the control first; not negative."""
    divisor: Integers
    """What a mean divides by, of each block."""

    def task_sums(self, arm: int) -> TaskSums:
        """The sums of the control, of arm number `arm` and of the divisor, task by task."""
        starts = Design("", 0, self.repetitions).starts
        columns = [np.add.reduceat(column, starts) for column in (self.arms[0], self.arms[arm], self.divisor)]
        control, treatment, divisor = (tuple(int(value) for value in column) for column in columns)
        return TaskSums(control, treatment, divisor)


@dataclass(frozen=True)
class MedianPair:
    """Medians of the tasks of a contrast."""

    repetitions: Sequence[int]
    """Blocks of each task."""
    control: Sequence[int]
    treatment: Sequence[int]


@dataclass(frozen=True)
class Resampled:
    """A sample and its totals in every resample."""

    sample: Sample
    levels: Literal[1, 2]
    """How many levels were resampled: 1 where no task has a second repetition."""
    arms: Integers
    """Shape (arms, resamples)."""
    divisor: Integers


@dataclass(frozen=True)
class Deviations:
    """One contrast in every resample, less its estimate, and what its interval is made with."""

    estimate: int
    values: Integers
    """In the unit of `estimate`: finer than that of the figure, so that rounding doesn't show in the ends."""
    spread: Spread
    """In that unit, squared."""
    left_out: Integers
    """The contrast without each task in turn."""


@dataclass(frozen=True)
class Bootstrap:
    """A seeded resampling of tasks and repetitions, and the method that makes intervals of it."""

    seed: str
    resamples: int = RESAMPLES
    level_ppm: int = LEVEL_PPM
    method: Method = "corrected"
    levels: Literal[1, 2] = 2
    minimum_tasks: int = MINIMUM_TASKS
    minimum_pairs: int = MINIMUM_PAIRS

    def refusal(self, repetitions: Sequence[int]) -> Unavailable | None:
        """Why tasks with so many blocks each have no interval; None when they have one."""
        tasks, pairs = len(repetitions), sum(repetitions)
        if tasks < self.minimum_tasks:
            return Unavailable(f"{tasks} tasks with complete blocks; an interval needs at least {self.minimum_tasks}")
        if pairs < self.minimum_pairs:
            return Unavailable(f"{pairs} complete blocks; an interval needs at least {self.minimum_pairs}")
        return None

    def resampled(self, samples: Sequence[Sample]) -> tuple[Resampled | Unavailable, ...]:
        """Totals of each sample in every resample; samples with the same repetitions are computed together."""
        found: list[Resampled | Unavailable] = [Unavailable(_TOO_LARGE)] * len(samples)
        together: dict[tuple[int, ...], list[int]] = {}
        for index, sample in enumerate(samples):
            refused = self.refusal(sample.repetitions) or _too_large(sample)
            if refused:
                found[index] = refused
            else:
                together.setdefault(sample.repetitions, []).append(index)
        for repetitions, indices in together.items():
            design = Design(self.seed, self.resamples, repetitions, self.levels)
            columns = _Distinct()
            places = [
                ([columns.place(arm) for arm in samples[index].arms], columns.place(samples[index].divisor))
                for index in indices
            ]
            totals = _totals(design, columns.held)
            for index, (arms, divisor) in zip(indices, places, strict=True):
                found[index] = Resampled(samples[index], design.drawn_levels, totals[arms], totals[divisor])
        return tuple(found)

    def ratio_deviations(self, resampled: Resampled, arm: int) -> Deviations | Unavailable:
        """Natural logarithms of (total of arm number `arm` / total of the control), in units of 1e-9."""
        sums = resampled.sample.task_sums(arm)
        control, treatment = resampled.arms[0], resampled.arms[arm]
        for name, totals in (("control", control), ("treatment", treatment)):
            if bool((totals <= 0).any()):
                return Unavailable(f"the {name}'s total is 0 in some resamples")
        spread = ratio_spread(sums)
        if isinstance(spread, Unavailable):
            return spread
        columns = np.array([sums.control, sums.treatment], dtype=np.float64)
        rest = columns.sum(axis=1, keepdims=True) - columns
        estimate = int(log_nano(np.array([columns[1].sum() / columns[0].sum()]))[0])
        values = log_nano(treatment / control) - estimate
        with decimals():
            in_nano = Spread(spread.variance * NANO * NANO, spread.effective_tasks)
        left_out = log_nano(rest[1] / rest[0]) if bool((rest > 0).all()) else np.zeros(1, dtype=np.int64)
        return Deviations(estimate, values, in_nano, left_out)

    def difference_deviations(self, resampled: Resampled, arm: int, scale: int) -> Deviations | Unavailable:
        """(Total of arm number `arm` - total of the control) / divisor, in units of 1/(1,000 x `scale`)."""
        scale *= FINE
        sums = resampled.sample.task_sums(arm)
        differences = resampled.arms[arm] - resampled.arms[0]
        if bool((resampled.divisor <= 0).any()):
            return Unavailable("there is nothing to divide by in some resamples")
        if int(np.abs(differences).max()) * scale * 2 >= _INT64_ROOM:
            return Unavailable(_TOO_LARGE)
        spread = difference_spread(sums)
        if isinstance(spread, Unavailable):
            return spread
        columns = np.array([sums.control, sums.treatment, sums.divisor], dtype=np.int64)
        rest = columns.sum(axis=1, keepdims=True) - columns
        estimate = rounded_quotient((sum(sums.treatment) - sum(sums.control)) * scale, sum(sums.divisor))
        values = rounded_quotients(differences * scale, resampled.divisor) - estimate
        with decimals():
            scaled = Spread(spread.variance * scale * scale, spread.effective_tasks)
        return Deviations(estimate, values, scaled, (rest[1] - rest[0]) * scale // np.maximum(rest[2], 1))

    def ends(self, deviations: Deviations, tasks: int) -> Ends:
        """The interval's ends as deviations, by the bootstrap's method."""
        match self.method:
            case "corrected":
                return intervals.corrected_ends(deviations.values, self.level_ppm, deviations.spread)
            case "percentile":
                return intervals.percentile_ends(deviations.values, self.level_ppm)
            case "bca":
                return intervals.bca_ends(deviations.values, self.level_ppm, deviations.left_out)
            case "smoothed":
                smeared = intervals.smoothed(
                    deviations.values, deviations.spread, tasks, noise(self.seed, self.resamples)
                )
                return intervals.percentile_ends(smeared, self.level_ppm)

    def median_difference(
        self, repetitions: Sequence[int], control: Sequence[int], treatment: Sequence[int]
    ) -> IntervalOrReason:
        """The percentile interval of (median of `treatment` - median of `control`), one value a task, over tasks."""
        return self.median_differences([MedianPair(repetitions, control, treatment)])[0]

    def median_differences(self, pairs: Sequence[MedianPair]) -> tuple[IntervalOrReason, ...]:
        """The percentile interval of (median of the treatment - median of the control) of each pair, over tasks.

        Pairs of equally many tasks have the same resamples, and are computed together.
        """
        found: list[IntervalOrReason] = [self.refusal(pair.repetitions) or Unavailable(_TOO_LARGE) for pair in pairs]
        together: dict[int, list[int]] = {}
        for index, pair in enumerate(pairs):
            if (
                self.refusal(pair.repetitions) is None
                and max(map(abs, (*pair.control, *pair.treatment))) < _INT64_ROOM // 4
            ):
                together.setdefault(len(pair.control), []).append(index)
        for tasks, indices in together.items():
            doubled = self._doubled_differences(tasks, [pairs[index] for index in indices])
            for index, values in zip(indices, doubled, strict=True):
                low, high = intervals.percentile_ends(rounded_quotients(values, np.int64(2)), self.level_ppm)
                found[index] = Interval(int(low), int(high))
        return tuple(found)

    def _doubled_differences(self, tasks: int, pairs: Sequence[MedianPair]) -> Integers:
        """Twice the difference of medians of each pair in each resample."""
        columns = Columns([np.array(side, dtype=np.int64) for pair in pairs for side in (pair.control, pair.treatment)])
        doubled = np.empty((len(pairs), self.resamples), dtype=np.int64)
        for part, counts in task_counts(Design(self.seed, self.resamples, (1,) * tasks, 1)):
            medians = columns.doubled_medians(counts)
            doubled[:, part] = medians[1::2] - medians[0::2]
        return doubled


def ratio_interval(estimate: int, ends: Ends, widening: Decimal) -> IntervalOrReason:
    """Ends of a ratio in parts per million, from the logarithm of the estimate and of its `ends` in units of 1e-9."""
    low, high = (ratio_ppm(estimate, end * widening) for end in ends)
    if high >= _EXACT:
        return Unavailable("its upper end is beyond what can be written")
    return Interval(low, high)


def ratio_ppm(estimate: int, deviation: Decimal) -> int:
    """exp((estimate + deviation) in units of 1e-9) in parts per million."""
    with decimals():
        return whole(((estimate + deviation) / NANO).exp() * PPM)


def difference_interval(estimate: int, ends: Ends, widening: Decimal) -> IntervalOrReason:
    """Ends of a difference, in units of 1/scale, from an estimate and `ends` in a 1,000 times finer unit."""
    with decimals():
        low, high = (whole((estimate + end * widening) / FINE) for end in ends)
    if max(abs(low), abs(high)) >= _EXACT:
        return Unavailable("its ends are beyond what can be written")
    return Interval(low, high)


def rounded_quotients(numerators: Integers, denominators: Integers | np.int64) -> Integers:
    """Quotients by positive denominators, half to even."""
    quotients, rests = np.divmod(numerators, denominators)
    doubled = 2 * rests
    up = (doubled > denominators) | ((doubled == denominators) & (quotients % 2 == 1))
    rounded: Integers = quotients + up
    return rounded


class _Distinct:
    """Columns, each held once: what amounts are divided by is the same for all of them."""

    def __init__(self) -> None:
        self.held: list[Integers] = []
        self._places: dict[bytes, int] = {}

    def place(self, column: Integers) -> int:
        """Where the column stands."""
        key = hashlib.sha256(np.ascontiguousarray(column).tobytes()).digest()
        if key not in self._places:
            self._places[key] = len(self.held)
            self.held.append(column)
        return self._places[key]


def _totals(design: Design, columns: Sequence[Integers]) -> Integers:
    """The sum of every column in every resample, shape (columns, resamples): exact, for doubles hold these integers."""
    found = np.empty((len(columns), design.resamples), dtype=np.int64)
    per_block = np.empty((design.blocks, len(columns)), dtype=np.float64)
    for number, column in enumerate(columns):
        per_block[:, number] = column
    for part, counts in block_counts(design):
        found[:, part] = (counts @ per_block).T
    return found


def _too_large(sample: Sample) -> Unavailable | None:
    largest = max(int(np.abs(sample.arms).max()), int(np.abs(sample.divisor).max()))
    most = len(sample.repetitions) * max(sample.repetitions) * largest
    return Unavailable(_TOO_LARGE) if most >= _EXACT else None
