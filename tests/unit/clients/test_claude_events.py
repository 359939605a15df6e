"""What each event of Claude Code becomes, damaged and hostile ones included."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.clients.claude_code import ClaudeCode
from runner.clients.claude_events import claude_ending, claude_events
from runner.clients.client import ClientReport, Ending
from runner.core.events import (
    ApiRetry,
    AssistantText,
    ClientReady,
    Corrupt,
    Event,
    Ignored,
    ModelFallback,
    PermissionDenied,
    Result,
    ServerState,
    ToolResult,
    ToolUse,
)
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES
from tests.fakes.attempts import MODEL, init, lines, model_usage, result, treated


def events(*values: Any) -> list[Event]:
    """The events of a stream of these values."""
    return list(claude_events(lines(*values)))


def report(*values: Any) -> ClientReport:
    """The report of a stream of these values."""
    return ClaudeCode().parse(lines(*values), b"")


def assistant(*blocks: dict[str, Any], model: str = MODEL) -> dict[str, Any]:
    """An event of the model's."""
    return {"type": "assistant", "message": {"model": model, "content": list(blocks), "usage": {"output_tokens": 1}}}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    """An event of the client's."""
    return {"type": "user", "message": {"content": list(blocks)}}


@pytest.mark.parametrize(
    ("value", "event"),
    [
        (
            treated(),
            ClientReady(
                ("Glob", "Grep", "Read", "mcp__fix__lookup"), (ServerState("fix", "connected"),), MODEL, "2.1.332"
            ),
        ),
        (assistant({"type": "text", "text": "hi"}), AssistantText("hi", MODEL, synthetic=False)),
        (
            assistant({"type": "text", "text": "API Error"}, model="<synthetic>"),
            AssistantText("API Error", "<synthetic>", synthetic=True),
        ),
        (assistant({"type": "tool_use", "id": "t1", "name": "Read", "input": {}}), ToolUse("t1", "Read")),
        (assistant({"type": "thinking", "thinking": ""}), Ignored("assistant/thinking")),
        (user({"type": "tool_result", "tool_use_id": "t1", "content": "x"}), ToolResult("t1", error=False)),
        (
            user({"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True}),
            ToolResult("t1", error=True),
        ),
        ({"type": "user", "message": {"content": "go on"}}, Ignored("user/text")),
        (
            {"type": "system", "subtype": "api_retry", "attempt": 2, "error_status": 529, "error": "overloaded"},
            ApiRetry(2, Measured(529), "overloaded"),
        ),
        (
            {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": None, "error": "unknown"},
            ApiRetry(1, Unavailable("error_status is missing"), "unknown"),
        ),
        (
            {"type": "system", "subtype": "permission_denied", "tool_use_id": "t1", "tool_name": "Write"},
            PermissionDenied("t1", "Write"),
        ),
        (
            {"type": "system", "subtype": "model_fallback", "original_model": "a", "fallback_model": "b"},
            ModelFallback("a", "b"),
        ),
        ({"type": "system", "subtype": "ui_invalidate"}, Ignored("system/ui_invalidate")),
        ({"type": "rate_limit_event", "rate_limit_info": {}}, Ignored("rate_limit_event")),
        ({"type": "from_the_future"}, Ignored("from_the_future")),
    ],
)
def test_an_event_becomes_its_type(value: dict[str, Any], event: Event) -> None:
    """One content block is one event; unknown kinds are ignored, not refused."""
    assert events(value) == [event]


@pytest.mark.parametrize(
    ("stream", "corrupt"),
    [
        (b"not json\n", (1, "not JSON: Expecting value: line 1 column 1 (char 0)")),
        (b'{"type": "x"}\n{"type": "assis', (2, "the stream ends within it")),
        (b"\n\n\xff\xfe\n", (3, "not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte")),
        (b"42\n", (1, "not a JSON object")),
        (b'{"a": 1}\n', (1, "type is not a text")),
        (b'{"type": "x", "type": "y"}\n', (1, "not JSON: key 'type' stands twice")),
        (b'{"type": "result", "is_error": "no"}\n', (1, "a result without is_error")),
        (b'{"type": "result", "is_error": false, "modelUsage": 3}\n', (1, "modelUsage is not an object")),
        (b'{"type": "assistant", "message": []}\n', (1, "message is not an object")),
        (b'{"type": "assistant", "message": {"content": 7}}\n', (1, "content is not a list")),
        (b'{"type": "system", "subtype": "init", "mcp_servers": [], "tools": [1]}\n', (1, "tools is not a text")),
    ],
)
def test_a_damaged_line_is_counted_with_its_number(stream: bytes, corrupt: tuple[int, str]) -> None:
    """Whatever is wrong with it, the rest of the stream is read."""
    found = list(claude_events(stream + b"\n" if stream.endswith(b"\n") else stream))
    assert [event for event in found if isinstance(event, Corrupt)] == [Corrupt(*corrupt)]


def test_a_line_nested_without_end_is_damage() -> None:
    """A stream can't exhaust the reader's stack."""
    (event,) = claude_events(b'{"a":' * 100_000 + b"\n")
    assert isinstance(event, Corrupt)


def test_damage_doesn_t_hide_the_result() -> None:
    """Good lines around a bad one count, and the report tells how many were bad."""
    stream = lines(init()) + b"\x00\x01\n{]\n" + lines(result())
    found = ClaudeCode().parse(stream, b"")
    assert (found.ending, found.answer, found.corrupt_lines) == (Ending.OK, "The answer is 42.", 2)
    assert [finding.kind for finding in found.findings] == ["corrupt_events"]


def test_lone_surrogates_are_replaced() -> None:
    """Text from a hostile stream can always be written down again."""
    stream = lines(init()) + json.dumps(result(result="a\ud800b")).encode() + b"\n"
    assert ClaudeCode().parse(stream, b"").answer == "a\ufffd\ufffd\ufffdb"


def test_a_list_of_events_is_read_like_a_stream() -> None:
    """`--output-format json` prints one list."""
    assert report([init(), result()]).answer == "The answer is 42."


def test_usage_of_assistant_events_is_never_summed() -> None:
    """It repeats the beginning of the answer with each block; the result's models count."""
    found = report(init(), assistant({"type": "text", "text": "a"}, {"type": "text", "text": "b"}), result())
    assert [found.reported[0].tokens(name) for name in TOKEN_CLASSES] == [
        Measured(2000),
        Measured(100),
        Measured(6000),
        Measured(1000),
        Measured(3000),
    ]


def test_the_last_of_several_results_counts_and_turns_add_up() -> None:
    """Models and cost are cumulative, turns are not."""
    second = result(
        num_turns=1, result="Done.", total_cost_usd=0.1, modelUsage={MODEL: model_usage(inputTokens=5000, costUSD=0.1)}
    )
    found = report(init(), result(), second)
    assert (found.answer, found.turns, found.cost_microusd) == ("Done.", Measured(3), Measured(100_000))
    assert found.reported[0].tokens("input_tokens") == Measured(5000)


def test_a_success_after_a_failure_is_not_the_clients_word() -> None:
    """A client that failed says nothing more; whoever runs as its user can."""
    failed = result(is_error=True, terminal_reason="aborted_tools", errors=["Interrupted"])
    found = report(init(), failed, result())
    assert (found.ending, found.answer) == (Ending.CONTRADICTORY, "")
    assert found.reason == "the client's last result is a success, and one before it isn't: aborted_tools: Interrupted"


def test_an_error_after_a_success_is_an_error() -> None:
    """The last result says how the client ended."""
    found = report(init(), result(), result(is_error=True, terminal_reason="max_turns", errors=["Reached"]))
    assert (found.ending, found.reason, found.answer) == (Ending.CAP, "Reached", "")


def test_a_later_start_that_says_something_else_is_found() -> None:
    """An equal one says nothing; a server that was lost does."""
    lost = treated() | {"mcp_servers": [{"name": "fix", "status": "failed"}]}
    assert [finding.kind for finding in report(init(), init(), result()).findings] == []
    assert [finding.kind for finding in report(treated(), lost, result()).findings] == ["ready_changed"]


@pytest.mark.parametrize(
    ("changes", "cost", "five_minutes"),
    [
        ({}, Measured(34155), Measured(1000)),
        ({"costBasis": "managed"}, Measured(34155), Measured(1000)),
        (
            {"costBasis": "unknown"},
            Unavailable(f"the client guessed the price of {MODEL} (cost basis 'unknown')"),
            Measured(1000),
        ),
        (
            {"inputTokens": 0, "outputTokens": 0},
            Unavailable("the client reported neither input nor output tokens"),
            Unavailable("the client reported neither input nor output tokens"),
        ),
        (
            {"cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0},
            Measured(34155),
            Unavailable("the client didn't split its 4000 cache writes by time-to-live"),
        ),
        ({"inputTokens": 2**53}, Measured(34155), Measured(1000)),
    ],
)
def test_what_the_client_doesn_t_know_is_unavailable(changes: dict[str, Any], cost: Any, five_minutes: Any) -> None:
    """A guessed price, missing usage and unsplit cache writes are no figures."""
    found = report(init(), result(modelUsage={MODEL: model_usage(**changes)}))
    assert (found.cost_microusd, found.reported[0].tokens("cache_write_5m_input_tokens")) == (cost, five_minutes)


def test_absurd_figures_are_unavailable() -> None:
    """Numbers that canonical JSON can't hold, and ones that aren't numbers."""
    usage = model_usage(inputTokens=2**53, outputTokens=-1, cacheReadInputTokens="9")
    (found,) = report(init(), result(modelUsage={MODEL: usage})).reported
    assert [found.tokens(name) for name in TOKEN_CLASSES[:3]] == [
        Unavailable("inputTokens is out of range"),
        Unavailable("outputTokens is out of range"),
        Unavailable("cacheReadInputTokens is not an integer"),
    ]


@pytest.mark.parametrize(
    ("changes", "ending", "reason"),
    [
        ({}, Ending.OK, ""),
        ({"subtype": "error_odd"}, Ending.OK, ""),
        ({"terminal_reason": "max_turns", "errors": ["Reached"]}, Ending.CAP, "Reached"),
        ({"terminal_reason": "budget_exhausted", "errors": ["Reached"]}, Ending.CAP, "Reached"),
        (
            {"terminal_reason": "api_error", "api_error": "max_output_tokens", "result": "Too long"},
            Ending.CAP,
            "Too long",
        ),
        (
            {"terminal_reason": "api_error", "api_error_status": 529, "result": "Busy"},
            Ending.PROVIDER_ERROR,
            "status 529: Busy",
        ),
        (
            {"terminal_reason": "api_error", "api_error": "connection_failed", "result": "No"},
            Ending.PROVIDER_ERROR,
            "connection_failed: No",
        ),
        (
            {"terminal_reason": "api_error", "stop_reason": "refusal", "result": "No"},
            Ending.PROVIDER_ERROR,
            "the model refused: No",
        ),
        ({"terminal_reason": "api_error", "result": "No"}, Ending.PROVIDER_ERROR, "No"),
        (
            {"terminal_reason": "prompt_too_long", "api_error_status": 400, "result": "Long"},
            Ending.PROVIDER_ERROR,
            "status 400: Long",
        ),
        (
            {"terminal_reason": "aborted_streaming", "errors": ["a", "b"]},
            Ending.CLIENT_ERROR,
            "aborted_streaming: a; b",
        ),
        ({"terminal_reason": None, "result": None}, Ending.CLIENT_ERROR, "error: an error without a message"),
    ],
)
def test_an_end_follows_from_error_flag_and_terminal_reason(
    changes: dict[str, Any], ending: Ending, reason: str
) -> None:
    """A subtype of success proves nothing, and neither does one of error."""
    error = "terminal_reason" in changes
    (event,) = events(result(is_error=error, **changes))
    assert isinstance(event, Result)
    assert claude_ending(event) == (ending, reason)


def test_no_result_leaves_the_client_s_last_words() -> None:
    """The last line of standard error that says something."""
    found = ClaudeCode().parse(b"", b"warning: x\nerror: unknown option\n\n")
    assert (found.ending, found.reason) == (Ending.UNSAID, "error: unknown option")
    assert found.turns == Unavailable("the client gave no result")


def test_repeated_call_ids_count_as_many_calls() -> None:
    """A result belongs to the latest call of its id."""
    call = assistant({"type": "tool_use", "id": "t1", "name": "Read"})
    other = assistant({"type": "tool_use", "id": "t1", "name": "Grep"})
    failed = user({"type": "tool_result", "tool_use_id": "t1", "is_error": True})
    stray = user({"type": "tool_result", "tool_use_id": "t9", "is_error": True})
    found = report(init(), call, other, failed, call, stray, result())
    assert [(item.name, item.calls, item.errors) for item in found.tool_calls] == [("Grep", 1, 1), ("Read", 2, 0)]


def test_a_stream_of_made_up_names_stays_bounded() -> None:
    """A hostile client can't make a record grow without limit."""
    calls = [assistant({"type": "tool_use", "id": f"t{n}", "name": f"tool{n}"}) for n in range(1000)]
    starts = [init() | {"model": f"m{n}"} for n in range(1000)]
    found = report(*starts, *calls, result(is_error=True, terminal_reason="x", result="y" * 10_000))
    assert len(found.tool_calls) == 201
    assert len(found.starts) == 200
    assert len(found.models) == 200
    assert len(found.reason) == 400
