"""What the host says that a request may cost at most is what the gateway reserves for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from gateway.asked import asked_of
from gateway.exchange import Request
from gateway.spending import read_spending

from runner.core.prices import LIST_PRICES
from runner.core.quantities import Measured
from runner.core.request_cost import CACHED_CLASSES, PLAIN_CLASSES, RequestSize, smallest_size, worst_microusd
from runner.core.spending import spending_for
from runner.core.study import Caps, CodexClient, CommandClient
from tests.fakes.orders import capped_study

MODELS = tuple(price.model for price in LIST_PRICES.prices)
SPENDING = read_spending(
    json.loads(spending_for(capped_study(Caps(output_tokens=1)), LIST_PRICES, 1, "trial").model_dump_json())
)


@pytest.mark.parametrize("model", [*MODELS, "claude-sonnet-4-5-20250929"])
@pytest.mark.parametrize("input_tokens", [1, 99_999, 100_000, 100_001, 272_000, 272_001, 1_000_003])
@pytest.mark.parametrize("classes", [PLAIN_CLASSES, CACHED_CLASSES])
def test_both_sides_reckon_alike(model: str, input_tokens: int, classes: tuple[str, ...]) -> None:
    """At every model's bound and beside it, with and without a cache, to the micro-dollar."""
    size = RequestSize(input_tokens, 777, classes)
    asked = asked_of(Request("POST", "/v1/messages", (), b"{}"), SPENDING.bounds)
    theirs = replace(
        asked, input_tokens=size.input_tokens, output_tokens=size.output_tokens, input_classes=size.input_classes
    )
    assert worst_microusd(LIST_PRICES, model, size) == Measured(SPENDING.worst_microusd(model, theirs))


@pytest.mark.parametrize(
    ("model", "microusd"),
    [("claude-opus-5-5", 5_500 + 22_000), ("gpt-6.1-sol", 2 * (2_750 + 11_000)), ("gpt-6-luna", 2 * (138 + 550) - 1)],
)
def test_what_an_account_may_have_set_is_reserved(model: str, microusd: int) -> None:
    """1,000 tokens either way: a tenth more for a region, twice that where the model has a priority tier."""
    size = RequestSize(1000, 1000, CACHED_CLASSES)
    assert worst_microusd(LIST_PRICES, model, size) == Measured(microusd)


def body(**parts: Any) -> bytes:
    return json.dumps({"model": "claude-sonnet-4-5", **parts}).encode()


def test_no_request_with_the_prompt_is_smaller_than_the_smallest() -> None:
    """A command that sends its prompt and nothing else is reserved at least as much as the plan says."""
    study = capped_study(
        Caps(output_tokens=500, input_tokens_per_1000_bytes=333),
        client=CommandClient(kind="command", model="claude-sonnet-4-5", command=("a",)),
        prompts=('Was steht in "config.py"?\n' * 40,),
    )
    size = smallest_size(study, study.arms[0], study.tasks[0], 500)
    bounds = spending_for(study, LIST_PRICES, 1, "trial").bounds
    sent = body(max_tokens=500, messages=[{"role": "user", "content": study.tasks[0].prompt}])
    asked = asked_of(Request("POST", "/v1/messages", (), sent), bounds)
    assert size.input_tokens <= asked.input_tokens < size.input_tokens + 120
    assert (size.output_tokens, size.input_classes) == (asked.output_tokens, asked.input_classes)


def test_a_request_that_does_not_say_how_much_it_writes_counts_with_the_declared_bound() -> None:
    """As Codex's don't."""
    study = capped_study(Caps(output_tokens=8000), client=CodexClient(kind="codex", model="gpt-6.1-sol"))
    bounds = spending_for(study, LIST_PRICES, 1, "trial").bounds
    asked = asked_of(Request("POST", "/v1/responses", (), body(input="?")), bounds)
    size = smallest_size(study, study.arms[0], study.tasks[0], 8000)
    assert (asked.output_tokens, asked.input_classes) == (size.output_tokens, size.input_classes)
