"""Tables that are all text: what gates said, what could have been seen or missed, and under which conditions.

Page and terminal print the same listings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.publish import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.core.summary import Contrast, GateVerdict, MeasureIdentity, Range, Summary, View

_FIGURES: Final = {
    "ratio": "ratio",
    "mean_difference": "difference of means",
    "median_difference": "difference of medians",
}
_ENDS: Final = {"low": "lower end of the", "estimate": "the", "high": "upper end of the"}
_VERDICTS: Final = {"passed": "passed", "failed": "failed", "not_judged": "not judged"}


@dataclass(frozen=True)
class Listing:
    """One table of texts."""

    caption: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers_from: int
    """The first column of figures; those before hold words."""


class Listings:
    """The listings of one summary; one without lines isn't among them."""

    def __init__(self, summary: Summary) -> None:
        """Hold `summary`."""
        self._summary = summary
        self._measures: dict[str, MeasureIdentity] = {measure.name: measure for measure in summary.measures}
        self._level = formatting.level(summary.resampling.level_ppm)

    def gates(self) -> tuple[Listing, ...]:
        """Frozen thresholds and their verdicts."""
        columns = ("Gate", "What must hold", "Found", "Verdict")
        lines = tuple(self._gate(gate) for gate in self._summary.gates)
        return _shown(Listing("Gates, frozen before the run", columns, lines, 4))

    def _gate(self, gate: GateVerdict) -> tuple[str, ...]:
        measure = self._measures[gate.measure]

        def show(value: int) -> str:
            return formatting.ratio(value) if gate.figure == "ratio" else formatting.scaled_difference(value, measure)

        interval = f" {self._level} interval" if gate.end != "estimate" else ""
        figure = f"{_ENDS[gate.end]} {_FIGURES[gate.figure]}" + (f"'s{interval}" if interval else "")
        claim = (
            f"{measure.label}, {gate.arm}: {figure} is {gate.comparison.replace('_', ' ')} {show(gate.bound_scaled)}"
        )
        return gate.name, claim, _quantity(gate.found_scaled, show), _VERDICTS[gate.verdict]

    def of_view(self, view: View) -> tuple[Listing, ...]:
        """Quartiles of the headline measures; where there are several treatments, intervals that hold together."""
        return (*self._quartiles(view), *self._simultaneous(view))

    def _quartiles(self, view: View) -> tuple[Listing, ...]:
        columns = ("Measure", "Arm", "Lowest", "Lower quartile", "Median", "Upper quartile", "Highest", "Trials")
        lines = tuple(
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
        )
        return _shown(Listing("How trials are distributed", columns, lines, 2))

    def _simultaneous(self, view: View) -> tuple[Listing, ...]:
        columns = ("Measure", "Arm", "Ratio", "Difference of means")
        lines = tuple(
            (
                self._measures[item.measure].label,
                item.arm,
                _range(item.ratio_ppm, formatting.ratio),
                _range(item.mean_difference_scaled, self._difference(item.measure)),
            )
            for item in view.simultaneous
            if item.measure in self._summary.headline
        )
        return _shown(Listing(f"{self._level} intervals that hold for all treatments at once", columns, lines, 2))

    def reach(self) -> tuple[Listing, ...]:
        """What the run could have seen, and what unmeasured trials could have done."""
        return (*self._detectable(), *self._worst_cases())

    def _detectable(self) -> tuple[Listing, ...]:
        power = formatting.level(self._summary.resampling.power_ppm)
        columns = (
            "Measure",
            "Arm",
            "Ratio at most",
            "or at least",
            "Difference of means",
            "Tasks it rests on",
            "Levels",
        )
        contrasts = self._summary.views[0].contrasts
        lines = tuple(self._effect(item) for item in contrasts if item.measure in self._summary.headline)
        caption = f"True effects that a run of this size sees {power} of the time"
        return _shown(Listing(caption, columns, lines, 2))

    def _effect(self, contrast: Contrast) -> tuple[str, ...]:
        measure = self._measures[contrast.measure]
        return (
            measure.label,
            contrast.arm,
            _quantity(contrast.detectable_ratio_ppm.low, formatting.ratio),
            _quantity(contrast.detectable_ratio_ppm.high, formatting.ratio),
            _quantity(
                contrast.detectable_mean_difference_scaled,
                lambda value: formatting.scaled_difference(value, measure).removeprefix("+"),
            ),
            _quantity(contrast.effective_tasks_milli, lambda value: formatting.decimal(value, 1_000, 1))
            + f" of {contrast.n_tasks:,}",
            {0: formatting.ABSENT, 1: "tasks", 2: "tasks, repetitions"}[contrast.levels],
        )

    def _worst_cases(self) -> tuple[Listing, ...]:
        columns = ("Measure", "Arm", "Unmeasured, control", "Unmeasured, arm", "Ratio", "Difference of means")
        lines = tuple(
            (
                self._measures[item.measure].label,
                item.arm,
                f"{item.unmeasured_control:,} of {item.n_blocks:,}",
                f"{item.unmeasured_treatment:,} of {item.n_blocks:,}",
                _range(item.ratio_ppm, formatting.ratio),
                _range(item.mean_difference_scaled, self._difference(item.measure)),
            )
            for item in self._summary.worst_case
            if item.measure in self._summary.headline
        )
        return _shown(Listing("Whatever the unmeasured trials had come to", columns, lines, 2))

    def conditions(self) -> tuple[Listing, ...]:
        """Drift, caches, starts and versions."""
        return (*self._drift(), *self._caches(), *self._starts(), *self._versions())

    def _drift(self) -> tuple[Listing, ...]:
        strata = {(item.measure, item.arm, item.half): item for item in self._summary.drift}
        columns = ("Measure", "Arm", "First half", "Blocks", "Second half", "Blocks")
        lines = tuple(
            (
                self._measures[measure].label,
                arm,
                formatting.ratio_quantity(first.ratio_ppm),
                f"{first.n_blocks:,}",
                formatting.ratio_quantity(strata[measure, arm, "second"].ratio_ppm),
                f"{strata[measure, arm, 'second'].n_blocks:,}",
            )
            for (measure, arm, half), first in strata.items()
            if half == "first"
        )
        return _shown(Listing("Drift: the ratio in the first half of the blocks, and in the second", columns, lines, 2))

    def _caches(self) -> tuple[Listing, ...]:
        lines = tuple(
            (
                item.arm,
                f"{item.position + 1}",
                _quantity(item.read_share_ppm, formatting.percent),
                _quantity(item.input_side_tokens, lambda value: f"{value:,}"),
                f"{item.trials:,}",
            )
            for item in self._summary.cache_warmth
        )
        columns = ("Arm", "Place in block", "Input from the cache", "Input tokens", "Trials")
        return _shown(Listing("How warm the provider's cache was", columns, lines, 1))

    def _starts(self) -> tuple[Listing, ...]:
        lines = tuple(
            (
                item.arm,
                ", ".join(item.cold) or "none",
                _quantity(item.median_startup_us, lambda value: formatting.duration(value, 1_000)),
                f"{item.trials:,}",
            )
            for item in self._summary.cold_starts
        )
        columns = ("Arm", "Cold starts: more than twice the median", "Median start-up", "Trials")
        return _shown(Listing("Starts", columns, lines, 2))

    def _versions(self) -> tuple[Listing, ...]:
        lines = tuple(
            (item.arm, ", ".join(item.models) or "none", ", ".join(item.client_versions) or "not said")
            for item in self._summary.versions
        )
        return _shown(Listing("Who answered, and who asked", ("Arm", "Models", "Client versions"), lines, 3))

    def _difference(self, measure: str) -> Callable[[int], str]:
        return lambda value: formatting.scaled_difference(value, self._measures[measure])


def _shown(listing: Listing) -> tuple[Listing, ...]:
    return (listing,) if listing.lines else ()


def _quantity(quantity: Quantity, show: Callable[[int], str]) -> str:
    match quantity:
        case Measured(value):
            return show(value)
        case Unavailable():
            return formatting.ABSENT


def _range(ends: Range, show: Callable[[int], str]) -> str:
    return " to ".join(_ends(ends, show))


def _ends(ends: Range, show: Callable[[int], str]) -> Iterator[str]:
    yield _quantity(ends.low, show)
    yield _quantity(ends.high, show)
