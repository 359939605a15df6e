"""How long did a system's answers take, and how long those that hold a relevant source?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.section import Spread, SystemLatency
from runner.core.rounding import quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.core.quantities import Quantity
    from runner.core.retrieval.rankings import Latency

LATENCY_RULE: Final = (
    "Microseconds within the trial, from the query's text to the mapped results, of all trials that completed; "
    "quantiles are interpolated linearly between neighbours, half to even."
)
_NONE: Final = Unavailable("no answer says it")


def latency_of(task: str, arm: str, trials: int, answers: Sequence[tuple[Latency, bool]]) -> SystemLatency:
    """What the `answers` of one system took, each with whether it holds a relevant source."""
    return SystemLatency(
        task=task,
        arm=arm,
        trials=trials,
        total=_spread(latency.total_us for latency, _ in answers),
        embed=_spread(latency.embed_us for latency, _ in answers),
        search=_spread(latency.search_us for latency, _ in answers),
        decode=_spread(latency.decode_us for latency, _ in answers),
        first_relevant=_spread(latency.total_us for latency, found in answers if found),
    )


def _spread(quantities: Iterable[Quantity]) -> Spread:
    values = sorted(item.value for item in quantities if isinstance(item, Measured))

    def at(hundredths: int) -> Quantity:
        return Measured(quantile(values, hundredths)) if values else _NONE

    return Spread(queries=len(values), p50_us=at(50), p95_us=at(95), lowest_us=at(0), highest_us=at(100))
