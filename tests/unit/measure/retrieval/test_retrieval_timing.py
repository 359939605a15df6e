"""Latencies of a system, and those of answers that hold a relevant source."""

from __future__ import annotations

import pytest

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.rankings import Latency
from runner.core.rounding import quantile
from runner.measure.retrieval.timing import latency_of


@pytest.mark.parametrize(
    ("values", "hundredths", "expected"),
    [([7], 95, 7), ([1, 2], 50, 2), ([1, 4], 50, 2), ([0, 100], 95, 95), ([10, 20, 30, 40], 95, 38), ([1, 2, 3], 0, 1)],
)
def test_quantiles_lie_between_neighbours(values: list[int], hundredths: int, expected: int) -> None:
    """Linearly, half to even, as NumPy has them before rounding."""
    assert quantile(values, hundredths) == expected


def latency(total: int | None) -> Latency:
    known = Unavailable("the query failed") if total is None else Measured(total)
    return Latency(trial="t", task="h", query="q", embed_us=known, search_us=known, decode_us=known, total_us=known)


def test_answers_without_a_relevant_source_have_none_to_wait_for() -> None:
    """Failed queries have no time, and are in no quantile."""
    found = latency_of("h", "mine", 2, [(latency(10), True), (latency(30), False), (latency(None), False)])
    assert (found.total.queries, found.total.p50_us, found.total.highest_us) == (2, Measured(20), Measured(30))
    assert (found.first_relevant.queries, found.first_relevant.p50_us) == (1, Measured(10))


def test_nothing_answered_has_no_latency() -> None:
    """And none of 0."""
    found = latency_of("h", "mine", 0, [])
    assert found.total.queries == 0
    assert isinstance(found.total.p95_us, Unavailable)
