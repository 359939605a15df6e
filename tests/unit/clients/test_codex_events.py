"""What each event of Codex becomes, damaged and hostile ones included."""

from __future__ import annotations

from typing import Any

import pytest

from runner.clients.client import ClientReport, Ending
from runner.clients.codex import Codex
from runner.clients.codex_events import CodexStream, failed_servers
from runner.clients.codex_wire import offered_tools
from runner.core.events import ApiRetry, AssistantText, Corrupt, Event, Ignored, ToolResult, ToolUse
from runner.core.launch import McpServer
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES
from tests.fakes.attempts import lines

USAGE = {
    "input_tokens": 2000,
    "cached_input_tokens": 1200,
    "cache_write_input_tokens": 0,
    "output_tokens": 100,
    "reasoning_output_tokens": 20,
}


def events(*values: Any) -> list[Event]:
    """The events of a stream of these values."""
    return list(CodexStream().events(lines(*values)))


def report(*values: Any) -> ClientReport:
    """The report of a stream of these values."""
    return Codex().parse(lines(*values), b"")


def item(kind: str, event: str = "item.completed", **members: Any) -> dict[str, Any]:
    """An event about one item."""
    return {"type": event, "item": {"id": "item_1", "type": kind, **members}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "thread.started", "thread_id": "x"}, [Ignored("thread.started")]),
        ({"type": "from.the.future"}, [Ignored("from.the.future")]),
        (item("agent_message", text="hi"), [AssistantText("hi", "", synthetic=False)]),
        (item("reasoning", text="hm"), [Ignored("item/reasoning")]),
        (item("error", message="no metadata"), [Ignored("item/error")]),
        (item("command_execution", "item.started"), [ToolUse("item_1", "command_execution")]),
        # An item that only ends was a call nevertheless.
        (
            item("file_change", status="completed"),
            [ToolUse("item_1", "file_change"), ToolResult("item_1", error=False)],
        ),
        (
            item("mcp_tool_call", server="fix", tool="lookup", status="failed"),
            [ToolUse("item_1", "mcp__fix__lookup"), ToolResult("item_1", error=True)],
        ),
        (
            {"type": "error", "message": "Reconnecting... 1/2 (unexpected status 503 Service Unavailable: x, url: y)"},
            [ApiRetry(1, Measured(503), "unexpected status 503 Service Unavailable: x, url: y")],
        ),
        (
            {"type": "error", "message": "Reconnecting... waiting for network (Connection failed: x)"},
            [ApiRetry(0, Unavailable("the connection failed"), "Connection failed: x")],
        ),
        ({"type": "error", "message": "oh"}, [Ignored("error")]),
        ({"type": "turn.completed"}, [Corrupt(1, "usage is not an object")]),
        ({"type": "turn.failed", "error": "x"}, [Corrupt(1, "error is not an object")]),
        ({"type": "item.started"}, [Corrupt(1, "item is not an object")]),
        (item("mcp_tool_call", server="fix"), [Corrupt(1, "tool is not a text")]),
        ({"kind": "x"}, [Corrupt(1, "type is not a text")]),
    ],
)
def test_an_event_of_codex_becomes_its_type(value: dict[str, Any], expected: list[Event]) -> None:
    """Unknown kinds are ignored, not refused; what isn't shaped as its kind is damage."""
    assert events(value) == expected


def test_a_call_that_begins_and_ends_is_one_call() -> None:
    """The end of an item doesn't call it again."""
    begun, ended = (
        item("command_execution", event, status="completed") for event in ("item.started", "item.completed")
    )
    assert events(begun, ended) == [ToolUse("item_1", "command_execution"), ToolResult("item_1", error=False)]


def test_the_answer_is_the_last_message_before_the_end() -> None:
    """Earlier ones say what it is about to do."""
    found = report(
        item("agent_message", text="Looking."),
        item("agent_message", text="42."),
        {"type": "turn.completed", "usage": USAGE},
    )
    assert (found.ending, found.answer, found.models) == (Ending.OK, "42.", ())


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({}, [Measured(800), Measured(100), Measured(1200), Measured(0), Measured(0)]),
        (
            {"cache_write_input_tokens": 300},
            [
                Unavailable("the client didn't say for how long it wrote 300 tokens to the cache"),
                Measured(100),
                Measured(1200),
                Unavailable("the client didn't say for how long it wrote 300 tokens to the cache"),
                Unavailable("the client didn't say for how long it wrote 300 tokens to the cache"),
            ],
        ),
        (
            {"cached_input_tokens": 2001},
            [
                Unavailable("of 2000 input tokens 2001 are said to be cached"),
                Measured(100),
                Measured(2001),
                Measured(0),
                Measured(0),
            ],
        ),
        (
            {"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0},
            [Unavailable("the client reported neither input nor output tokens")] * 5,
        ),
        (
            {"input_tokens": "many", "output_tokens": None, "cached_input_tokens": -1},
            [
                Unavailable("input_tokens is not an integer"),
                Unavailable("output_tokens is missing"),
                Unavailable("cached_input_tokens is out of range"),
                Measured(0),
                Measured(0),
            ],
        ),
    ],
)
def test_usage_of_codex_is_told_apart(changes: dict[str, Any], tokens: list[Any]) -> None:
    """No class holds another's tokens, and what isn't known is unavailable."""
    found = report({"type": "turn.completed", "usage": USAGE | changes})
    assert [found.reported[0].tokens(name) for name in TOKEN_CLASSES] == tokens
    assert found.cost_microusd == Unavailable("codex reports no cost")


def test_a_failure_that_nobody_knows_is_the_client_s() -> None:
    """Only what is known to come from the provider is put down to it."""
    found = report({"type": "turn.failed", "error": {"message": "a bug"}})
    assert (found.ending, found.reason) == (Ending.CLIENT_ERROR, "a bug")
    assert report({"type": "turn.failed", "error": {"message": ""}}).reason == "the turn failed without a message"


@pytest.mark.parametrize(
    ("stderr", "names"),
    [
        (b"", ()),
        (b"required MCP servers failed to initialize: ", ()),
        (b"x: required MCP servers failed to initialize: memory: timed out after 2s (code -32603)\n", ("memory",)),
        (
            b"required MCP servers failed to initialize: a-b: handshaking: closed: closed; other: No such file (code 1)\n",
            ("a-b", "other"),
        ),
    ],
)
def test_servers_that_kept_it_from_starting_are_named(stderr: bytes, names: tuple[str, ...]) -> None:
    """They stand in its last words alone."""
    assert failed_servers(stderr) == names


@pytest.mark.parametrize(
    ("offered", "tools"),
    [
        ((), ()),
        (("exec_command", "mcp__my_mem__get"), ()),
        (("mcp__my_mem/get",), ("mcp__my-mem__get",)),
        (("mcp__alien/get",), ("mcp__alien__get",)),
        (("multi_agent_v1/spawn",), ()),
        (("mcp__my_mem/get", "exec_command", "mcp__my_mem/a/b"), ("mcp__my-mem__a/b", "mcp__my-mem__get")),
    ],
)
def test_a_request_shows_the_tools_of_servers(offered: tuple[str, ...], tools: tuple[str, ...]) -> None:
    """By the names of the study, whatever Codex makes of them on the wire."""
    assert offered_tools(offered, (McpServer("my-mem", ("x",), {}, ("get",)),)) == tools
