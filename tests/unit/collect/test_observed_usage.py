"""What the gateway saw is folded by model and owner, and compared with what the client says."""

from __future__ import annotations

from typing import Any

from runner.collect.attempt import AttemptResult, collect_attempt
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES, ModelUsage, class_total
from tests.fakes.attempts import (
    MODEL,
    container,
    exchange,
    good_control,
    good_treatment,
    init,
    lines,
    model_usage,
    result,
    usage,
)

GOOD, TREATED = good_control(), good_treatment()
HAIKU = "claude-haiku-4-5"


def collected(*exchanges: dict[str, Any]) -> AttemptResult:
    """The result of an attempt with these exchanges."""
    return collect_attempt(GOOD.but(exchanges=lines(*exchanges)).evidence())


def figures(usage_of_model: ModelUsage) -> tuple[object, ...]:
    """Model, requests, and each class: the number, or the reason why there is none."""
    quantities = [usage_of_model.tokens(name) for name in TOKEN_CLASSES]
    return (
        usage_of_model.model,
        usage_of_model.requests,
        *(quantity.value if isinstance(quantity, Measured) else quantity.reason for quantity in quantities),
    )


def findings(found: AttemptResult, kind: str) -> list[str]:
    """Details of the findings of one kind."""
    return [finding.detail for finding in found.findings if finding.kind == kind]


def test_requests_of_one_model_are_summed() -> None:
    """Every class is the sum over the exchanges."""
    found = collected(exchange(1), exchange(2, usage=usage(input_tokens=7)))
    assert [figures(item) for item in found.observed] == [(MODEL, 2, 1007, 100, 6000, 1000, 3000)]


def test_models_stand_apart_by_the_name_that_answered() -> None:
    """The resolved name counts; where the answer names none, the one asked for."""
    found = collected(
        exchange(1), exchange(2, model_asked="haiku", model_resolved=HAIKU), exchange(3, model_resolved=None)
    )
    assert [(item.model, item.requests) for item in found.observed] == [(HAIKU, 1), (MODEL, 2)]


def test_the_memory_s_requests_are_counted_apart() -> None:
    """A request with the memory's token is none of the client's."""
    attempt = TREATED.but(exchanges=lines(exchange(1), exchange(2), exchange(3, owner="memory", model_resolved=HAIKU)))
    found = collect_attempt(attempt.evidence())
    assert [(item.model, item.requests) for item in found.observed] == [(MODEL, 2)]
    assert [(item.model, item.requests) for item in found.observed_memory] == [(HAIKU, 1)]


def test_an_answer_without_usage_makes_every_class_unavailable() -> None:
    """Missing usage is never zero: no sum hides it, and what is known of the others stays known beside it."""
    found = collected(exchange(1), exchange(2, usage={"unavailable": "no message_start"}))
    reason = "exchange 2: no message_start"
    assert [figures(item) for item in found.observed] == [
        (MODEL, 1, 1000, 50, 3000, 500, 1500),
        (MODEL, 1, reason, reason, reason, reason, reason),
    ]
    assert class_total(found.observed, "input_tokens") == Unavailable(reason)
    assert findings(found, "usage_missing") == ["1 answer without usage: exchange 2"]


def test_the_input_of_a_cut_answer_is_known() -> None:
    """It is spend; only what the model had written by then isn't known."""
    cut = {**usage(input_tokens=7), "output_tokens": {"unavailable": "cut before the final usage"}}
    found = collected(exchange(1), exchange(2, cut=True, usage=cut))
    reason = "exchange 2: cut before the final usage"
    assert [figures(item) for item in found.observed] == [
        (MODEL, 1, 1000, 50, 3000, 500, 1500),
        (MODEL, 1, 7, reason, 3000, 500, 1500),
    ]


def test_prompts_are_told_apart_by_their_length() -> None:
    """Providers charge a long one at another rate: beyond 100,000, 200,000 or 272,000 tokens, caches included."""
    sizes = (10, 94_999, 95_001, 300_000)
    found = collected(*(exchange(n, usage=usage(input_tokens=size)) for n, size in enumerate(sizes, 1)))
    assert [
        (item.requests, item.input_tokens, item.shortest_prompt_tokens, item.longest_prompt_tokens)
        for item in found.observed
    ] == [
        (2, Measured(95_009), Measured(5_010), Measured(99_999)),
        (1, Measured(95_001), Measured(100_001), Measured(100_001)),
        (1, Measured(300_000), Measured(305_000), Measured(305_000)),
    ]


