"""How a contrast is shown: an amount by the ratio of its totals, a share by its difference in percentage points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.publish import formatting
from runner.publish.charts import Axis, IntervalMark, difference_axis, interval_mark, ratio_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.quantities import Quantity
    from runner.core.summary import Contrast, Estimate, MeasureIdentity, TotalsRow

GROUPS: Final = {
    "cost": "Cost",
    "tokens": "Tokens",
    "time": "Time",
    "work": "Work",
    "references": "References",
}


@dataclass(frozen=True)
class Compared:
    """One contrast with its measure and the totals that it compares."""

    measure: MeasureIdentity
    contrast: Contrast
    totals: TotalsRow

    @property
    def estimate(self) -> Estimate:
        """The estimate that speaks for it: a ratio says little of a share, and nothing of one that is 0."""
        contrast = self.contrast
        return contrast.mean_difference_scaled if self.measure.kind == "share" else contrast.ratio_ppm

    @property
    def figure(self) -> str:
        """The estimate."""
        if self.measure.kind == "share":
            return formatting.difference_quantity(self.estimate.value, self.measure)
        return formatting.ratio_quantity(self.estimate.value)

    @property
    def aside(self) -> str:
        """The same in other words: the change that a ratio means, the ratio of a share."""
        match self.contrast.ratio_ppm.value:
            case Measured(ppm):
                return (
                    formatting.change(ppm)
                    if self.measure.kind == "amount"
                    else formatting.ratio_quantity(Measured(ppm))
                )
            case Unavailable(reason):
                return reason
        return formatting.ABSENT

    @property
    def interval(self) -> str:
        """The estimate's interval, or why there is none."""
        if self.measure.kind == "share":
            return formatting.difference_interval(self.estimate, self.measure)
        return formatting.ratio_interval(self.estimate)

    def means(self) -> tuple[tuple[str, str], ...]:
        """The control and the treatment, each with its mean."""
        means: dict[str, Quantity] = {total.arm: total.mean_scaled for total in self.totals.arms}
        pair = (self.contrast.control, self.contrast.arm)
        return tuple((arm, formatting.scaled_quantity(means[arm], self.measure)) for arm in pair)


@dataclass(frozen=True)
class Card:
    """A headline figure of one treatment."""

    label: str
    arm: str
    figure: str
    aside: str
    interval: str
    means: tuple[tuple[str, str], ...]
    blocks: str
    mark: IntervalMark | None
    axis: Axis


@dataclass(frozen=True)
class ContrastLine:
    """One measure of one treatment against the control."""

    label: str
    means: tuple[str, ...]
    figure: str
    interval: str
    has_interval: bool
    mean_difference: str
    median_difference: str
    blocks: str
    mark: IntervalMark | None


@dataclass(frozen=True)
class ContrastGroup:
    """Contrasts of one group of measures."""

    heading: str
    lines: tuple[ContrastLine, ...]


@dataclass(frozen=True)
class Forest:
    """Contrasts of one treatment that are shown alike, on one axis."""

    arm: str
    figure: str
    """What the figures are: ratios or differences."""
    caption: str
    axis: Axis
    groups: tuple[ContrastGroup, ...]


def cards(compared: Sequence[Compared]) -> tuple[Card, ...]:
    """A card for each contrast; those of one kind share an axis."""
    axes = {kind: _axis(kind, compared) for kind in {item.measure.kind for item in compared}}
    return tuple(
        Card(
            label=item.measure.label,
            arm=item.contrast.arm,
            figure=item.figure,
            aside=item.aside,
            interval=item.interval,
            means=item.means(),
            blocks=formatting.counted(item.contrast.n_blocks, "block"),
            mark=interval_mark(item.estimate, axes[item.measure.kind]),
            axis=axes[item.measure.kind],
        )
        for item in compared
    )


def forests(arm: str, control: str, level: str, compared: Sequence[Compared]) -> tuple[Forest, ...]:
    """Amounts by ratios, then shares by differences; a kind that nothing is of has no forest."""
    captions = {
        "amount": (
            "Ratio",
            f"{arm} against {control}: means per trial, and the ratio of totals with its {level} interval",
        ),
        "share": (
            "Difference",
            f"{arm} against {control}: shares found, and their difference (pp) with its {level} interval",
        ),
    }
    found: list[Forest] = []
    for kind, (figure, caption) in captions.items():
        own = [item for item in compared if item.measure.kind == kind]
        if own:
            axis = _axis(kind, own)
            found.append(Forest(arm, figure, caption, axis, groups(own, axis)))
    return tuple(found)


def groups(compared: Sequence[Compared], axis: Axis) -> tuple[ContrastGroup, ...]:
    """The contrasts under the headings of their groups."""
    return tuple(
        ContrastGroup(heading, tuple(_line(item, axis) for item in own))
        for group, heading in GROUPS.items()
        if (own := [item for item in compared if item.measure.group == group])
    )


def _axis(kind: str, compared: Sequence[Compared]) -> Axis:
    estimates = [item.estimate for item in compared if item.measure.kind == kind]
    return difference_axis(estimates) if kind == "share" else ratio_axis(estimates)


def _line(item: Compared, axis: Axis) -> ContrastLine:
    contrast, measure = item.contrast, item.measure
    return ContrastLine(
        label=measure.label,
        means=tuple(mean for _, mean in item.means()),
        figure=item.figure,
        interval=item.interval,
        has_interval=isinstance(item.estimate.low, Measured),
        mean_difference=formatting.difference_with_interval(contrast.mean_difference_scaled, measure),
        median_difference=formatting.difference_with_interval(contrast.median_difference_scaled, measure),
        blocks=f"{contrast.n_blocks:,}",
        mark=interval_mark(item.estimate, axis),
    )
