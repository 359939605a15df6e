"""Missing is a value with a reason, and never a number."""

from __future__ import annotations

import pytest

from runner.core.errors import EvidenceError
from runner.core.quantities import Measured, Quantity, Unavailable, parse_quantity, quantity_json, total
from runner.core.usage import ModelUsage, all_tokens, class_total

REASON = Unavailable("the provider sent none")


@pytest.mark.parametrize(
    ("quantity", "text"), [(Measured(0), 0), (Measured(-5), -5), (REASON, {"unavailable": REASON.reason})]
)
def test_a_quantity_reads_back(quantity: Quantity, text: object) -> None:
    """An integer, or why there is none."""
    assert quantity_json(quantity) == text
    assert parse_quantity(text, "tokens") == quantity


@pytest.mark.parametrize("value", [None, True, 1.0, "1", {}, {"unavailable": 5}, {"unavailable": "x", "more": 1}, []])
def test_nothing_else_is_a_quantity(value: object) -> None:
    """Neither nothing, nor a boolean, nor a text."""
    with pytest.raises(EvidenceError) as caught:
        parse_quantity(value, "tokens")
    assert caught.value.problems[0].key == "tokens"


def test_a_sum_with_a_gap_is_a_gap() -> None:
    """The first reason stands for all; the sum of nothing is 0."""
    assert total([Measured(1), Measured(2)]) == Measured(3)
    assert total([]) == Measured(0)
    assert total([Measured(1), REASON, Unavailable("another")]) == REASON


def usage(model: str, output: Quantity) -> ModelUsage:
    return ModelUsage(
        model=model,
        requests=1,
        input_tokens=Measured(10),
        output_tokens=output,
        cache_read_input_tokens=Measured(100),
        cache_write_5m_input_tokens=Measured(1000),
        cache_write_1h_input_tokens=Measured(10000),
    )


def test_tokens_are_summed_by_class_and_over_all() -> None:
    """No class is contained in another."""
    both = (usage("one", Measured(1)), usage("two", Measured(2)))
    assert class_total(both, "output_tokens") == Measured(3)
    assert all_tokens(both) == Measured(22223)
    assert all_tokens((*both, usage("three", REASON))) == REASON
    assert class_total((*both, usage("three", REASON)), "input_tokens") == Measured(30)
