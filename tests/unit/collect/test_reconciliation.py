"""Where client and gateway differ, the known reason is named: only when it accounts for the whole difference."""

from __future__ import annotations

from typing import Any

import pytest

from runner.collect.attempt import AttemptResult, collect_attempt
from tests.fakes.attempts import MODEL, exchange, good_control, init, lines, model_usage, result, usage

GOOD = good_control()
KINDS = (
    "bound_broken",
    "cost_guessed",
    "cut_stream_counted",
    "model_remapped",
    "model_substituted",
    "provider_trouble",
    "subagent_left_out",
    "usage_disagrees",
    "usage_missing",
)


def collected(*exchanges: dict[str, Any], **reported: Any) -> AttemptResult:
    """The result of an attempt with these exchanges, whose client reports so much."""
    events = lines(init(), result(modelUsage={MODEL: model_usage(**reported)}))
    return collect_attempt(GOOD.but(exchanges=lines(*exchanges), stdout=events).evidence())


def kinds(found: AttemptResult) -> list[str]:
    return [item.kind for item in found.findings if item.kind in KINDS]


def detail(found: AttemptResult, kind: str) -> str:
    return next(item.detail for item in found.findings if item.kind == kind)


def counts(value: int) -> dict[str, Any]:
    """A usage of `value` in each class."""
    return usage(
        input_tokens=value,
        output_tokens=value,
        cache_read_input_tokens=value,
        cache_write_5m_input_tokens=value,
        cache_write_1h_input_tokens=value,
    )


def says(value: int) -> dict[str, Any]:
    """What a client reports that counted `value` in each class."""
    return {
        "inputTokens": value,
        "outputTokens": value,
        "cacheReadInputTokens": value,
        "cacheCreationInputTokens": 2 * value,
        "cacheCreationEphemeral5mInputTokens": value,
        "cacheCreationEphemeral1hInputTokens": value,
    }


def test_what_agrees_gives_no_finding() -> None:
    """Each class is the same on both sides."""
    assert kinds(collected(exchange(1, usage=counts(10)), exchange(2, usage=counts(20)), **says(30))) == []


@pytest.mark.parametrize(
    ("reported", "words"), [(35, "counted 1 answer (exchange 2) twice"), (25, "left out 1 answer (exchange 2)")]
)
def test_a_cut_stream_that_the_client_counts_otherwise(reported: int, words: str) -> None:
    """Twice or not at all: the difference is exactly what the cut answer used."""
    sent = (exchange(1, usage=counts(25)), exchange(2, cut=True, usage=counts(5)))
    found = collected(*sent, **says(reported))
    assert kinds(found) == ["cut_stream_counted", "usage_disagrees"]
    assert words in detail(found, "cut_stream_counted")


def test_a_sub_agent_that_the_client_leaves_out() -> None:
    """The requests that name an agent are the whole difference, in the background or not."""
    sent = (
        exchange(1, usage=counts(10)),
        exchange(2, usage=counts(7), agent="a1"),
        exchange(3, usage=counts(3), agent="a1"),
    )
    found = collected(*sent, **says(10))
    assert kinds(found) == ["subagent_left_out", "usage_disagrees"]
    assert "2 answers (exchange 2, 3)" in detail(found, "subagent_left_out")


def test_a_difference_that_nothing_accounts_for_stands_alone() -> None:
    """No reason is guessed."""
    found = collected(exchange(1, usage=counts(10)), exchange(2, cut=True, usage=counts(5)), **says(17))
    assert kinds(found) == ["usage_disagrees"]


def test_a_remapped_model_is_told_on_both_sides_of_the_gateway() -> None:
    """Another model was asked for than the study's, and a third one answered."""
    sent = exchange(1, model_asked="claude-opus-5-5", model_resolved="claude-haiku-5-5", usage=counts(10))
    found = collected(sent, **says(10))
    assert "claude-opus-5-5" in detail(found, "model_remapped")
    assert "claude-opus-5-5 -> claude-haiku-5-5: exchange 1" in detail(found, "model_substituted")


def test_a_release_date_is_no_other_model() -> None:
    """Providers answer under the dated name of what was asked."""
    sent = exchange(1, model_resolved=f"{MODEL}-20250929", usage=counts(10))
    assert "model_substituted" not in kinds(collected(sent, **says(10)))


def test_missing_usage_is_told_though_the_client_says_zero() -> None:
    """A class that the answer left out makes the whole of it unavailable, and the client's zeros agree with nothing."""
    left_out = {**counts(10), "output_tokens": {"unavailable": "the answer has no output_tokens"}}
    found = collected(exchange(1, usage=left_out), **says(10))
    assert "usage_missing" in kinds(found)
    assert detail(found, "usage_missing") == "1 answer without usage: exchange 1"
    (observed,) = found.observed
    assert observed.output_tokens.reason == "exchange 1: the answer has no output_tokens"
    assert observed.input_tokens.value == 10


def test_a_guessed_price_is_told() -> None:
    """The client's own word for it, and the amount that it says all the same."""
    found = collected(exchange(1, usage=counts(10)), **says(10), costBasis="unknown")
    assert detail(found, "cost_guessed") == (
        f"the client guessed the price of {MODEL} (cost basis 'unknown'): 34155 micro-dollars"
    )


def test_trouble_of_the_provider_is_counted_by_status() -> None:
    """Each status with the requests that met it."""
    none = {"unavailable": "the answer is an error"}
    sent = [exchange(n, status=status, usage=none) for n, status in ((1, 429), (2, 529), (3, 429))]
    found = collected(*sent, exchange(4, usage=counts(10)), **says(10))
    assert [item.detail for item in found.findings if item.kind == "provider_trouble"] == [
        "2 answers with status 429: exchange 1, 3",
        "1 answer with status 529: exchange 2",
    ]


def test_a_bound_that_an_answer_breaks_is_told() -> None:
    """What cost more than was reserved shows that a declared bound is too low."""
    found = collected(exchange(1, usage=counts(10), charged_microusd=11, reserved_microusd=10), **says(10))
    assert detail(found, "bound_broken") == "1 answer cost more than was reserved: exchange 1"


def test_surcharges_stand_apart_and_thinking_is_summed() -> None:
    """A region and a speed make a rate of their own; what is standard makes none."""
    details = {
        "service_tier": "standard",
        "inference_geo": "us",
        "thinking_tokens": 4,
        "server_tools": {"web_search_requests": 2},
    }
    found = collected(exchange(1, usage=counts(10), details=details), exchange(2, usage=counts(5)), **says(15))
    rates = [(item.rate, item.requests, item.server_tools) for item in found.observed]
    assert rates == [((), 1, {}), (("inference_geo=us",), 1, {"web_search_requests": 2})]
    assert found.observed[1].thinking_tokens.value == 4
