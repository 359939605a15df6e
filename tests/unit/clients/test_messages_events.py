"""What each event of the agent loop becomes, damaged and hostile ones included."""

from __future__ import annotations

from typing import Any

import pytest

from runner.clients.client import Ending
from runner.clients.messages import Messages
from runner.clients.messages_events import messages_ending, messages_events
from runner.core.events import (
    ApiRetry,
    AssistantText,
    ClientReady,
    Corrupt,
    Event,
    Ignored,
    Result,
    ServerState,
    ToolResult,
    ToolUse,
)
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES
from tests.fakes.attempts import lines

START = {
    "type": "start",
    "format": "pairbench/messages-events",
    "version": 1,
    "client": "1",
    "sdk": "2.14.0",
    "model": "m",
    "tools": ["grep"],
    "servers": [{"name": "fix", "status": "connected"}],
}
USAGE = {"model": "m", "requests": 1, **dict.fromkeys(TOKEN_CLASSES, 7)}
RESULT = {"type": "result", "outcome": "completed", "answer": "42.", "turns": 1, "error": None, "usage": [USAGE]}


def events(*values: Any) -> list[Event]:
    """The events of a stream of these values."""
    return list(messages_events(lines(*values)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (START, [ClientReady(("grep",), (ServerState("fix", "connected"),), "m", "1+anthropic-2.14.0")]),
        (
            {
                "type": "assistant",
                "model": "m",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "hi"},
                    {"type": "tool_use", "id": "t1", "name": "grep", "input": {}},
                ],
            },
            [Ignored("assistant/thinking"), AssistantText("hi", "m", synthetic=False), ToolUse("t1", "grep")],
        ),
        ({"type": "tool_result", "id": "t1", "name": "grep", "error": True}, [ToolResult("t1", error=True)]),
        ({"type": "retry", "attempt": 2}, [ApiRetry(2, Unavailable("the client doesn't say"), "")]),
        ({"type": "later"}, [Ignored("later")]),
        (START | {"version": 2}, [Corrupt(1, "not pairbench/messages-events 1")]),
        (START | {"tools": [1]}, [Corrupt(1, "tools is not a text")]),
        ({"type": "tool_result", "id": "t1", "error": "no"}, [Corrupt(1, "error is not true or false")]),
        (RESULT | {"error": {}}, [Corrupt(1, "a completed result with an error, or another one without")]),
        (RESULT | {"outcome": "odd"}, [Corrupt(1, "a completed result with an error, or another one without")]),
        (RESULT | {"usage": [USAGE | {"requests": None}]}, [Corrupt(1, "requests is missing")]),
        (RESULT | {"usage": 3}, [Corrupt(1, "usage is not a list")]),
    ],
)
def test_an_event_of_the_loop_becomes_its_type(value: dict[str, Any], expected: list[Event]) -> None:
    """Unknown kinds are ignored; a later version of the format, and another shape, are damage."""
    assert events(value) == expected


@pytest.mark.parametrize(
    ("outcome", "error", "ending", "reason"),
    [
        ("completed", None, Ending.OK, ""),
        ("max_turns", {"message": "3"}, Ending.CAP, "3"),
        ("max_output_tokens", {"message": "4"}, Ending.CAP, "4"),
        ("provider_error", {"status": 529, "message": "Busy"}, Ending.PROVIDER_ERROR, "status 529: Busy"),
        ("provider_error", {"status": None, "message": "Gone"}, Ending.PROVIDER_ERROR, "Gone"),
        ("context_window", {"message": "Full"}, Ending.PROVIDER_ERROR, "Full"),
        ("refusal", {"message": "No"}, Ending.PROVIDER_ERROR, "the model refused: No"),
        ("client_error", {"message": "Odd"}, Ending.CLIENT_ERROR, "client_error: Odd"),
        ("server_failed", {"message": "x"}, Ending.CLIENT_ERROR, "server_failed: x"),
    ],
)
def test_an_end_of_the_loop_follows_from_its_outcome(
    outcome: str, error: dict[str, Any] | None, ending: Ending, reason: str
) -> None:
    """An outcome that isn't known is the client's error."""
    (event,) = events(RESULT | {"outcome": outcome, "error": error})
    assert isinstance(event, Result)
    assert messages_ending(event) == (ending, reason)


def test_a_class_that_the_loop_doesn_t_know_is_unavailable() -> None:
    """Null is never zero."""
    usage = USAGE | {"cache_write_5m_input_tokens": None}
    (found,) = Messages().parse(lines(START, RESULT | {"usage": [usage]}), b"").reported
    assert (found.requests, found.tokens("input_tokens")) == (1, Measured(7))
    assert found.tokens("cache_write_5m_input_tokens") == Unavailable("cache_write_5m_input_tokens is missing")


def test_no_result_of_the_loop_leaves_its_last_words() -> None:
    """A wrong configuration gives no event at all."""
    found = Messages().parse(b"", b"messages: /in/messages.json: no such tool\n")
    assert (found.ending, found.reason) == (Ending.UNSAID, "messages: /in/messages.json: no such tool")
