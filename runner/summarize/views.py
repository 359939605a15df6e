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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.statistics.bootstrap import Bootstrap
    from runner.summarize.pairs import MeasuredPairs

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
        n_blocks=item.n_blocks,
        n_tasks=len(item.tasks),
        excluded=item.excluded,
        arms=tuple(_arm_total(item, arm) for arm in arms),
    )


def _arm_total(item: MeasuredPairs, arm: str) -> ArmTotal:
    total, out_of = item.total(arm), item.out_of(arm)
    return ArmTotal(
        arm=arm,
        total=Measured(total) if item.n_blocks else Unavailable(item.none),
        out_of=Measured(out_of) if item.n_blocks else Unavailable(item.none),
        mean_scaled=scaled_ratio(total, out_of, item.measure.scale, item.none),
    )


def _medians(item: MeasuredPairs, arms: tuple[str, ...]) -> Iterator[MedianRow]:
    columns = [item.task_medians(arm) for arm in arms]
    for task, blocks, *medians in zip(item.tasks, item.repetitions(), *columns, strict=True):
        named = zip(arms, medians, strict=True)
        yield MedianRow(
            measure=item.measure.name,
            task=task,
            n_blocks=blocks,
            arms=tuple(ArmMedian(arm=arm, median_scaled=Measured(median)) for arm, median in named),
        )


def _medians_of_medians(item: MeasuredPairs, arms: tuple[str, ...]) -> MedianOfMedians:
    def median(arm: str) -> Quantity:
        medians = item.task_medians(arm)
        return Measured(rounded_quotient(doubled_median(medians), 2)) if medians else Unavailable(item.none)

    return MedianOfMedians(
        measure=item.measure.name,
        n_tasks=len(item.tasks),
        arms=tuple(ArmMedian(arm=arm, median_scaled=median(arm)) for arm in arms),
    )


def _distribution(item: MeasuredPairs, arms: tuple[str, ...]) -> DistributionRow:
    return DistributionRow(
        measure=item.measure.name,
        n_blocks=item.n_blocks,
        arms=tuple(_arm_distribution(arm, item.scaled(arm).tolist(), item.none) for arm in arms),
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
