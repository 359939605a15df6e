"""Gates on rankings: which figures there are, in which units, and what can't be judged."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from runner.core.gates import Gate


def gate(**changes: str) -> Gate:
    given = {"name": "floor", "measure": "nDCG@10", "arm": "mine", "figure": "value", "end": "estimate", **changes}
    if "at_least" not in given:
        given.setdefault("at_most", "0")
    return Gate.model_validate_json(json.dumps(given))


@pytest.mark.parametrize(
    ("measure", "bound", "scaled"),
    [
        ("nDCG@10", "0.5", 500_000_000),
        ("R@1000", "1", 1_000_000_000),
        ("RR", "0.333333", 333_333_000),
        ("AP", "0.1", 100_000_000),
        ("violations", "3", 3),
        ("foreign_workspace", "0", 0),
        ("failed_queries", "2", 2),
        ("abstention", "0.5", 500_000),
        ("latency_p95_us", "1500", 1_500),
    ],
)
def test_bounds_are_in_the_unit_of_their_figure(measure: str, bound: str, scaled: int) -> None:
    """Measures in 1e-9, shares in parts per million, counts and microseconds as they are."""
    assert gate(measure=measure, at_most=bound).bound_scaled == scaled
    assert gate(measure=measure, at_most=bound).is_retrieval


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"measure": "nDCG@0"}, "is none of"),
        ({"measure": "recall@10"}, "is none of"),
        ({"measure": "R@10", "figure": "ratio"}, "the figure of R@10 must be value or mean_difference, not ratio"),
        ({"measure": "violations", "figure": "mean_difference"}, "the figure of violations must be value"),
        ({"end": "low"}, "a value has no interval: its end must be estimate"),
        ({"measure": "violations", "at_most": "0.5"}, "finer than 1/1"),
        ({"measure": "latency_p50_us", "split": "holdout"}, "latencies are of whole query sets"),
        ({"split": "test"}, "Input should be"),
        ({"measure": "wall_ms"}, "figure value, set, split and kind are of measures of rankings, not of wall_ms"),
        (
            {"measure": "wall_ms", "figure": "ratio", "end": "high", "kind": "literal"},
            "figure value, set, split and kind are of measures of rankings",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(changes: dict[str, str], said: str) -> None:
    """Before anything runs, and with what there is instead."""
    with pytest.raises(ValidationError, match=said):
        gate(**changes)
