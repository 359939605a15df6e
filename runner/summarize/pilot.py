"""What does a finished run say of the size that the next one needs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import rounded_quotient
from runner.summarize.contrasts import sample_of
from runner.summarize.measures import MEASURES
from runner.summarize.pairs import NO_BLOCK, measured_pairs
from runner.summarize.trials import blocks_of, join_trials

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.core.plan import Plan
    from runner.core.records import Record, Score
    from runner.core.statistics.bootstrap import Sample
    from runner.summarize.context import SummaryContext


@dataclass(frozen=True)
class Pilot:
    """One measure of a run's complete blocks, and what its trials took."""

    arms: tuple[str, ...]
    """The control first."""
    sample: Sample | Unavailable
    cost_microusd: Mapping[str, Quantity]
    """Mean of a completed trial, arm by arm; whole micro-dollars."""
    pod_ms: Mapping[str, Quantity]


def pilot_of(
    context: SummaryContext, plan: Plan, records: Iterable[Record], scores: Iterable[Score], measure: str
) -> Pilot:
    """The run as a pilot for `measure`, the name of one that summaries have.

    Raises:
        EvidenceError: as where the run is summarized.
    """
    arms = (plan.control, *(arm for arm in plan.arms if arm != plan.control))
    blocks = blocks_of(join_trials(context, plan, records, scores), arms)
    chosen = next(item for item in MEASURES if item.name == measure)
    found = measured_pairs(chosen, blocks, "complete_blocks")
    costs = measured_pairs(MEASURES[0], blocks, "complete_blocks")
    complete = [block for block in blocks if block.complete]
    times = {arm: [block.trials[arm].record.timing.pod_ms for block in complete] for arm in arms}
    return Pilot(
        arms=arms,
        sample=sample_of(found, arms) if found.pairs else Unavailable(NO_BLOCK),
        cost_microusd={
            arm: Measured(rounded_quotient(costs.total(arm), len(costs.pairs)))
            if costs.pairs
            else Unavailable(NO_BLOCK)
            for arm in arms
        },
        pod_ms={arm: _mean(times[arm]) for arm in arms},
    )


def _mean(quantities: list[Quantity]) -> Quantity:
    known = [item.value for item in quantities if isinstance(item, Measured)]
    return Measured(rounded_quotient(sum(known), len(known))) if known else Unavailable("no such time is known")
