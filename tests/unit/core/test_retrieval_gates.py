"""Gates on rankings: which figures there are, in which units, and what can't be judged."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from runner.core.gates import Gate, measure_fault


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
        ({"at_most": "1.1"}, "the bound 1.1 says nothing: the figure of nDCG@10 is from 0 to 1"),
        ({"at_least": "-0.1"}, "the bound -0.1 says nothing"),
        ({"measure": "abstention", "at_most": "2"}, "the figure of abstention is from 0 to 1"),
        ({"figure": "mean_difference", "at_most": "1.000001"}, "the figure of nDCG@10 is from -1 to 1"),
        ({"measure": "violations", "at_least": "-1"}, "the figure of violations is 0 or more"),
        ({"measure": "latency_p50_us", "at_most": "-1"}, "the figure of latency_p50_us is 0 or more"),
        ({"measure": "RR", "kind": "no_answer"}, "queries without an answer have no RR: theirs is abstention"),
        ({"measure": "abstention", "kind": "literal"}, "abstention is of queries without an answer"),
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


@pytest.mark.parametrize(
    ("measure", "hint"),
    [
        ("nDGC@10", "did you mean nDCG@10?"),
        ("ndcg@5", "did you mean nDCG@5?"),
        ("recall@10", "did you mean R@10?"),
        ("Recall", "did you mean R@k?"),
        ("nDCG@0", "did you mean nDCG@k?"),
        ("MRR", "did you mean RR?"),
        ("violation", "did you mean violations?"),
        ("violation@5", ""),
        ("quality", ""),
        ("cost_microusd", ""),
    ],
)
def test_a_measure_that_rankings_do_not_have_is_told_with_those_they_have(measure: str, hint: str) -> None:
    """And none of a model's."""
    assert measure_fault(measure, is_retrieval=True) == (
        (
            f"{measure!r} is none of R@k, P@k, nDCG@k, Judged@k, RR, AP, violations, foreign_workspace, deleted, expired, "
            "not_yet_known, failed_queries, unmapped_results, abstention, latency_p50_us, latency_p95_us, wall_ms"
        ),
        hint,
    )


def test_other_studies_have_no_measure_of_rankings_to_offer() -> None:
    """Theirs are of a model, a client and a memory."""
    message, hint = measure_fault("total_token", is_retrieval=False)
    assert message.startswith("'total_token' is none of cost_microusd, ")
    assert "nDCG" not in message
    assert hint == "did you mean total_tokens?"
    assert measure_fault("wall_ms", is_retrieval=False) == measure_fault("wall_ms", is_retrieval=True) == ("", "")
