"""How far a figure can be believed, as tables: gates, joint intervals, spread, what could be seen, what was missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.gates import scale_of
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM
from runner.publish import formatting
from runner.publish.listing import Listing, cell, figures, listing, verdict, words
from runner.publish.retrieval import label_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.summary import Contrast, GateVerdict, MeasureIdentity, Range, Summary, View
    from runner.publish.listing import Cell

_FIGURES: Final = {
    "ratio": "ratio",
    "mean_difference": "difference of means",
    "median_difference": "difference of medians",
}
_ENDS: Final = {"low": "lower", "high": "upper"}
_VERDICTS: Final = {"passed": "passed", "failed": "failed", "not_judged": "not judged"}
_LEVELS: Final = {0: formatting.ABSENT, 1: "tasks", 2: "tasks, repetitions"}
_UNBOUNDED: Final = "any"


class Evidence:
    """The tables of one summary; one without lines isn't among them."""

    def __init__(self, summary: Summary) -> None:
        """Hold `summary`."""
        self._summary = summary
        self._measures: dict[str, MeasureIdentity] = {measure.name: measure for measure in summary.measures}
        self._level = formatting.level(summary.resampling.level_ppm)
        self._control = summary.study.control

    def gates(self) -> tuple[Listing, ...]:
        """Frozen thresholds and their verdicts."""
        sizes = {(item.measure, item.arm): item for item in self._summary.views[0].contrasts}
        return listing(
            "Gates, frozen before the run",
            (*words("Gate"), verdict("Verdict"), *words("Found", "What must hold"), *figures("Blocks (tasks)")),
            [
                self._gate(gate, sizes[gate.measure, gate.arm])
                if gate.measure in self._measures
                else self._of_rankings(gate)
                for gate in self._summary.gates
            ],
        )

    def _gate(self, gate: GateVerdict, contrast: Contrast) -> tuple[Cell, ...]:
        measure = self._measures[gate.measure]

        def show(value: int) -> str:
            if gate.figure == "ratio":
                return formatting.exact(value, PPM, 2)
            return formatting.exact_difference(value, measure)

        figure = f"the {_FIGURES[gate.figure]}"
        if gate.end != "estimate":
            figure = f"the {_ENDS[gate.end]} end of the {self._level} interval of {figure}"
        bound = f"{gate.comparison.replace('_', ' ')} {show(gate.bound_scaled)}"
        found = gate.found_scaled
        return (
            gate.name,
            _VERDICTS[gate.verdict],
            show(found.value) if isinstance(found, Measured) else f"none: {found.reason}",
            f"{measure.label}, {gate.arm} against {self._control}: {figure} is {bound}",
            formatting.blocks_and_tasks(contrast.n_blocks, contrast.n_tasks),
        )

    def _of_rankings(self, gate: GateVerdict) -> tuple[Cell, ...]:
        where = ", ".join(part for part in (gate.set or "all query sets", gate.split, gate.kind) if part)
        figure = f"{label_of(gate.measure)} of {gate.arm}, {where}"
        if gate.figure == "mean_difference":
            figure = f"{label_of(gate.measure)}, {gate.arm} against {self._control}, {where}: the difference of means"
        if gate.end != "estimate":
            figure = f"the {_ENDS[gate.end]} end of the {self._level} interval of {figure}"
        found, scale = gate.found_scaled, scale_of(gate.measure)
        return (
            gate.name,
            _VERDICTS[gate.verdict],
            formatting.exact(found.value, scale, 0) if isinstance(found, Measured) else f"none: {found.reason}",
            f"{figure} is {gate.comparison.replace('_', ' ')} {formatting.exact(gate.bound_scaled, scale, 0)}",
            "",
        )

    def of_view(self, view: View, title: str) -> tuple[Listing, ...]:
        """Quartiles of the headline measures; where there are several treatments, intervals that hold together."""
        return (*self._quartiles(view, title), *self._simultaneous(view, title))

    def _quartiles(self, view: View, title: str) -> tuple[Listing, ...]:
        return listing(
            f"{title}: how the trials of each arm are distributed",
            (
                *words("Measure", "Arm"),
                *figures("Lowest", "Lower quartile", "Median", "Upper quartile", "Highest", "Trials"),
            ),
            [
                (
                    measure.label,
                    arm.arm,
                    *(
                        formatting.scaled_quantity(figure, measure)
                        for figure in (
                            arm.lowest_scaled,
                            arm.lower_quartile_scaled,
                            arm.median_scaled,
                            arm.upper_quartile_scaled,
                            arm.highest_scaled,
                        )
                    ),
                    f"{row.n_blocks:,}",
                )
                for row in view.distributions
                if row.measure in self._summary.headline
                for measure in (self._measures[row.measure],)
                for arm in row.arms
            ],
        )

    def _simultaneous(self, view: View, title: str) -> tuple[Listing, ...]:
        sizes = {(item.measure, item.arm): item for item in view.contrasts}
        treatments = len(self._summary.arms) - 1
        return listing(
            f"{title}: {self._level} intervals that hold for {formatting.all_at_once(treatments)}",
            (*words("Measure", "Arm"), *figures("Ratio", "Difference of means", "Blocks (tasks)")),
            [
                (
                    self._measures[item.measure].label,
                    item.arm,
                    _ends(item.ratio_ppm, formatting.ratio),
                    _ends(item.mean_difference_scaled, self._difference(item.measure)),
                    formatting.blocks_and_tasks(size.n_blocks, size.n_tasks),
                )
                for item in view.simultaneous
                if item.measure in self._summary.headline
                for size in (sizes[item.measure, item.arm],)
            ],
            self._summary.resampling.simultaneous,
        )

    def reach(self) -> tuple[Listing, ...]:
        """What the run could have seen, and what unmeasured trials could have done; nothing where nothing compares."""
        return () if self._summary.obstacles else (*self._detectable(), *self._worst_cases())

    def _detectable(self) -> tuple[Listing, ...]:
        power = formatting.level(self._summary.resampling.power_ppm)
        return listing(
            f"True effects that a run of this size sees {power} of the time",
            (
                *words("Measure", "Arm"),
                *figures("Ratio at most", "or at least", "Difference of means", "Tasks it rests on", "Resampled"),
            ),
            [self._effect(item) for item in self._summary.views[0].contrasts if item.measure in self._summary.headline],
            f"Sees: the {self._level} interval of one treatment in one measure leaves out “no difference”, at the "
            "variance that this run had. The tasks it rests on: so many equally large tasks would say as much, out of "
            "those with complete blocks.",
        )

    def _effect(self, contrast: Contrast) -> tuple[Cell, ...]:
        return (
            self._measures[contrast.measure].label,
            contrast.arm,
            cell(contrast.detectable_ratio_ppm.low, formatting.ratio),
            cell(contrast.detectable_ratio_ppm.high, formatting.ratio),
            self.detectable_difference(contrast),
            _rests_on(contrast),
            _LEVELS[contrast.levels],
        )

    def detectable_difference(self, contrast: Contrast) -> Cell:
        """The smallest difference of means that the run was likely to see; of shares, there may be none."""
        measure = self._measures[contrast.measure]

        def show(value: int) -> str:
            if measure.kind == "share" and value > measure.scale:
                return "none there can be"
            return formatting.scaled_difference(value, measure).removeprefix("+")

        return cell(contrast.detectable_mean_difference_scaled, show)

    def _worst_cases(self) -> tuple[Listing, ...]:
        lines = [
            (
                self._measures[item.measure].label,
                item.arm,
                formatting.of_all(item.unmeasured_control, item.n_blocks, "block"),
                formatting.of_all(item.unmeasured_treatment, item.n_blocks, "block"),
                _bounds(item.ratio_ppm, formatting.ratio),
                _bounds(item.mean_difference_scaled, self._difference(item.measure)),
            )
            for item in self._summary.worst_case
            if item.measure in self._summary.headline
        ]
        return listing(
            "Worst case: between what a contrast over all planned blocks would lie",
            (
                *words("Measure", "Arm"),
                *figures(f"Unmeasured, {self._control}", "Unmeasured, arm", "Ratio", "Difference of means"),
            ),
            lines,
            "Bounds, not intervals: each unmeasured trial may have come to anything from 0 to the most there is, which "
            f"is a share's labels or a limit of the study. Where nothing limits a measure that end is “{_UNBOUNDED}”.",
        )

    def _difference(self, measure: str) -> Callable[[int], str]:
        return lambda value: formatting.scaled_difference(value, self._measures[measure])


def _rests_on(contrast: Contrast) -> Cell:
    return cell(
        contrast.effective_tasks_milli,
        lambda milli: f"{formatting.decimal(milli, 1_000, 1)} of {contrast.n_tasks:,}",
    )


def _ends(ends: Range, show: Callable[[int], str]) -> Cell:
    if isinstance(ends.low, Unavailable):
        return ends.low
    if isinstance(ends.high, Unavailable):
        return ends.high
    return f"{show(ends.low.value)} to {show(ends.high.value)}"


def _bounds(ends: Range, show: Callable[[int], str]) -> str:
    low, high = _bound(ends.low, show), _bound(ends.high, show)
    return _UNBOUNDED if low == high == _UNBOUNDED else f"{low} to {high}"


def _bound(end: Quantity, show: Callable[[int], str]) -> str:
    return show(end.value) if isinstance(end, Measured) else _UNBOUNDED
