"""Each treatment against the control: estimates, their intervals, and what a run of this size could have seen."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM, doubled_median, rounded_quotient, scaled_ratio
from runner.core.statistics.bootstrap import (
    FINE,
    Deviations,
    Interval,
    MedianPair,
    Resampled,
    Sample,
    difference_interval,
    ratio_interval,
    ratio_ppm,
)
from runner.core.statistics.exact import decimals, whole
from runner.core.statistics.power import detectable
from runner.core.statistics.simultaneous import widenings
from runner.core.summary import Contrast, Estimate, Range, Simultaneous

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.core.statistics.bootstrap import Bootstrap, IntervalOrReason
    from runner.core.statistics.intervals import Ends
    from runner.summarize.measures import Measure
    from runner.summarize.pairs import MeasuredPairs

_ONE: Final = Decimal(1)


@dataclass(frozen=True)
class _Found:
    """The intervals of one statistic of one treatment."""

    interval: IntervalOrReason
    simultaneous: IntervalOrReason


@dataclass(frozen=True)
class Contrasts:
    """Every treatment against the control in every measure, and the same with intervals that hold together."""

    single: tuple[Contrast, ...]
    simultaneous: tuple[Simultaneous, ...]


def make_contrasts(
    measured: Sequence[MeasuredPairs], arms: tuple[str, ...], bootstrap: Bootstrap, obstacles: Sequence[str] = ()
) -> Contrasts:
    """Every treatment against the control, the first of `arms`, in every measure; none where there are `obstacles`."""
    if obstacles:
        reason = "; ".join(obstacles)
        return Contrasts(tuple(_nothing(item, arms[0], arm, reason) for item in measured for arm in arms[1:]), ())
    samples = [sample_of(item) for item in measured if item.n_blocks]
    resampled = iter(bootstrap.resampled(samples))
    pairs = [
        MedianPair(item.repetitions(), item.task_medians(arms[0]), item.task_medians(arm))
        for item in measured
        if item.n_blocks
        for arm in arms[1:]
    ]
    medians = iter(zip(pairs, bootstrap.median_differences(pairs), strict=True))
    single: list[Contrast] = []
    together: list[Simultaneous] = []
    for item in measured:
        if not item.n_blocks:
            single += [_nothing(item, arms[0], arm, item.none) for arm in arms[1:]]
            continue
        for contrast, simultaneous in _contrasts(item, bootstrap, next(resampled), medians):
            single.append(contrast)
            together.append(simultaneous)
    return Contrasts(tuple(single), tuple(together) if len(arms) > 2 else ())


def sample_of(item: MeasuredPairs) -> Sample:
    """The values of `item`, which has blocks, tasks in the order of their names."""
    order = item.by_task()
    return Sample(
        repetitions=item.repetitions(),
        arms=np.ascontiguousarray(item.values[:, order]),
        divisor=np.ascontiguousarray(item.divisors[0, order]),
    )


def _contrasts(
    item: MeasuredPairs,
    bootstrap: Bootstrap,
    resampled: Resampled | Unavailable,
    medians: Iterator[tuple[MedianPair, IntervalOrReason]],
) -> list[tuple[Contrast, Simultaneous]]:
    arms, numbers = item.arms, range(1, len(item.arms))
    ratios: list[Deviations | Unavailable]
    differences: list[Deviations | Unavailable]
    if isinstance(resampled, Unavailable):
        ratios = differences = [resampled for _ in numbers]
    else:
        ratios = [bootstrap.ratio_deviations(resampled, number) for number in numbers]
        differences = [bootstrap.difference_deviations(resampled, number, item.measure.scale) for number in numbers]
    tasks = len(item.tasks)
    ratio_intervals = _intervals(ratios, bootstrap, tasks, ratio_interval)
    difference_intervals = [
        _possible(found, item.measure) for found in _intervals(differences, bootstrap, tasks, difference_interval)
    ]
    levels = 0 if isinstance(resampled, Unavailable) else resampled.levels
    return [
        (
            _contrast(
                _Pair(item, arms[0], arm, levels, bootstrap.level_ppm),
                next(medians),
                (ratio_intervals[index], difference_intervals[index]),
                (ratios[index], differences[index]),
            ),
            Simultaneous(
                measure=item.measure.name,
                arm=arm,
                ratio_ppm=_range(ratio_intervals[index].simultaneous),
                mean_difference_scaled=_range(difference_intervals[index].simultaneous),
            ),
        )
        for index, arm in enumerate(arms[1:])
    ]


def _intervals(
    deviations: Sequence[Deviations | Unavailable],
    bootstrap: Bootstrap,
    tasks: int,
    interval: Callable[[int, Ends, Decimal], IntervalOrReason],
) -> list[_Found]:
    known = [item for item in deviations if isinstance(item, Deviations)]
    wider = iter(widenings([item.values for item in known], bootstrap.level_ppm))
    found: list[_Found] = []
    for item in deviations:
        if isinstance(item, Unavailable):
            found.append(_Found(item, item))
            continue
        ends, widening = bootstrap.ends(item, tasks), next(wider)
        found.append(_Found(interval(item.estimate, ends, _ONE), interval(item.estimate, ends, widening)))
    return found


def _possible(found: _Found, measure: Measure) -> _Found:
    """`found` without differences that no two shares have: those beyond 1 are never the true one."""
    if measure.kind == "amount":
        return found
    return _Found(_within(found.interval, measure.scale), _within(found.simultaneous, measure.scale))


def _within(interval: IntervalOrReason, most: int) -> IntervalOrReason:
    if isinstance(interval, Interval):
        return Interval(max(-most, interval.low), min(most, interval.high))
    return interval


@dataclass(frozen=True)
class _Pair:
    """What is compared."""

    item: MeasuredPairs
    control: str
    arm: str
    levels: int
    level_ppm: int


def _contrast(
    pair: _Pair,
    medians: tuple[MedianPair, IntervalOrReason],
    found: tuple[_Found, _Found],
    deviations: tuple[Deviations | Unavailable, Deviations | Unavailable],
) -> Contrast:
    item, control, arm = pair.item, pair.control, pair.arm
    scale = item.measure.scale
    totals = item.total(control), item.total(arm)
    doubled = doubled_median(medians[0].treatment) - doubled_median(medians[0].control)
    ratio = scaled_ratio(totals[1], totals[0], PPM, f"the total of {control} is 0")
    return Contrast(
        measure=item.measure.name,
        arm=arm,
        control=control,
        n_blocks=item.n_blocks,
        n_tasks=len(item.tasks),
        levels=pair.levels,
        effective_tasks_milli=_effective_tasks(deviations[0]),
        ratio_ppm=_estimate(ratio, found[0].interval),
        mean_difference_scaled=_estimate(
            Measured(rounded_quotient((totals[1] - totals[0]) * scale, item.out_of(control))), found[1].interval
        ),
        median_difference_scaled=_estimate(Measured(rounded_quotient(doubled, 2)), medians[1]),
        detectable_ratio_ppm=_detectable_ratio(deviations[0], pair.level_ppm),
        detectable_mean_difference_scaled=_detectable_difference(deviations[1], pair.level_ppm),
    )


def _nothing(item: MeasuredPairs, control: str, arm: str, reason: str) -> Contrast:
    missing = Unavailable(reason)
    nothing, neither = Estimate(value=missing, low=missing, high=missing), Range(low=missing, high=missing)
    return Contrast(
        measure=item.measure.name,
        arm=arm,
        control=control,
        n_blocks=item.n_blocks,
        n_tasks=len(item.tasks),
        levels=0,
        effective_tasks_milli=missing,
        ratio_ppm=nothing,
        mean_difference_scaled=nothing,
        median_difference_scaled=nothing,
        detectable_ratio_ppm=neither,
        detectable_mean_difference_scaled=missing,
    )


def _estimate(value: Quantity, interval: IntervalOrReason) -> Estimate:
    reason = interval if isinstance(value, Measured) else value
    ends = _range(reason)
    return Estimate(value=value, low=ends.low, high=ends.high)


def _range(interval: IntervalOrReason) -> Range:
    if isinstance(interval, Interval):
        return Range(low=Measured(interval.low), high=Measured(interval.high))
    return Range(low=interval, high=interval)


def _effective_tasks(deviations: Deviations | Unavailable) -> Quantity:
    if isinstance(deviations, Unavailable):
        return deviations
    with decimals():
        return Measured(whole(deviations.spread.effective_tasks * 1_000))


def _detectable_ratio(deviations: Deviations | Unavailable, level_ppm: int) -> Range:
    if isinstance(deviations, Unavailable):
        return _range(deviations)
    effect = detectable(deviations.spread, level_ppm)
    return _range(Interval(ratio_ppm(0, -effect), ratio_ppm(0, effect)))


def _detectable_difference(deviations: Deviations | Unavailable, level_ppm: int) -> Quantity:
    if isinstance(deviations, Unavailable):
        return deviations
    with decimals():
        return Measured(whole(detectable(deviations.spread, level_ppm) / FINE))
