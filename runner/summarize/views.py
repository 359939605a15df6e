"""All figures under one treatment of failures: pooled totals, medians, and contrasts with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM, doubled_median, rounded_quotient, scaled_ratio
from runner.core.statistics import Interval, TaskSums
from runner.core.summary import (
    ArmMedian,
    ArmTotal,
    Contrast,
    Estimate,
    MedianOfMedians,
    MedianRow,
    TotalsRow,
    Treatment,
    View,
)
from runner.summarize.measures import MEASURES
from runner.summarize.pairs import MeasuredPairs, measured_pairs

if TYPE_CHECKING:
    from runner.core.statistics import Bootstrap, IntervalOrReason
    from runner.summarize.trials import Block

_NO_BLOCK: Final = "no block has this measure in every arm"
_MEANINGS: Final[dict[Treatment, str]] = {
    "complete_blocks": "Blocks in which every arm completed and the measure is known in every arm.",
    "failures_counted": (
        "As above, and blocks in which an arm failed: a failed trial counts at what it was observed to use, and as "
        "having found nothing. Blocks with an infrastructure failure, a cancelled trial or a missing one stay out."
    ),
}


def make_view(blocks: tuple[Block, ...], arms: tuple[str, ...], treatment: Treatment, bootstrap: Bootstrap) -> View:
    """Every figure under `treatment`; `arms` begins with the control."""
    measured = [measured_pairs(measure, blocks, treatment) for measure in MEASURES]
    return View(
        treatment=treatment,
        meaning=_MEANINGS[treatment],
        totals=tuple(_totals(item, arms) for item in measured),
        medians=tuple(row for item in measured for row in _medians(item, arms)),
        medians_of_medians=tuple(_medians_of_medians(item, arms) for item in measured),
        contrasts=tuple(_contrast(item, arms[0], arm, bootstrap) for item in measured for arm in arms[1:]),
    )


def _totals(item: MeasuredPairs, arms: tuple[str, ...]) -> TotalsRow:
    return TotalsRow(
        measure=item.measure.name,
        n_blocks=len(item.pairs),
        n_tasks=len(item.by_task()),
        excluded=item.excluded,
        arms=tuple(
            ArmTotal(
                arm=arm,
                total=Measured(item.total(arm)) if item.pairs else Unavailable(_NO_BLOCK),
                out_of=Measured(item.out_of(arm)) if item.pairs else Unavailable(_NO_BLOCK),
                mean_scaled=scaled_ratio(item.total(arm), item.out_of(arm), item.measure.scale, _NO_BLOCK),
            )
            for arm in arms
        ),
    )


def _medians(item: MeasuredPairs, arms: tuple[str, ...]) -> list[MedianRow]:
    return [
        MedianRow(
            measure=item.measure.name,
            task=task,
            n_blocks=len(pairs),
            arms=tuple(ArmMedian(arm=arm, median_scaled=Measured(item.task_median_scaled(pairs, arm))) for arm in arms),
        )
        for task, pairs in item.by_task().items()
    ]


def _task_medians(item: MeasuredPairs, arm: str) -> list[int]:
    return [item.task_median_scaled(pairs, arm) for pairs in item.by_task().values()]


def _medians_of_medians(item: MeasuredPairs, arms: tuple[str, ...]) -> MedianOfMedians:
    def median(arm: str) -> Quantity:
        medians = _task_medians(item, arm)
        return Measured(rounded_quotient(doubled_median(medians), 2)) if medians else Unavailable(_NO_BLOCK)

    return MedianOfMedians(
        measure=item.measure.name,
        n_tasks=len(item.by_task()),
        arms=tuple(ArmMedian(arm=arm, median_scaled=median(arm)) for arm in arms),
    )


def _contrast(item: MeasuredPairs, control: str, arm: str, bootstrap: Bootstrap) -> Contrast:
    tasks = item.by_task()
    names = {"measure": item.measure.name, "arm": arm, "control": control}
    if not tasks:
        nothing = _estimate(Unavailable(_NO_BLOCK), Unavailable(_NO_BLOCK))
        return Contrast(
            **names,
            n_blocks=0,
            n_tasks=0,
            ratio_ppm=nothing,
            mean_difference_scaled=nothing,
            median_difference_scaled=nothing,
        )
    sums = _task_sums(item, control, arm)
    scale = item.measure.scale
    difference = item.total(arm) - item.total(control)
    medians = _task_medians(item, control), _task_medians(item, arm)
    doubled = doubled_median(medians[1]) - doubled_median(medians[0])
    ratio = scaled_ratio(item.total(arm), item.total(control), PPM, f"the total of {control} is 0")
    return Contrast(
        **names,
        n_blocks=len(item.pairs),
        n_tasks=len(tasks),
        ratio_ppm=_estimate(ratio, bootstrap.ratio_ppm(sums)),
        mean_difference_scaled=_estimate(
            Measured(rounded_quotient(difference * scale, item.out_of(control))), bootstrap.mean_difference(sums, scale)
        ),
        median_difference_scaled=_estimate(
            Measured(rounded_quotient(doubled, 2)), bootstrap.median_difference(*medians)
        ),
    )


def _task_sums(item: MeasuredPairs, control: str, arm: str) -> TaskSums:
    tasks = item.by_task().values()
    return TaskSums(
        control=tuple(sum(pair.values[control].value for pair in pairs) for pairs in tasks),
        treatment=tuple(sum(pair.values[arm].value for pair in pairs) for pairs in tasks),
        divisor=tuple(sum(pair.values[control].out_of for pair in pairs) for pairs in tasks),
    )


def _estimate(value: Quantity, interval: IntervalOrReason) -> Estimate:
    if isinstance(interval, Interval):
        return Estimate(value=value, low=Measured(interval.low), high=Measured(interval.high))
    reason = interval if isinstance(value, Measured) else value
    return Estimate(value=value, low=reason, high=reason)