def test_requests_at_different_rates_are_compared_with_the_client_s_report_together() -> None:
    """A client says what a model used, not at which rate."""
    found = collected(exchange(1), exchange(2, details={"inference_geo": "us"}))
    assert [item.rate for item in found.observed] == [(), ("inference_geo=us",)]
    assert findings(found, "usage_disagrees") == []


def test_what_no_model_answered_is_not_usage() -> None:
    """Refusals, errors of the provider, counts of tokens and look-ups cost nothing and count nothing."""
    none = {"unavailable": "none"}
    found = collected(
        exchange(1),
        exchange(2),
        exchange(3, status=401, owner="unknown", refused="unauthorized", usage=none),
        exchange(4, status=529, usage=none),
        exchange(5, path="/v1/messages/count_tokens", usage=none),
        exchange(6, method="HEAD", path="/api/hello", status=404, refused="not_served", usage=none),
    )
    assert [figures(item) for item in found.observed] == [(MODEL, 2, 2000, 100, 6000, 1000, 3000)]
    assert findings(found, "usage_missing") == []
    assert findings(found, "refused_requests") == [
        "not_served: 1 request: exchange 6",
        "unauthorized: 1 request: exchange 3",
    ]


def test_an_error_that_carries_usage_counts() -> None:
    """A provider that bills an error says so, and it is spend."""
    found = collected(exchange(1), exchange(2), exchange(3, status=500))
    assert [(item.model, item.requests) for item in found.observed] == [(MODEL, 3)]


def test_a_request_sent_again_counts_again() -> None:
    """Both answers are paid, and a reader is told."""
    found = collected(exchange(1), exchange(2, resend_of=1))
    assert [(item.model, item.requests) for item in found.observed] == [(MODEL, 2)]
    assert findings(found, "resent_requests") == ["1 request sent again: exchange 2"]


def test_agreement_is_no_finding() -> None:
    """Equal figures in every class say nothing."""
    assert [finding.kind for finding in collected(exchange(1), exchange(2)).findings] == []


def test_each_class_that_differs_is_named_with_both_figures() -> None:
    """Neither figure is taken for the right one, and nothing is averaged."""
    found = collected(exchange(1), exchange(2, usage=usage(input_tokens=900, output_tokens=51)))
    assert findings(found, "usage_disagrees") == [
        f"{MODEL}: input_tokens reported 2000, observed 1900; output_tokens reported 100, observed 101"
    ]
    assert [figures(item)[2] for item in found.observed] == [1900]
    assert [figures(item)[2] for item in found.reported] == [2000]


def test_a_cut_stream_explains_a_difference() -> None:
    """The finding says that an answer was cut, because the client may count it or not."""
    found = collected(exchange(1), exchange(2), exchange(3, cut=True))
    assert findings(found, "usage_disagrees") == [
        f"{MODEL}: input_tokens reported 2000, observed 3000; output_tokens reported 100, observed 150; "  # noqa: ISC004
        "cache_read_input_tokens reported 6000, observed 9000; cache_write_5m_input_tokens reported 1000, observed 1500; "
        "cache_write_1h_input_tokens reported 3000, observed 4500 (1 answer cut: the client may count that or not)"
    ]
    assert findings(found, "cut_stream") == ["1 answer cut: exchange 3"]


def test_models_that_both_sides_name_differently_are_compared_together() -> None:
    """A dated or fixture name on the wire is no difference in usage."""
    dated = f"{MODEL}-20250929"
    found = collected(exchange(1, model_resolved=dated), exchange(2, model_resolved=dated))
    assert findings(found, "usage_disagrees") == []


def test_unavailable_usage_is_not_compared() -> None:
    """Nothing differs from a figure that isn't there; that it isn't there is its own finding."""
    missing = result(modelUsage={MODEL: model_usage(inputTokens=0, outputTokens=0)})
    found = collect_attempt(GOOD.but(stdout=lines(init(), missing)).evidence())
    assert findings(found, "usage_disagrees") == []
    assert len(findings(found, "usage_missing")) == 1


