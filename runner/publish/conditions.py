"""What else could explain a contrast, and what was checked, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.publish import formatting
from runner.publish.listing import Listing, cell, code, figures, listing, verdict, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.summary import DriftStratum, InertTrials, OrderStratum, Summary
    from runner.publish.listing import Cell

_VERDICTS: Final = {True: "passed", False: "failed"}


class Conditions:
    """The tables of one summary; one without lines isn't among them."""

    def __init__(self, summary: Summary) -> None:
        """Hold `summary`."""
        self._summary = summary
        self._labels = {measure.name: measure.label for measure in summary.measures}
        self._treatments = tuple(arm.name for arm in summary.arms[1:])

    def conditions(self) -> tuple[Listing, ...]:
        """Order, drift, caches, starts and versions."""
        return (*self._order(), *self._drift(), *self._caches(), *self._starts(), *self._versions())

    def _order(self) -> tuple[Listing, ...]:
        strata = {(item.measure, item.arm, item.control_ran): item for item in self._summary.order_effect}
        control = self._summary.study.control
        return listing(
            f"Order effect: ratios of the blocks in which {control} ran before the treatment, and in which after",
            (*words("Measure", "Arm"), *figures(f"{control} before", "Blocks", f"{control} after", "Blocks")),
            [
                (
                    self._labels[name],
                    arm,
                    *_stratum(strata[name, arm, "before"]),
                    *_stratum(strata[name, arm, "after"]),
                )
                for name in self._summary.headline
                for arm in self._treatments
                if (name, arm, "before") in strata
            ],
        )

    def _drift(self) -> tuple[Listing, ...]:
        strata = {(item.measure, item.arm, item.half): item for item in self._summary.drift}
        return listing(
            "Drift: ratios of the first half of the blocks, as they were planned to run, and of the second",
            (*words("Measure", "Arm"), *figures("First half", "Blocks", "Second half", "Blocks")),
            [
                (self._labels[measure], arm, *_stratum(first), *_stratum(strata[measure, arm, "second"]))
                for (measure, arm, half), first in strata.items()
                if half == "first"
            ],
        )

    def _caches(self) -> tuple[Listing, ...]:
        return listing(
            "How warm the provider's cache was, in completed trials",
            (*words("Arm"), *figures("Place in block", "Input from the cache", "Input tokens", "Trials")),
            [
                (
                    item.arm,
                    f"{item.position + 1}",
                    cell(item.read_share_ppm, formatting.percent),
                    cell(item.input_side_tokens, lambda value: f"{value:,}"),
                    f"{item.trials:,}",
                )
                for item in self._summary.cache_warmth
            ],
        )

    def _starts(self) -> tuple[Listing, ...]:
        return listing(
            "Starts of completed trials",
            (
                *words("Arm"),
                *figures("Median start-up", "Trials"),
                *words("Cold starts: more than twice the median"),
            ),
            [
                (
                    item.arm,
                    cell(item.median_startup_us, lambda value: formatting.duration(value, 1_000)),
                    f"{item.trials:,}",
                    f"{len(item.cold):,}: {', '.join(item.cold)}" if item.cold else "none",
                )
                for item in self._summary.cold_starts
            ],
        )

    def _versions(self) -> tuple[Listing, ...]:
        return listing(
            "Who answered, and who asked, in completed trials",
            words("Arm", "Models", "Client versions"),
            [
                (item.arm, ", ".join(item.models) or "none", ", ".join(item.client_versions) or "not said")
                for item in self._summary.versions
            ],
        )

    def inert(self) -> tuple[str, ...]:
        """One sentence for each arm with a memory."""
        return tuple(_inert(item) for item in self._summary.inert)

    def findings(self) -> tuple[Listing, ...]:
        """Findings by kind."""
        return listing(
            "Findings by kind; none changes a figure by itself",
            (*code("Kind"), *figures("Count"), *words("For example", "Trials")),
            [(item.kind, f"{item.count:,}", item.example, ", ".join(item.trials)) for item in self._summary.findings],
        )

    def checks(self) -> tuple[Listing, ...]:
        """What was checked, and what was not."""
        return (
            *listing(
                "Checks that were executed",
                (
                    *words("Check"),
                    verdict("Result"),
                    *figures("Looked at"),
                    *words("What holds when it passes", "Where it doesn't"),
                ),
                [
                    (item.name, _VERDICTS[item.passed], f"{item.checked:,}", item.claim, ", ".join(item.failed))
                    for item in self._summary.checks
                ],
            ),
            *listing(
                "Not checked",
                words("What", "Why"),
                [(item.name, item.reason) for item in self._summary.not_checked],
            ),
        )


def _stratum(item: OrderStratum | DriftStratum) -> Iterator[Cell]:
    yield cell(item.ratio_ppm, lambda ppm: f"{formatting.ratio(ppm)}{formatting.NARROW}{formatting.TIMES}")
    yield f"{item.n_blocks:,}"


def _inert(item: InertTrials) -> str:
    if not item.completed:
        return f"Arm {item.arm}: no trial completed, so none could be looked at."
    if not item.inert:
        all_of_them = "its one completed trial" if item.completed == 1 else f"all {item.completed:,} completed trials"
        return f"Arm {item.arm}: {all_of_them} called the memory."
    trials = formatting.of_all(item.inert, item.completed, "completed trial")
    return f"Arm {item.arm}: {trials} never called the memory: {', '.join(item.trials)}."
