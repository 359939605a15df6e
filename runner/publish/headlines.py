"""The sentences that a reader sees first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.outcomes import CONSEQUENCES
from runner.core.quantities import Measured, Unavailable
from runner.core.rounding import PPM
from runner.core.visible import visible
from runner.publish import formatting

if TYPE_CHECKING:
    from runner.core.summary import Estimate, Range, Summary
    from runner.publish.contrasts import Compared


def headline(summary: Summary, compared: Compared) -> str:
    """One treatment against the control: the ratio, its intervals, and what they rest on."""
    contrast, study = compared.contrast, summary.study
    label, estimate = formatting.lower_first(compared.measure.label), contrast.ratio_ppm
    if isinstance(estimate.value, Unavailable):
        return f"Arms {contrast.arm} and {contrast.control} can't be compared in {label}: {estimate.value.reason}."
    rests_on = (
        f"{formatting.of_all(contrast.n_blocks, study.blocks, 'block')} and "
        f"{formatting.of_all(contrast.n_tasks, study.tasks, 'task')}"
    )
    text = (
        f"In arm {contrast.arm}, {label} was {formatting.ratio(estimate.value.value)} times that of arm "
        f"{contrast.control} ({formatting.change(estimate.value.value)}"
    )
    if isinstance(estimate.low, Unavailable):
        return f"{text}), from {rests_on}; no interval: {estimate.low.reason}."
    level, treatments = formatting.level(summary.resampling.level_ppm), len(summary.arms) - 1
    text += f"; {level} interval {formatting.ratio_interval(estimate)}"
    if compared.together is not None:
        joint = formatting.ratio_interval(compared.together.ratio_ppm)
        text += f", or {joint} for {formatting.all_at_once(treatments)}"
    return f"{text}), from {rests_on}.{_verdict(compared, treatments)}"


def _verdict(compared: Compared, treatments: int) -> str:
    """What an interval that includes 1 means; "" where none does."""
    if _includes_one(compared.contrast.ratio_ppm):
        return " The interval includes 1: a difference isn't shown."
    if compared.together is not None and _includes_one(compared.together.ratio_ppm):
        return f" The wider interval includes 1: with {treatments} treatments looked at, a difference isn't shown."
    return ""


def _includes_one(ends: Estimate | Range) -> bool:
    match ends.low, ends.high:
        case Measured(low), Measured(high):
            return bool(low <= PPM <= high)
        case _:
            return False


def failed_checks(summary: Summary) -> tuple[str, ...]:
    """A line for each check that failed: it decides nothing by itself, and must not go unseen."""
    return tuple(
        visible(f"check failed: {item.name}: {'; '.join(item.failed)}" if item.failed else f"check failed: {item.name}")
        for item in summary.checks
        if not item.passed
    )


def nothing_complete(summary: Summary) -> str:
    """What is said instead of a comparison where no block is complete."""
    return (
        f"Of {formatting.counted(summary.census.blocks, 'planned block')} none is complete: no arm is compared with "
        "another over complete blocks."
    )


def census_line(summary: Summary) -> str:
    """How many of all planned trials completed, failed, and ended in a way that says nothing of their arm."""
    census = summary.census
    kinds = [CONSEQUENCES[count.outcome] for count in census.by_arm for _ in range(count.trials)]
    completed, failed = sum(kind.in_pairs for kind in kinds), sum(kind.failure for kind in kinds)
    text = f"{formatting.of_all(completed, summary.study.trials, 'planned trial')} completed, {failed:,} failed"
    other = len(kinds) - completed - failed
    if other:
        text += f", {other:,} ended in a way that says nothing of the arm"
    blocks = formatting.of_all(census.complete_blocks, census.blocks, "block")
    return f"{text}; {blocks} {'is' if census.blocks == 1 else 'are'} complete."
