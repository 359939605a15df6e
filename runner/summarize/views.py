"""All figures under one treatment of failures: pooled totals, medians, distributions and contrasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import doubled_median, rounded_quotient, scaled_quartiles, scaled_ratio
from runner.core.summary import (
    ArmDistribution,
    ArmMedian,
    ArmTotal,
    DistributionRow,
    MedianOfMedians,
    MedianRow,
    TotalsRow,
    Treatment,
    View,
)
from runner.summarize.contrasts import make_contrasts
from runner.summarize.pairs import MeasuredPairs, task_medians

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.statistics.bootstrap import Bootstrap

_MEANINGS: Final[dict[Treatment, str]] = {
    "complete_blocks": "Blocks in which every arm completed and the measure is known in every arm.",
    "failures_counted": (
        "As above, and blocks in which an arm failed: a failed trial counts at what it was observed to use, and as "
        "having found nothing. Blocks with an infrastructure failure, a cancelled trial or a missing one stay out."
    ),
}


def make_view(
    measured: Sequence[MeasuredPairs],
    arms: tuple[str, ...],
    treatment: Treatment,
    bootstrap: Bootstrap,
    obstacles: tuple[str, ...] = (),
) -> View:
    """Every figure of `measured` under `treatment`; `arms` begins with the control, `obstacles` leave no contrast."""
    contrasts = make_contrasts(measured, arms, bootstrap, obstacles)
    return View(
        treatment=treatment,
        meaning=_MEANINGS[treatment],
        totals=tuple(_totals(item, arms) for item in measured),
        medians=tuple(row for item in measured for row in _medians(item, arms)),
        medians_of_medians=tuple(_medians_of_medians(item, arms) for item in measured),
        distributions=tuple(_distribution(item, arms) for item in measured),
        contrasts=contrasts.single,
        simultaneous=contrasts.simultaneous,
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
                total=Measured(item.total(arm)) if item.pairs else Unavailable(item.none),
                out_of=Measured(item.out_of(arm)) if item.pairs else Unavailable(item.none),
                mean_scaled=scaled_ratio(item.total(arm), item.out_of(arm), item.measure.scale, item.none),
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


def _medians_of_medians(item: MeasuredPairs, arms: tuple[str, ...]) -> MedianOfMedians:
    def median(arm: str) -> Quantity:
        medians = task_medians(item, arm)
        return Measured(rounded_quotient(doubled_median(medians), 2)) if medians else Unavailable(item.none)

    return MedianOfMedians(
        measure=item.measure.name,
        n_tasks=len(item.by_task()),
        arms=tuple(ArmMedian(arm=arm, median_scaled=median(arm)) for arm in arms),
    )


def _distribution(item: MeasuredPairs, arms: tuple[str, ...]) -> DistributionRow:
    return DistributionRow(
        measure=item.measure.name,
        n_blocks=len(item.pairs),
        arms=tuple(_arm_distribution(arm, item.scaled(arm), item.none) for arm in arms),
    )


def _arm_distribution(arm: str, scaled: list[int], none: str) -> ArmDistribution:
    def known(value: int) -> Quantity:
        return Measured(value) if scaled else Unavailable(none)

    quartiles = scaled_quartiles(scaled or [0])
    return ArmDistribution(
        arm=arm,
        lowest_scaled=known(min(scaled, default=0)),
        lower_quartile_scaled=known(quartiles[0]),
        median_scaled=known(quartiles[1]),
        upper_quartile_scaled=known(quartiles[2]),
        highest_scaled=known(max(scaled, default=0)),
    )
