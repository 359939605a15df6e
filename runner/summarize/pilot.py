"""What does a finished run say of the size that the next one needs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import rounded_quotient
from runner.summarize.contrasts import sample_of
from runner.summarize.measures import MEASURES
from runner.summarize.pairs import NO_BLOCK, measured_pairs
from runner.summarize.trials import join_facts, tabulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.core.plan import Plan
    from runner.core.records import Record, Score
    from runner.core.statistics.bootstrap import Sample
    from runner.summarize.context import SummaryContext
    from runner.summarize.facts import Figure


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
    facts = list(join_facts(context, plan, records, scores))
    table = tabulate(plan, facts)
    chosen = next(item for item in MEASURES if item.name == measure)
    found = measured_pairs(chosen, table, "complete_blocks")
    costs = measured_pairs(MEASURES[0], table, "complete_blocks")
    complete = table.grid[:, table.complete()]
    return Pilot(
        arms=table.arms,
        sample=sample_of(found) if found.n_blocks else Unavailable(NO_BLOCK),
        cost_microusd={
            arm: Measured(rounded_quotient(costs.total(arm), costs.n_blocks))
            if costs.n_blocks
            else Unavailable(NO_BLOCK)
            for arm in table.arms
        },
        pod_ms={
            arm: _mean([facts[index].pod_ms for index in own]) for arm, own in zip(table.arms, complete, strict=True)
        },
    )


def _mean(figures: list[Figure]) -> Quantity:
    known = [item for item in figures if isinstance(item, int)]
    return Measured(rounded_quotient(sum(known), len(known))) if known else Unavailable("no such time is known")
