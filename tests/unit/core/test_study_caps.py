"""Caps that can't be kept, or leave no room for one request, are refused before anything is spent."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from runner.core.prices import LIST_PRICES
from runner.core.resolved import ResolvedTask
from runner.core.spending import cap_problems, spending_for
from runner.core.study import Caps
from tests.fakes.orders import capped_study

PROMPT = "x" * 1000


def problems(model: str = "claude-sonnet-4-5", **caps: Any) -> list[str]:
    study = capped_study(Caps(**caps), model)
    task = ResolvedTask(id="t", corpus="c", prompt=PROMPT, tags=())
    found = cap_problems(study.model_copy(update={"tasks": (task,)}), LIST_PRICES, "study.toml")
    return [f"{problem.key}: {problem.message}" for problem in found]


def test_without_a_cap_nothing_is_asked_for() -> None:
    """Neither a limit of the output nor a price."""
    assert problems(model="nobody-knows") == []


def test_a_cap_needs_a_bound_of_the_output() -> None:
    """Otherwise no worst case is known before a request goes out."""
    assert problems(trial_microusd=10**9) == [
        "caps.output_tokens: a cap needs to know what one request may write at most"
    ]


def test_a_model_without_a_price_cannot_be_capped() -> None:
    """The study is told to bring a table."""
    (found,) = problems(model="nobody-knows", trial_microusd=10**9, output_tokens=1000)
    assert found == "client.model: the model 'nobody-knows' has no price, so nothing it does can be capped"


def test_every_cap_has_room_for_one_request() -> None:
    """1000 bytes and 4000 hidden tokens at 3 dollars per million, 1000 tokens at 15: 30,000 micro-dollars."""
    caps: dict[str, Any] = {"request_microusd": 29_999, "trial_microusd": 29_999, "study_microusd": 30_000}
    assert problems(output_tokens=1000, **caps) == [
        "caps.request_microusd: not even one request fits: it may cost 30000 micro-dollars",
        "caps.trial_microusd: not even one request fits: it may cost 30000 micro-dollars",
    ]


def test_a_cap_beyond_the_trial_needs_one_of_the_trial() -> None:
    """It is what each trial is handed."""
    with pytest.raises(ValidationError, match="trial_microusd is needed"):
        Caps(study_microusd=1)


def test_a_gateway_is_told_the_most_that_a_long_context_can_cost() -> None:
    """A model that is priced below a bound only is reserved for at the highest rate that was seen beyond it."""
    told = spending_for(capped_study(Caps(trial_microusd=1, output_tokens=1)), LIST_PRICES, 5, "trial")
    haiku = next(price for price in told.prices if price.model == "claude-haiku-5-5")
    assert haiku.long_context is not None
    assert (haiku.long_context.from_input_tokens, haiku.long_context.at_most_permille) == (100_001, 5000)
    assert (told.grant_microusd, told.grant_of, told.bounds["output_tokens"]) == (5, "trial", 1)