def test_another_model_than_the_study_s_is_found() -> None:
    """Whether the client says it or only the gateway saw it."""
    by_client = collect_attempt(GOOD.but(stdout=lines(init() | {"model": "claude-opus-5-5"}, result())).evidence())
    by_gateway = collected(exchange(1), exchange(2, model_asked="claude-opus-5-5"))
    for found in (by_client, by_gateway):
        assert findings(found, "model_remapped") == [f"{MODEL} was to be asked, found claude-opus-5-5"]


def test_a_damaged_line_leaves_no_total_that_looks_complete() -> None:
    """What it held can't be known, so unknown usage stands beside what was read."""
    found = collect_attempt(GOOD.but(exchanges=lines(exchange(1)) + b"{\n").evidence())
    reason = "lost from exchanges.jsonl: 1 exchange"
    assert [figures(item) for item in found.observed] == [
        (MODEL, 1, 1000, 50, 3000, 500, 1500),
        ("(unknown)", 1, reason, reason, reason, reason, reason),
    ]
    assert len(findings(found, "corrupt_log")) == 1


def test_an_absent_exchange_leaves_no_total_that_looks_complete() -> None:
    """Numbers have no gap in a whole log."""
    found = collected(exchange(1), exchange(4))
    reason = "lost from exchanges.jsonl: 2 exchanges"
    assert [figures(item) for item in found.observed] == [
        (MODEL, 2, 2000, 100, 6000, 1000, 3000),
        ("(unknown)", 2, reason, reason, reason, reason, reason),
    ]
    assert findings(found, "corrupt_log") == ["exchanges.jsonl lacks 2, 3"]


def test_refusals_beyond_the_record_limit_are_not_absent() -> None:
    """The gateway says once that it stops recording; what it refuses then costs nothing."""
    full = exchange(3, status=400, refused="record_limit", usage={"unavailable": "refused"})
    found = collected(exchange(1), full, exchange(9, status=400, refused="record_limit", usage={"unavailable": "x"}))
    assert [item.requests for item in found.observed] == [1]
    assert findings(found, "corrupt_log") == []


def test_lost_exchanges_are_unknown_spend_and_none_where_no_trial_ran() -> None:
    """A trial that ran may have asked a model; one that never started can't have."""
    lost = collect_attempt(GOOD.but(exchanges=None).evidence())
    reason = "exchanges.jsonl is missing"
    assert [figures(item) for item in lost.observed] == [("(unknown)", 0, reason, reason, reason, reason, reason)]
    for trial in (None, container("trial", started_at="0001-01-01T00:00:00Z")):
        never = collect_attempt(GOOD.but(exchanges=None, exit=None, trial=trial, hint="sidecar_not_ready").evidence())
        assert never.observed == ()


def test_damage_of_the_sidecar_s_log_is_told() -> None:
    """It changes no figure of the trial, and a reader must know."""
    found = collect_attempt(TREATED.but(sidecar_log=b'{"event":"request"}\nnoise\n').evidence())
    assert found.outcome == "completed"
    assert findings(found, "corrupt_log") == ["sidecar.jsonl line 1: seq: missing"]


def test_leftover_processes_and_truncated_output_are_told() -> None:
    """What the supervisor had to kill, and that not all output was kept."""
    exit_report = dict(GOOD.exit or {}) | {
        "killed": [{"pid": 41, "comm": "python3", "uid": 10002}, {"pid": 42, "comm": "bash", "uid": 10002}],
        "stderr_truncated": True,
    }
    found = collect_attempt(GOOD.but(exit=exit_report).evidence())
    assert findings(found, "processes_killed") == ["2 outlived the client: bash, python3"]
    assert findings(found, "output_truncated") == ["the client wrote more than was kept"]


def test_undeclared_tools_are_told() -> None:
    """A tool that the client offers beyond the study is visible, whatever became of it."""
    found = collect_attempt(GOOD.but(stdout=lines(init(tools=("Read", "Grep", "Glob", "Bash")), result())).evidence())
    assert findings(found, "tools_undeclared") == ["Bash"]
    assert isinstance(found.timing.wall_ms, Measured)
    assert not isinstance(found.turns, Unavailable)
