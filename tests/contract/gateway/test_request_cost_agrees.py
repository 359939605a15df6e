"""What the host says that a request may cost at most is what the gateway reserves for it."""

from __future__ import annotations

import json
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
    theirs = type(asked)(size.input_tokens, size.output_tokens, size.input_classes, 0, frozenset())
    assert worst_microusd(LIST_PRICES, model, size) == Measured(SPENDING.worst_microusd(model, theirs))


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
