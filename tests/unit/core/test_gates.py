from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from runner.core.gates import AMOUNTS, SHARES, Gate
from runner.summarize.measures import MEASURES


def gate(**changes: str) -> Gate:
    given = {"name": "cheaper", "measure": "cost_microusd", "arm": "memory", "end": "high", **changes}
    if "at_least" not in given:
        given.setdefault("at_most", "0.95")
    return Gate.model_validate_json(json.dumps(given))


def test_bounds_are_exact_decimals_in_the_scale_of_their_figure() -> None:
    """Ratios and shares in parts per million, amounts in thousandths of their unit; both directions."""
    assert gate().bound_scaled == 950_000
    assert gate(figure="mean_difference", at_most="-250.5").bound_scaled == -250_500
    assert gate(figure="median_difference", measure="references", at_least="0.1").bound_scaled == 100_000


def test_gates_and_summaries_know_the_same_measures() -> None:
    """A gate on a measure that no summary has could never be judged."""
    assert {measure.name for measure in MEASURES if measure.kind == "amount"} == set(AMOUNTS)
    assert {measure.name for measure in MEASURES if measure.kind == "share"} == set(SHARES)
    for measure in MEASURES:
        assert gate(measure=measure.name, figure="mean_difference", at_most="1").scale == measure.scale


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"at_least": "1", "at_most": "2"}, "exactly one of at_most and at_least"),
        ({"figure": "ratio", "at_most": "-1"}, "the bound -1 says nothing: the figure of cost_microusd is 0 or more"),
        (
            {"measure": "references", "figure": "mean_difference", "at_most": "1.5"},
            "the bound 1.5 says nothing: the figure of references is from -1 to 1",
        ),
        ({"figure": "mean_difference", "at_most": "0.0001"}, "the bound 0.0001 is finer than 1/1000"),
        ({"at_most": "1e3"}, "should match pattern"),
        ({"end": "middle"}, "Input should be 'low', 'estimate' or 'high'"),
    ],
)
def test_what_cannot_be_judged_is_refused(changes: dict[str, str], said: str) -> None:
    """Before anything runs."""
    with pytest.raises(ValidationError, match=said):
        gate(**changes)
