"""What the report says, as texts and positions: the template lays it out, the summary has all its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.outcomes import CONSEQUENCES
from runner.core.quantities import Measured, Unavailable
from runner.publish import formatting
from runner.publish.charts import Axis, Dumbbell, IntervalMark, amount_axis, dumbbell, interval_mark, ratio_axis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.summary import Contrast, Exclusion, MeasureIdentity, MedianRow, Summary, TotalsRow, View

GROUPS: Final = {
    "cost": "Cost",
    "tokens": "Tokens",
    "time": "Time",
    "work": "Work",
    "references": "References",
}


@dataclass(frozen=True)
class Card:
    """A headline figure of one treatment."""

    label: str
    arm: str
    control: str
    ratio: str
    change: str
    interval: str
    means: tuple[tuple[str, str], ...]
    """Arm and its mean."""
    blocks: str
    mark: IntervalMark | None


@dataclass(frozen=True)
class ContrastLine:
    """One measure of one treatment against the control."""

    label: str
    means: tuple[str, ...]
    ratio: str
    interval: str
    mean_difference: str
    median_difference: str
    blocks: str
    mark: IntervalMark | None


@dataclass(frozen=True)
class Lines:
    """Lines of a table under one heading."""

    heading: str
    contrasts: tuple[ContrastLine, ...] = ()
    totals: tuple[TotalsLine, ...] = ()


@dataclass(frozen=True)
class TotalsLine:
    """Pooled totals of one measure."""

    label: str
    totals: tuple[str, ...]
    medians: tuple[str, ...]
    blocks: str
    tasks: str
    excluded: str


@dataclass(frozen=True)
class Forest:
    """Contrasts of one treatment, on one axis."""

    arm: str
    axis: Axis
    groups: tuple[Lines, ...]


@dataclass(frozen=True)
class TaskLine:
    """Medians of one task."""

    task: str
    medians: tuple[str, ...]
    blocks: str
    dumbbell: Dumbbell


@dataclass(frozen=True)
class MedianChart:
    """Medians of every task in one measure."""

    label: str
    axis: Axis
    lines: tuple[TaskLine, ...]


@dataclass(frozen=True)
class Figures:
    """One treatment of failures."""

    title: str
    meaning: str
    forests: tuple[Forest, ...]
    totals: tuple[Lines, ...]
    excluded: str
    """What no measure uses."""
    silent: str
    """Measures that are 0 in every arm."""


class PageTexts:
    """Texts of one summary."""

    def __init__(self, summary: Summary) -> None:
        """Hold `summary`."""
        self.summary = summary
        self.measures: dict[str, MeasureIdentity] = {measure.name: measure for measure in summary.measures}
        self.control = summary.arms[0].name
        self.treatments = tuple(arm.name for arm in summary.arms[1:])

    def banner(self) -> str:
        """What kind of evidence this is, and who played the model."""
        model = self.summary.model
        if self.summary.evidence == "fixture":
            return (
                f"evidence: fixture {formatting.ABSENT} the model is {model.shown}, policy {model.policy}; "
                f"no figure here says anything about a provider's model. Prices are those of {model.price_model}."
            )
        return f"evidence: measurement {formatting.ABSENT} the model is {model.shown}."

    def headlines(self) -> tuple[str, ...]:
        """One sentence a treatment on the first headline measure."""
        return tuple(self._headline(self.contrast(self.summary.headline[0], arm)) for arm in self.treatments)

    def _headline(self, contrast: Contrast) -> str:
        label = _lower_first(self.measures[contrast.measure].label)
        estimate = contrast.ratio_ppm
        if isinstance(estimate.value, Unavailable):
            return f"Arms {contrast.arm} and {contrast.control} can't be compared in {label}: {estimate.value.reason}."
        blocks = (
            f"{contrast.n_blocks:,} of {formatting.counted(self.summary.study.blocks, 'block')} "
            f"over {formatting.counted(contrast.n_tasks, 'task')}"
        )
        text = (
            f"In arm {contrast.arm}, {label} was {formatting.ratio(estimate.value.value)} times that of arm "
            f"{contrast.control} ({formatting.change(estimate.value.value)}"
        )
        if isinstance(estimate.low, Unavailable):
            return f"{text}), from {blocks}; no interval: {estimate.low.reason}."
        level = formatting.level(self.summary.resampling.level_ppm)
        text = f"{text}; {level} interval {formatting.ratio_interval(estimate)}), from {blocks}."
        if estimate.low.value <= 1_000_000 <= estimate.high.value:
            text += " The interval includes 1: a difference isn't shown."
        return text

    def cards(self) -> tuple[Card, ...]:
        """The headline measures of every treatment."""
        axis = self.headline_axis()
        return tuple(
            self._card(self.contrast(name, arm), axis) for arm in self.treatments for name in self.summary.headline
        )

    def headline_axis(self) -> Axis:
        """One axis for all cards."""
        return ratio_axis(
            [self.contrast(name, arm).ratio_ppm for arm in self.treatments for name in self.summary.headline]
        )

    def _card(self, contrast: Contrast, axis: Axis) -> Card:
        measure = self.measures[contrast.measure]
        row = self._totals_row(self.summary.views[0], contrast.measure)
        value = contrast.ratio_ppm.value
        return Card(
            label=measure.label,
            arm=contrast.arm,
            control=contrast.control,
            ratio=formatting.ratio_quantity(value),
            change=formatting.change(value.value) if isinstance(value, Measured) else value.reason,
            interval=formatting.ratio_interval(contrast.ratio_ppm),
            means=tuple(
                (total.arm, formatting.scaled_quantity(total.mean_scaled, measure))
                for total in row.arms
                if total.arm in {contrast.control, contrast.arm}
            ),
            blocks=formatting.counted(contrast.n_blocks, "block"),
            mark=interval_mark(contrast.ratio_ppm, axis),
        )

    def contrast(self, measure: str, arm: str) -> Contrast:
        """The contrast of one measure over complete blocks."""
        return next(item for item in self.summary.views[0].contrasts if (item.measure, item.arm) == (measure, arm))

    @staticmethod
    def _totals_row(view: View, measure: str) -> TotalsRow:
        return next(row for row in view.totals if row.measure == measure)

    def figures(self) -> tuple[Figures, ...]:
        """Forests and totals under each treatment of failures."""
        titles = {"complete_blocks": "Complete blocks", "failures_counted": "Failures counted"}
        return tuple(
            Figures(
                titles[view.treatment],
                view.meaning,
                self._forests(view),
                self._totals(view),
                _exclusions(_common_exclusions(view)),
                self._silent(view),
            )
            for view in self.summary.views
        )

    def _forests(self, view: View) -> tuple[Forest, ...]:
        return tuple(self._forest(view, arm) for arm in self.treatments)

    def _forest(self, view: View, arm: str) -> Forest:
        contrasts = [item for item in view.contrasts if item.arm == arm and self._says_something(view, item.measure)]
        axis = ratio_axis([item.ratio_ppm for item in contrasts])
        groups = tuple(
            Lines(heading, contrasts=tuple(self._contrast_line(view, item, axis) for item in own))
            for group, heading in GROUPS.items()
            if (own := [item for item in contrasts if self.measures[item.measure].group == group])
        )
        return Forest(arm, axis, groups)

    def _says_something(self, view: View, measure: str) -> bool:
        """Some arm has a figure other than 0."""
        return any(total.total != Measured(0) for total in self._totals_row(view, measure).arms)

    def _silent(self, view: View) -> str:
        return "; ".join(
            measure.label for measure in self.summary.measures if not self._says_something(view, measure.name)
        )

    def _contrast_line(self, view: View, contrast: Contrast, axis: Axis) -> ContrastLine:
        measure = self.measures[contrast.measure]
        totals = self._totals_row(view, contrast.measure)
        return ContrastLine(
            label=measure.label,
            means=tuple(
                formatting.scaled_quantity(total.mean_scaled, measure)
                for total in totals.arms
                if total.arm in {contrast.control, contrast.arm}
            ),
            ratio=formatting.ratio_quantity(contrast.ratio_ppm.value),
            interval=formatting.ratio_interval(contrast.ratio_ppm),
            mean_difference=formatting.difference_with_interval(contrast.mean_difference_scaled, measure),
            median_difference=formatting.difference_with_interval(contrast.median_difference_scaled, measure),
            blocks=f"{contrast.n_blocks:,}",
            mark=interval_mark(contrast.ratio_ppm, axis),
        )

    def _totals(self, view: View) -> tuple[Lines, ...]:
        return tuple(
            Lines(heading, totals=tuple(self._totals_line(view, measure) for measure in own))
            for group, heading in GROUPS.items()
            if (
                own := [
                    measure
                    for measure in self.summary.measures
                    if measure.group == group and self._says_something(view, measure.name)
                ]
            )
        )

    def _totals_line(self, view: View, measure: MeasureIdentity) -> TotalsLine:
        row = self._totals_row(view, measure.name)
        medians = next(item for item in view.medians_of_medians if item.measure == measure.name)
        return TotalsLine(
            label=measure.label,
            totals=tuple(formatting.total_figure(total, measure) for total in row.arms),
            medians=tuple(formatting.scaled_quantity(item.median_scaled, measure) for item in medians.arms),
            blocks=f"{row.n_blocks:,}",
            tasks=f"{row.n_tasks:,}",
            excluded=_exclusions([item for item in row.excluded if item not in _common_exclusions(view)]),
        )

    def median_charts(self) -> tuple[MedianChart, ...]:
        """Per-task medians of the headline measures, over complete blocks."""
        charts = (self._median_chart(self.measures[name]) for name in self.summary.headline)
        return tuple(chart for chart in charts if chart.lines)

    def _median_chart(self, measure: MeasureIdentity) -> MedianChart:
        rows = [row for row in self.summary.views[0].medians if row.measure == measure.name]
        axis = amount_axis(
            [value for row in rows for value in _medians(row)], lambda value: formatting.axis_label(value, measure)
        )
        return MedianChart(
            measure.label,
            axis,
            tuple(
                TaskLine(
                    row.task,
                    tuple(formatting.scaled_figure(value, measure) for value in _medians(row)),
                    f"{row.n_blocks:,}",
                    dumbbell(_medians(row), axis),
                )
                for row in rows
            ),
        )

    def outcome_lines(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Outcome, its meaning, and how many trials of each arm ended so."""
        counts = {(count.arm, count.outcome): count.trials for count in self.summary.census.by_arm}
        seen = [outcome for outcome in CONSEQUENCES if any((arm.name, outcome) in counts for arm in self.summary.arms)]
        return tuple(
            (
                outcome.value,
                CONSEQUENCES[outcome].meaning,
                tuple(f"{counts.get((arm.name, outcome), 0):,}" for arm in self.summary.arms),
            )
            for outcome in seen
        )

    def task_lines(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Task, and completed of planned trials in each arm, with what the others were."""
        by_task: dict[str, list[str]] = {}
        for count in self.summary.census.by_task:
            text = f"{count.completed:,} of {count.planned:,}"
            others = [
                formatting.counted(number, noun, noun)
                for number, noun in ((count.failed, "failed"), (count.other, "other"))
                if number
            ]
            by_task.setdefault(count.task, []).append(f"{text} ({', '.join(others)})" if others else text)
        return tuple((task, tuple(texts)) for task, texts in by_task.items())

    def order_lines(self) -> tuple[tuple[str, str, str, str, str, str], ...]:
        """Headline measure, arm, and ratio and blocks when the control ran before, and after."""
        return tuple(self._order_line(name, arm) for name in self.summary.headline for arm in self.treatments)

    def _order_line(self, name: str, arm: str) -> tuple[str, str, str, str, str, str]:
        before, after = (
            next(
                item
                for item in self.summary.order_effect
                if (item.measure, item.arm, item.control_ran) == (name, arm, ran)
            )
            for ran in ("before", "after")
        )
        return (
            self.measures[name].label,
            arm,
            formatting.ratio_quantity(before.ratio_ppm),
            f"{before.n_blocks:,}",
            formatting.ratio_quantity(after.ratio_ppm),
            f"{after.n_blocks:,}",
        )

    def inert_lines(self) -> tuple[str, ...]:
        """One sentence for each arm with a memory."""
        return tuple(self._inert_line(index) for index in range(len(self.summary.inert)))

    def _inert_line(self, index: int) -> str:
        item = self.summary.inert[index]
        if not item.inert:
            return f"Arm {item.arm}: all {formatting.counted(item.completed, 'completed trial')} called the memory."
        names = ", ".join(item.trials)
        return (
            f"Arm {item.arm}: {item.inert:,} of {item.completed:,} completed trials never called the memory: {names}."
        )

    def spend_lines(self) -> tuple[tuple[str, ...], ...]:
        """What all attempts of each arm used."""
        return tuple(
            (
                item.arm,
                f"{item.trials:,}",
                f"{item.attempts:,}",
                f"{item.repeated:,}",
                f"{item.tokens:,}" + _unmeasured(item.attempts_without_tokens),
                formatting.dollars(item.cost_microusd) + _unmeasured(item.attempts_without_cost),
            )
            for item in self.summary.spend
        )

    def model_lines(self) -> Iterator[tuple[str, ...]]:
        """Tokens of each model, by class."""
        for item in self.summary.models:
            classes = (
                item.input_tokens,
                item.output_tokens,
                item.cache_read_input_tokens,
                item.cache_write_5m_input_tokens,
                item.cache_write_1h_input_tokens,
            )
            yield (
                item.arm,
                item.owner,
                item.model,
                f"{item.requests:,}",
                *(f"{known.value:,}" if isinstance(known, Measured) else formatting.ABSENT for known in classes),
            )


def _medians(row: MedianRow) -> tuple[int, ...]:
    return tuple(arm.median_scaled.value for arm in row.arms if isinstance(arm.median_scaled, Measured))


def _common_exclusions(view: View) -> list[Exclusion]:
    """Blocks that every measure leaves out."""
    first, *others = view.totals
    return [item for item in first.excluded if all(item in row.excluded for row in others)]


def _exclusions(items: list[Exclusion]) -> str:
    return "; ".join(f"{item.reason} ({item.blocks:,})" for item in items)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _unmeasured(count: int) -> str:
    return f" and {formatting.counted(count, 'attempt')} unmeasured" if count else ""
