"""How a contrast is shown: an amount by the ratio of its totals, a share by its difference in percentage points."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.publish import formatting
from runner.publish.charts import Axis, IntervalMark, difference_axis, interval_mark, ratio_axis
from runner.publish.listing import Listing, figures, grouped, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.quantities import Quantity
    from runner.core.summary import Contrast, Estimate, MeasureIdentity, Simultaneous, TotalsRow

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
    together: Simultaneous | None
    """Its intervals that hold with those of the other treatments; None where there is no other."""

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
        """The same in other words: the change that a ratio means, the ratio of a share; "" where there is none."""
        ratio = self.contrast.ratio_ppm.value
        if isinstance(ratio, Unavailable):
            return ""
        return formatting.change(ratio.value) if self.measure.kind == "amount" else formatting.ratio_quantity(ratio)

    @property
    def interval(self) -> str:
        """The estimate's interval, or why there is none."""
        if self.measure.kind == "share":
            return formatting.difference_interval(self.estimate, self.measure)
        return formatting.ratio_interval(self.estimate)

    @property
    def joint_interval(self) -> str:
        """The interval that holds with those of the other treatments; "" where there is none."""
        if self.together is None or isinstance(self.estimate.low, Unavailable):
            return ""
        if self.measure.kind == "share":
            return formatting.difference_interval(self.together.mean_difference_scaled, self.measure)
        return formatting.ratio_interval(self.together.ratio_ppm)

    @property
    def size(self) -> str:
        """Blocks, and the tasks that they are of."""
        return formatting.blocks_and_tasks(self.contrast.n_blocks, self.contrast.n_tasks)

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
    notes: tuple[str, ...]
    """Its intervals, what it rests on, and what could have been seen."""
    means: tuple[tuple[str, str], ...]
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
    size: str
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
    note: str
    """Why most figures without an interval have none; the lines say any other reason. "" where no two agree."""


def cards(compared: Sequence[Compared], notes: Sequence[tuple[str, ...]]) -> tuple[Card, ...]:
    """A card for each contrast with its notes; those of one kind share an axis."""
    axes = {kind: _axis(kind, compared) for kind in {item.measure.kind for item in compared}}
    return tuple(
        Card(
            label=item.measure.label,
            arm=item.contrast.arm,
            figure=item.figure,
            aside=item.aside,
            notes=own,
            means=item.means(),
            mark=interval_mark(item.estimate, axes[item.measure.kind]),
            axis=axes[item.measure.kind],
        )
        for item, own in zip(compared, notes, strict=True)
    )


def differences(title: str, arm: str, control: str, level: str, compared: Sequence[Compared]) -> tuple[Listing, ...]:
    """Differences of means and of medians of every measure of one treatment."""
    return grouped(
        f"{title}: {arm} minus {control}, with {level} intervals; pp is percentage points",
        (
            *words("Measure"),
            *figures("Difference of means per trial", "Difference of medians of task medians", "Blocks (tasks)"),
        ),
        [
            (
                heading,
                [
                    (
                        item.measure.label,
                        formatting.difference_with_interval(item.contrast.mean_difference_scaled, item.measure),
                        formatting.difference_with_interval(item.contrast.median_difference_scaled, item.measure),
                        item.size,
                    )
                    for item in compared
                    if item.measure.group == group
                ],
            )
            for group, heading in GROUPS.items()
        ],
    )


def forests(title: str, arm: str, control: str, level: str, compared: Sequence[Compared]) -> tuple[Forest, ...]:
    """Amounts by ratios, then shares by differences; a kind that nothing is of has no forest."""
    captions = {
        "amount": (
            "Ratio",
            f"{title}: {arm} against {control}, means per trial, and the ratio of totals with its {level} interval",
        ),
        "share": (
            "Difference",
            f"{title}: {arm} against {control}, shares found, and their difference (pp) with its {level} interval",
        ),
    }
    found: list[Forest] = []
    for kind, (figure, caption) in captions.items():
        own = [item for item in compared if item.measure.kind == kind]
        if own:
            axis = _axis(kind, own)
            reason = _shared_reason(own)
            note = f"Interval “none”: {reason}." if reason else ""
            found.append(Forest(arm, figure, caption, axis, _groups(own, axis, reason), note))
    return tuple(found)


def _shared_reason(compared: Sequence[Compared]) -> str:
    """The reason that most contrasts without interval give; "" where no two give the same."""
    reasons = Counter(item.estimate.low.reason for item in compared if isinstance(item.estimate.low, Unavailable))
    ((reason, count),) = reasons.most_common(1) or [("", 0)]
    return reason if count > 1 else ""


def _groups(compared: Sequence[Compared], axis: Axis, reason: str) -> tuple[ContrastGroup, ...]:
    """The contrasts under the headings of their groups; where `reason` is why, their lines say no more than none."""
    return tuple(
        ContrastGroup(heading, tuple(_line(item, axis, reason) for item in own))
        for group, heading in GROUPS.items()
        if (own := [item for item in compared if item.measure.group == group])
    )


def _axis(kind: str, compared: Sequence[Compared]) -> Axis:
    estimates = [item.estimate for item in compared if item.measure.kind == kind]
    return difference_axis(estimates) if kind == "share" else ratio_axis(estimates)


def _line(item: Compared, axis: Axis, reason: str) -> ContrastLine:
    return ContrastLine(
        label=item.measure.label,
        means=tuple(mean for _, mean in item.means()),
        figure=item.figure,
        interval="none" if reason and item.estimate.low == Unavailable(reason) else item.interval,
        has_interval=isinstance(item.estimate.low, Measured),
        size=item.size,
        mark=interval_mark(item.estimate, axis),
    )
