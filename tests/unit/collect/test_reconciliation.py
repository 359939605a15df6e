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
    "key_returned",
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


def test_a_sub_agent_that_was_left_behind_is_more_than_a_cut_answer() -> None:
    """The client ended before it; that its answer was cut follows from that."""
    sent = (exchange(1, usage=counts(10)), exchange(2, usage=counts(7), agent="a1", cut=True))
    found = collected(*sent, **says(10))
    assert kinds(found) == ["subagent_left_out", "usage_disagrees"]
    assert "1 answer (exchange 2) of a sub-agent" in detail(found, "subagent_left_out")


def test_a_cut_answer_whose_output_the_client_counted_by_itself() -> None:
    """All input agrees, and it is short of a part of that output."""
    sent = (exchange(1, usage=counts(10)), exchange(2, cut=True, usage=counts(5)))
    found = collected(*sent, **says(15) | {"outputTokens": 11})
    assert kinds(found) == ["cut_stream_counted", "usage_disagrees"]
    assert detail(found, "cut_stream_counted") == "the client counted an output of its own for 1 answer (exchange 2)"


@pytest.mark.parametrize("output", [9, 10, 16])
def test_an_output_that_no_cut_answer_accounts_for_stands_alone(output: int) -> None:
    """Less than all others had, nothing of it at all, or more than there was."""
    sent = (exchange(1, usage=counts(10)), exchange(2, cut=True, usage=counts(5)))
    assert kinds(collected(*sent, **says(15) | {"outputTokens": output})) == ["usage_disagrees"]


BEGUN = {**counts(5), "output_tokens": {"unavailable": "cut before the final usage"}}
NOTHING = {"unavailable": "cut before any usage"}


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        # What the gateway knows is compared, and the cut answer is all that is missing from it.
        (says(10), ["usage_missing", "cut_stream_counted", "usage_disagrees"]),
        (says(15) | {"outputTokens": 13}, ["usage_missing", "cut_stream_counted"]),
        (says(15) | {"outputTokens": 10}, ["usage_missing"]),
        (says(12), ["usage_missing", "usage_disagrees"]),
    ],
)
def test_a_cut_answer_whose_output_nobody_knows(reported: dict[str, Any], expected: list[str]) -> None:
    """Its input is known on both sides; an output of the client's own is told as such."""
    found = collected(exchange(1, usage=counts(10)), exchange(2, cut=True, usage=BEGUN), **reported)
    assert sorted(kinds(found)) == sorted(expected)
    if reported["outputTokens"] == 13:
        words = "the client counted 1 answer (exchange 2) with 3 output tokens of its own count"
        assert detail(found, "cut_stream_counted") == words


@pytest.mark.parametrize(
    ("unsaid", "kind", "words"),
    [
        ({"cut": True}, "cut_stream_counted", "the client left out 1 answer (exchange 2)"),
        (
            {"cut": True, "agent": "a1"},
            "subagent_left_out",
            "the client left out 1 answer (exchange 2) of a sub-agent",
        ),
        ({}, "usage_missing", "the client counted nothing for 1 answer (exchange 2)"),
        ({"agent": "a1"}, "usage_missing", "the client counted nothing for 1 answer (exchange 2)"),
    ],
)
def test_an_answer_of_which_nobody_knows_anything(unsaid: dict[str, Any], kind: str, words: str) -> None:
    """The client's figures are those of all others: it counted nothing for that one."""
    found = collected(exchange(1, usage=counts(10)), exchange(2, usage=NOTHING, **unsaid), **says(10))
    assert words in [item.detail for item in found.findings if item.kind == kind]
    more = collected(exchange(1, usage=counts(10)), exchange(2, usage=NOTHING, **unsaid), **says(11))
    assert kinds(more) == ["usage_missing"]


def test_two_models_are_compared_one_by_one() -> None:
    """A difference of one isn't accounted for by an answer of the other."""
    sent = (
        exchange(1, usage=counts(10), model_resolved=MODEL),
        exchange(2, usage=counts(5), cut=True, model_asked="claude-haiku-5-5", model_resolved="claude-haiku-5-5"),
    )
    reported = {MODEL: model_usage(**says(5)), "claude-haiku-5-5": model_usage(**says(5))}
    events = lines(init(), result(modelUsage=reported))
    found = collect_attempt(GOOD.but(exchanges=lines(*sent), stdout=events).evidence())
    assert kinds(found) == ["usage_disagrees", "model_remapped"]
    assert detail(found, "usage_disagrees").startswith(f"{MODEL}: input_tokens reported 5, observed 10")


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


def test_a_script_may_answer_as_another_policy() -> None:
    """The one that plays every model is no substitute for it; another one plays a provider that substitutes."""
    sent = exchange(1, model_resolved="another-policy (fixture)", usage=counts(10))
    found = collected(sent, **says(10))
    assert kinds(found) == ["model_substituted"]
    assert detail(found, "model_substituted") == f"{MODEL} -> another-policy (fixture): exchange 1"
    assert kinds(collected(exchange(1, model_resolved="scripted-policy (fixture)", usage=counts(10)), **says(10))) == []


def test_a_client_that_names_what_answered_asked_nothing_else() -> None:
    """Its report repeats the provider's word, which is a finding of its own."""
    events = lines(init(), result(modelUsage={"claude-haiku-4-5": model_usage(**says(10))}))
    sent = exchange(1, model_resolved="claude-haiku-4-5", usage=counts(10))
    found = collect_attempt(GOOD.but(exchanges=lines(sent), stdout=events).evidence())
    assert kinds(found) == ["model_substituted"]


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


def test_a_key_that_comes_back_is_told() -> None:
    """Whoever holds it knows then that the provider tells it."""
    found = collected(exchange(1, usage=counts(10)), exchange(2, usage=counts(10), key_returned=True), **says(20))
    assert detail(found, "key_returned") == "1 answer with the provider's key, ended before it passed: exchange 2"


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
