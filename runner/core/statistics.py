"""How certain a contrast is: a paired bootstrap over tasks, in integers from the first draw to the last quantile.

Tasks are resampled with replacement; a drawn task brings all its complete blocks, both arms of each. The draws follow
from the seed alone: SHA-256 of the seed text seeds NumPy's PCG64 (bit generators keep their streams across versions
and platforms), the high 32 bits of each raw 64-bit output are multiplied by the number of tasks, and the high 32 bits
of that product are the index (bias below tasks / 2**32). Every statistic is an integer, so no platform can round it
differently.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from runner.core.quantities import Unavailable
from runner.core.rounding import PPM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

RESAMPLES: Final = 9_999
LEVEL_PPM: Final = 950_000
MINIMUM_TASKS: Final = 5
METHOD: Final = (
    "paired percentile bootstrap over tasks; a drawn task keeps all its complete blocks and both arms of each"
)
GENERATOR: Final = (
    "PCG64 seeded with the SHA-256 of the seed text; index = high 32 bits of (high 32 bits of a raw draw x tasks)"
)
QUANTILE_RULE: Final = (
    "order statistics of the resamples, without interpolation: the k-th smallest and the k-th largest, "
    "k = floor((resamples + 1) x (1 - level) / 2)"
)

# Resamples that are gathered at once: bounds memory at about 1,000 x tasks x 8 bytes x 3.
_CHUNK: Final = 1_000
_INT64_ROOM: Final = 2**62

Integers: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True)
class Interval:
    """Two scaled integers between which the figure lies, at the stated level."""

    low: int
    high: int


IntervalOrReason: TypeAlias = Interval | Unavailable


@dataclass(frozen=True)
class TaskSums:
    """Per task, over its complete blocks: the sum of the control, of the treatment, and what a mean divides by."""

    control: tuple[int, ...]
    treatment: tuple[int, ...]
    divisor: tuple[int, ...]


@dataclass(frozen=True)
class Bootstrap:
    """A seeded resampling of tasks."""

    seed: str
    resamples: int = RESAMPLES
    level_ppm: int = LEVEL_PPM
    minimum_tasks: int = MINIMUM_TASKS

    def ratio_ppm(self, sums: TaskSums) -> IntervalOrReason:
        """The interval of (total of the treatment / total of the control), in parts per million."""
        refusal = self._refusal(len(sums.control)) or _too_large(sums, PPM)
        if refusal:
            return refusal
        control, treatment, _ = _resampled_sums(self.seed, self.resamples, sums)
        if bool((control <= 0).any()):
            return Unavailable("the control's total is 0 in some resamples")
        return self._percentiles(_rounded_quotients(treatment * PPM, control))

    def mean_difference(self, sums: TaskSums, scale: int) -> IntervalOrReason:
        """The interval of (treatment - control) / divisor, in units of 1/`scale`."""
        refusal = self._refusal(len(sums.control)) or _too_large(sums, scale)
        if refusal:
            return refusal
        control, treatment, divisor = _resampled_sums(self.seed, self.resamples, sums)
        if bool((divisor <= 0).any()):
            return Unavailable("there is nothing to divide by in some resamples")
        return self._percentiles(_rounded_quotients((treatment - control) * scale, divisor))

    def median_difference(self, control: Sequence[int], treatment: Sequence[int]) -> IntervalOrReason:
        """The interval of (median of `treatment` - median of `control`), one value a task, in the values' unit."""
        refusal = self._refusal(len(control))
        if refusal:
            return refusal
        pair = np.array([control, treatment], dtype=np.int64)

        def doubled(drawn: NDArray[np.int32]) -> Integers:
            medians = [_doubled_medians(values[drawn]) for values in pair]
            return medians[1] - medians[0]

        return self._percentiles(
            _rounded_quotients(_over_chunks(self.seed, len(control), self.resamples, doubled), np.int64(2))
        )

    def _refusal(self, tasks: int) -> Unavailable | None:
        if tasks >= self.minimum_tasks:
            return None
        return Unavailable(f"{tasks} tasks with complete blocks; an interval needs at least {self.minimum_tasks}")

    def _percentiles(self, values: Integers) -> Interval:
        ordered = np.sort(values)
        rank = max(1, (self.resamples + 1) * (PPM - self.level_ppm) // (2 * PPM))
        return Interval(int(ordered[rank - 1]), int(ordered[self.resamples - rank]))


@lru_cache(maxsize=4)
def drawn_tasks(seed: str, tasks: int, resamples: int) -> NDArray[np.int32]:
    """Indices of the tasks of each resample, shape (resamples, tasks), the same on every platform; read-only."""
    generator = np.random.PCG64(int.from_bytes(hashlib.sha256(seed.encode("utf-8")).digest(), "big"))
    drawn = np.empty((resamples, tasks), dtype=np.int32)
    for start in range(0, resamples, _CHUNK):
        rows = drawn[start : start + _CHUNK]
        high = np.asarray(generator.random_raw(rows.size), dtype=np.uint64) >> np.uint64(32)
        rows[:] = ((high * np.uint64(tasks)) >> np.uint64(32)).reshape(rows.shape)
    drawn.setflags(write=False)
    return drawn


# Ratio and mean difference of one measure look at the same resamples, one after the other.
@lru_cache(maxsize=1)
def _resampled_sums(seed: str, resamples: int, sums: TaskSums) -> Integers:
    """Sums of control, treatment and divisor of each resample, shape (3, resamples); read-only."""
    columns = np.array([sums.control, sums.treatment, sums.divisor], dtype=np.int64)
    found = _over_chunks(seed, len(sums.control), resamples, lambda drawn: columns[:, drawn].sum(axis=2))
    found.setflags(write=False)
    return found


def _over_chunks(seed: str, tasks: int, resamples: int, statistic: Callable[[NDArray[np.int32]], Integers]) -> Integers:
    """`statistic` of the drawn indices, a bounded number of resamples at a time."""
    drawn = drawn_tasks(seed, tasks, resamples)
    parts = [statistic(drawn[start : start + _CHUNK]) for start in range(0, resamples, _CHUNK)]
    return np.concatenate(parts, axis=-1)


def _rounded_quotients(numerators: Integers, denominators: Integers | np.int64) -> Integers:
    """Quotients by positive denominators, half to even."""
    quotients, rests = np.divmod(numerators, denominators)
    doubled = 2 * rests
    up = (doubled > denominators) | ((doubled == denominators) & (quotients % 2 == 1))
    rounded: Integers = quotients + up
    return rounded


def _doubled_medians(rows: Integers) -> Integers:
    """Twice the median of each row."""
    count = rows.shape[1]
    ordered = np.sort(rows, axis=1)
    doubled: Integers = ordered[:, (count - 1) // 2] + ordered[:, count // 2]
    return doubled


def _too_large(sums: TaskSums, scale: int) -> Unavailable | None:
    largest = max(abs(value) for column in (sums.control, sums.treatment, sums.divisor) for value in column)
    if len(sums.control) * largest * scale * 2 < _INT64_ROOM:
        return None
    return Unavailable("totals are too large for exact 64-bit arithmetic")
