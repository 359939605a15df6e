"""What the report says of the arms' figures, as texts and positions: the template lays it out, computing nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.publish import formatting
from runner.publish.charts import Axis, Dumbbell, amount_axis, dumbbell
from runner.publish.contrasts import GROUPS, Card, Compared, Forest, cards, differences, forests
from runner.publish.evidence import Evidence
from runner.publish.headlines import headline, nothing_complete
from runner.publish.listing import Listing, figures, grouped, words
from runner.publish.memories import Memories
from runner.publish.retrieval import Retrieval

if TYPE_CHECKING:
    from runner.core.summary import Exclusion, MeasureIdentity, MedianRow, Summary, TotalsRow, View

_TITLES: Final = {"complete_blocks": "Complete blocks", "failures_counted": "Failures counted"}


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
    listings: tuple[Listing, ...]
    notes: tuple[str, ...]
    """What no measure uses, and which measures are 0 everywhere."""


class PageTexts:
    """Texts of one summary."""

    def __init__(self, summary: Summary) -> None:
        """Hold `summary`."""
        self.summary = summary
        self.measures: dict[str, MeasureIdentity] = {measure.name: measure for measure in summary.measures}
        self.control = summary.arms[0].name
        self.treatments = tuple(arm.name for arm in summary.arms[1:])
        self.level = formatting.level(summary.resampling.level_ppm)
        self._evidence = Evidence(summary)

    def banner(self) -> str:
        """What kind of evidence this is, and who played the model."""
        model = self.summary.model
        if self.summary.evidence == "fixture":
            return (
                f"evidence: fixture {formatting.ABSENT} the model is {model.shown}, policy {model.policy}; "
                f"no figure here says anything about a provider's model. {self._priced_as()}"
            )
        if model.mode == "none":
            return f"evidence: measurement {formatting.ABSENT} of rankings; there is no model."
        return f"evidence: measurement {formatting.ABSENT} the model is {model.shown}."

    def _priced_as(self) -> str:
        asked = self.summary.model.price_model
        return f"Prices are those of {asked}." if asked else "Nothing is priced: the study asks for no model."

    def headlines(self) -> tuple[str, ...]:
        """One sentence a treatment on the first headline measure; or why the arms aren't compared."""
        if self.summary.retrieval is not None:
            return tuple(Retrieval(self.summary, self.summary.retrieval).headlines())
        if self.summary.reconsolidation is not None:
            return tuple(Memories(self.summary, self.summary.reconsolidation).headlines())
        if self.summary.obstacles:
            return tuple(f"The arms are not compared: {reason}." for reason in self.summary.obstacles)
        if not self.summary.census.complete_blocks:
            return (nothing_complete(self.summary),)
        first = self.summary.headline[0]
        return tuple(
            headline(self.summary, self.compared(self.summary.views[0], first, arm)) for arm in self.treatments
        )

    def compares(self) -> bool:
        """There is a complete block, and nothing forbids to compare the arms."""
        return bool(self.summary.census.complete_blocks) and not self.summary.obstacles

    def cards(self) -> tuple[Card, ...]:
        """The headline measures of every treatment; none where nothing is compared."""
        if not self.compares() or self.summary.retrieval is not None or self.summary.reconsolidation is not None:
            return ()
        view = self.summary.views[0]
        compared = [self.compared(view, name, arm) for arm in self.treatments for name in self.summary.headline]
        return cards(compared, [self._card_notes(item) for item in compared])

    def _card_notes(self, item: Compared) -> tuple[str, ...]:
        study, contrast = self.summary.study, item.contrast
        if isinstance(item.estimate.low, Unavailable):
            intervals = [f"No {self.level} interval: {item.estimate.low.reason}"]
        else:
            intervals = [f"{self.level} interval {item.interval}"]
            if item.joint_interval:
                intervals.append(f"For {formatting.all_at_once(len(self.treatments))} {item.joint_interval}")
        blocks = formatting.of_all(contrast.n_blocks, study.blocks, "block")
        tasks = formatting.of_all(contrast.n_tasks, study.tasks, "task")
        return (*intervals, f"{blocks}, {tasks}", *self._detectable(item))

    def _detectable(self, item: Compared) -> tuple[str, ...]:
        low, high = item.contrast.detectable_ratio_ppm.low, item.contrast.detectable_ratio_ppm.high
        difference = self._evidence.detectable_difference(item.contrast)
        if item.measure.kind == "share":
            return () if isinstance(difference, Unavailable) else (f"Detectable difference: {difference}",)
        if isinstance(low, Measured) and isinstance(high, Measured):
            shown = f"at most {formatting.ratio(low.value)}, or at least {formatting.ratio(high.value)}"
            return (f"Detectable ratio: {shown}",)
        return ()

    def compared(self, view: View, measure: str, arm: str) -> Compared:
        """One measure of one treatment against the control."""
        key = measure, arm
        return Compared(
            self.measures[measure],
            next(item for item in view.contrasts if (item.measure, item.arm) == key),
            self._totals_row(view, measure),
            next((item for item in view.simultaneous if (item.measure, item.arm) == key), None),
        )

    @staticmethod
    def _totals_row(view: View, measure: str) -> TotalsRow:
        return next(row for row in view.totals if row.measure == measure)

    def figures(self) -> tuple[Figures, ...]:
        """Forests and tables under each treatment of failures; none where no measure has a block."""
        return tuple(self._figures(view, _TITLES[view.treatment]) for view in self.summary.views)

    def _figures(self, view: View, title: str) -> Figures:
        notes = self._exclusion_notes(view)
        if not any(row.n_blocks for row in view.totals):
            return Figures(title, view.meaning, (), (), notes)
        shown = () if self.summary.obstacles else self.treatments
        compared = {arm: self._all_compared(view, arm) for arm in shown}
        names = title, self.control, self.level
        return Figures(
            title,
            view.meaning,
            tuple(
                forest
                for arm, items in compared.items()
                for forest in forests(names[0], arm, names[1], names[2], items)
            ),
            (
                *(
                    item
                    for arm, items in compared.items()
                    for item in differences(names[0], arm, names[1], names[2], items)
                ),
                *self._totals(view, title),
                *self._evidence.of_view(view, title),
            ),
            (*notes, *self._silent_notes(view)),
        )

    def _all_compared(self, view: View, arm: str) -> list[Compared]:
        return [self.compared(view, measure.name, arm) for measure in self._speaking(view)]

    def _speaking(self, view: View) -> list[MeasureIdentity]:
        """Measures in which some arm has a figure other than 0."""
        return [
            measure
            for measure in self.summary.measures
            if any(total.total != Measured(0) for total in self._totals_row(view, measure.name).arms)
        ]

    def _silent_notes(self, view: View) -> tuple[str, ...]:
        speaking = self._speaking(view)
        silent = [measure.label for measure in self.summary.measures if measure not in speaking]
        return (f"0 in every arm, and left out of these tables: {'; '.join(silent)}.",) if silent else ()

    def _exclusion_notes(self, view: View) -> tuple[str, ...]:
        common = _common_exclusions(view)
        if not common:
            return ()
        left_out = formatting.of_all(sum(item.blocks for item in common), self.summary.study.blocks, "block")
        note = (
            f"Left out of every measure, from every arm alike: {left_out}, each counted once, under the first arm that "
            f"it lacks ({_exclusions(common)})."
        )
        return (note,)

    def _totals(self, view: View, title: str) -> tuple[Listing, ...]:
        arms = [arm.name for arm in self.summary.arms]
        common = _common_exclusions(view)
        return grouped(
            f"{title}: pooled totals, and medians over tasks of the tasks' medians",
            (
                *words("Measure"),
                *figures(*(f"Total, {arm}" for arm in arms), *(f"Median, {arm}" for arm in arms), "Blocks (tasks)"),
                *words("Also left out (blocks)"),
            ),
            [
                (
                    heading,
                    [
                        self._totals_line(view, measure, common)
                        for measure in self._speaking(view)
                        if measure.group == group
                    ],
                )
                for group, heading in GROUPS.items()
            ],
        )

    def _totals_line(self, view: View, measure: MeasureIdentity, common: list[Exclusion]) -> tuple[str, ...]:
        row = self._totals_row(view, measure.name)
        medians = next(item for item in view.medians_of_medians if item.measure == measure.name)
        return (
            measure.label,
            *(formatting.total_figure(total, measure) for total in row.arms),
            *(formatting.scaled_quantity(item.median_scaled, measure) for item in medians.arms),
            formatting.blocks_and_tasks(row.n_blocks, row.n_tasks),
            _exclusions([item for item in row.excluded if item not in common]),
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
            f"{measure.label}: median of each task over its complete blocks",
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


def _medians(row: MedianRow) -> tuple[int, ...]:
    return tuple(arm.median_scaled.value for arm in row.arms if isinstance(arm.median_scaled, Measured))


def _common_exclusions(view: View) -> list[Exclusion]:
    """Blocks that every measure leaves out."""
    first, *others = view.totals
    return [item for item in first.excluded if all(item in row.excluded for row in others)]


def _exclusions(items: list[Exclusion]) -> str:
    return "; ".join(f"{item.reason}: {item.blocks:,}" for item in items)
