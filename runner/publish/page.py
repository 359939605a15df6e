"""What the report says, as texts and positions: the template lays it out, the summary has all its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.outcomes import CONSEQUENCES
from runner.core.quantities import Measured, Unavailable
from runner.publish import formatting
from runner.publish.charts import Axis, Dumbbell, amount_axis, dumbbell, ratio_axis
from runner.publish.contrasts import GROUPS, Card, Compared, ContrastGroup, Forest, cards, forests, groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.summary import Contrast, Exclusion, MeasureIdentity, MedianRow, Summary, TotalsRow, View


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
class TotalsGroup:
    """Pooled totals of one group of measures."""

    heading: str
    lines: tuple[TotalsLine, ...]


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
    differences: tuple[tuple[str, tuple[ContrastGroup, ...]], ...]
    """Arm and its contrasts, all of them."""
    totals: tuple[TotalsGroup, ...]
    excluded: str
    """What no measure uses."""
    silent: str
    """Measures that are 0 in every arm."""
    view: View


class PageTexts:
    """Texts of one summary."""

    def __init__(self, summary: Summary) -> None:
        """Hold `summary`."""
        self.summary = summary
        self.measures: dict[str, MeasureIdentity] = {measure.name: measure for measure in summary.measures}
        self.control = summary.arms[0].name
        self.treatments = tuple(arm.name for arm in summary.arms[1:])
        self.level = formatting.level(summary.resampling.level_ppm)

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
        text = f"{text}; {self.level} interval {formatting.ratio_interval(estimate)}), from {blocks}."
        if estimate.low.value <= 1_000_000 <= estimate.high.value:
            text += " The interval includes 1: a difference isn't shown."
        return text

    def cards(self) -> tuple[Card, ...]:
        """The headline measures of every treatment."""
        view = self.summary.views[0]
        return cards([self._compared(view, name, arm) for arm in self.treatments for name in self.summary.headline])

    def contrast(self, measure: str, arm: str) -> Contrast:
        """The contrast of one measure over complete blocks."""
        return self._compared(self.summary.views[0], measure, arm).contrast

    def _compared(self, view: View, measure: str, arm: str) -> Compared:
        contrast = next(item for item in view.contrasts if (item.measure, item.arm) == (measure, arm))
        return Compared(self.measures[measure], contrast, self._totals_row(view, measure))

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
                tuple(forest for arm in self.treatments for forest in self._forests(view, arm)),
                tuple((arm, groups(self._all_compared(view, arm), ratio_axis([]))) for arm in self.treatments),
                self._totals(view),
                _exclusions(_common_exclusions(view)),
                self._silent(view),
                view,
            )
            for view in self.summary.views
        )

    def _all_compared(self, view: View, arm: str) -> list[Compared]:
        names = [measure.name for measure in self.summary.measures if self._says_something(view, measure.name)]
        return [self._compared(view, name, arm) for name in names]

    def _forests(self, view: View, arm: str) -> tuple[Forest, ...]:
        return forests(arm, self.control, self.level, self._all_compared(view, arm))

    def _says_something(self, view: View, measure: str) -> bool:
        """Some arm has a figure other than 0."""
        return any(total.total != Measured(0) for total in self._totals_row(view, measure).arms)

    def _silent(self, view: View) -> str:
        return "; ".join(
            measure.label for measure in self.summary.measures if not self._says_something(view, measure.name)
        )

    def _totals(self, view: View) -> tuple[TotalsGroup, ...]:
        return tuple(
            TotalsGroup(heading, tuple(self._totals_line(view, measure) for measure in own))
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
                formatting.dollars(item.memory_cost_microusd),
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
    return f" or more: {formatting.counted(count, 'attempt')} not wholly known" if count else ""
