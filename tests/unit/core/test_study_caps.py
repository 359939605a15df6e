"""Caps that can't be kept, or leave no room for one request, are refused before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from runner.core.prices import LIST_PRICES
from runner.core.spending import cap_problems, spending_for
from runner.core.study import Caps, ClaudeCodeClient, CodexClient, CommandClient, MessagesClient
from runner.core.usage import TOKEN_CLASSES
from tests.fakes.orders import capped_study

if TYPE_CHECKING:
    from runner.core.study import Client

PROMPT = "x" * 1000


def problems(model: str = "claude-sonnet-4-5", client: Client | None = None, **caps: Any) -> list[str]:
    study = capped_study(Caps(**caps), model, client=client, prompts=(PROMPT,))
    return [f"{item.key}: {item.message} ({item.hint})" for item in cap_problems(study, LIST_PRICES, "study.toml")]


def test_without_a_cap_nothing_is_asked_for() -> None:
    """Neither a limit of the output nor a price."""
    assert problems(model="nobody-knows") == []


def test_a_cap_needs_a_bound_of_the_output() -> None:
    """Otherwise no worst case is known before a request goes out."""
    (found,) = problems(trial_microusd=10**9)
    assert found.startswith("caps.output_tokens: a cap needs to know what one request may write at most (")


def test_a_model_without_a_price_cannot_be_capped() -> None:
    """The study is told to bring a table."""
    (found,) = problems(model="nobody-knows", trial_microusd=10**9, output_tokens=1000)
    assert found == (
        "client.model: the model 'nobody-knows' has no price, so nothing it does can be capped "
        "(bring a table of prices: `prices` of the study)"
    )


def test_what_costs_nothing_cannot_be_capped() -> None:
    """A cap of money would hold nothing back."""
    free = LIST_PRICES.prices[0].model_copy(update=dict.fromkeys(TOKEN_CLASSES, 0))
    table = LIST_PRICES.model_copy(update={"prices": (free, *LIST_PRICES.prices[1:])})
    study = capped_study(Caps(trial_microusd=10**9, output_tokens=1000))
    (found,) = cap_problems(study, table, "study.toml")
    assert str(found) == (
        "study.toml: prices: claude-fable-5-2 costs nothing in the table, so no cap holds back anything it does "
        "(give it its price, or leave the caps out)"
    )


def test_a_cap_has_room_for_one_request_of_every_trial() -> None:
    """A command may send nothing but its prompt: 1,000 bytes of it, 1,000 of instructions, 4,000 hidden tokens and 1.

    6,001 tokens at 3 dollars per million and 1,000 at 15, times 1.1 for a region that the account may have set.
    """
    caps: dict[str, Any] = {"request_microusd": 36_303, "trial_microusd": 36_304, "study_microusd": 36_303}
    command = CommandClient(kind="command", model="claude-sonnet-4-5", command=("a",))
    said = (
        "not even one request of task t1, arm told, fits: with 6001 tokens of input and 1000 of output it may cost "
        "36304 micro-dollars (36304 is the least that would do; with a lower caps.output_tokens less does)"
    )
    assert problems(client=command, output_tokens=1000, **caps) == [
        f"caps.request_microusd: {said}",
        f"caps.study_microusd: {said}",
    ]


def test_a_client_that_caches_its_prompt_pays_for_writing_it() -> None:
    """Claude Code's smallest request has 28,000 bytes of its own, written to the cache at 3.75 dollars per million."""
    (found,) = problems(output_tokens=1000, trial_microusd=1)
    assert found.startswith(
        "caps.trial_microusd: not even one request of this study fits: with 34001 tokens of input and 1000 of output it "
        "may cost 156755 micro-dollars (156755 is the least that would do;"
    )
    plain = ClaudeCodeClient(kind="claude-code", model="claude-sonnet-4-5", env={"DISABLE_PROMPT_CACHING": "1"})
    (found,) = problems(client=plain, output_tokens=1000, trial_microusd=1)
    assert "(128704 is the least that would do;" in found


def test_a_client_that_cannot_be_told_is_counted_with_the_declared_bound() -> None:
    """Codex: 8,000 bytes of its own, 8,000 tokens that nobody tells it about."""
    codex = CodexClient(kind="codex", model="gpt-6.1-sol")
    (found,) = problems(client=codex, output_tokens=8000, trial_microusd=100_000)
    assert "with 14001 tokens of input and 8000 of output it may cost 253006 micro-dollars" in found
    assert problems(client=codex, output_tokens=8000, trial_microusd=253_006) == []


def test_the_lower_of_two_limits_of_the_output_counts() -> None:
    """The client is told that one."""
    own = MessagesClient(kind="messages", model="claude-sonnet-4-5", max_output_tokens=2000)
    assert capped_study(Caps(output_tokens=9000), client=own).output_tokens == 2000
    assert capped_study(Caps(output_tokens=500), client=own).output_tokens == 500
    assert capped_study(Caps(output_tokens=500), client=own).told_output_tokens == 500
    codex = CodexClient(kind="codex", model="gpt-6.1-sol")
    assert capped_study(Caps(output_tokens=500), client=codex).told_output_tokens is None


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
