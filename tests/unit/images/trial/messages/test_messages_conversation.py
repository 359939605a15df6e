"""How a conversation of the agent loop goes, with a model that says what the test wants."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from messages.config import Config
from messages.conversation import End, converse
from messages.files import Answer
from messages.replies import ProviderError, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 30,
    "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10},
}
TEXT = {"type": "text", "text": "42."}


def config(**changes: Any) -> Config:
    """A configuration with changes."""
    values: dict[str, Any] = {
        "model": "m",
        "tools": ("grep",),
        "mcp_tools": (),
        "max_turns": None,
        "max_output_tokens": 100,
        "max_retries": 0,
        "server_start_s": 1.0,
        "workspace": "/workspace",
        "prompt": "Why?",
        "instructions": "",
        "servers": (),
    }
    return Config(**values | changes)


def use(*names: str, stop_reason: str = "tool_use") -> Reply:
    """A reply that calls tools."""
    calls = [
        {"type": "tool_use", "id": f"t{number}", "name": name, "input": {"q": number}}
        for number, name in enumerate(names)
    ]
    return Reply("m-1", stop_reason, [{"type": "text", "text": "Looking."}, *calls], USAGE)


def final(stop_reason: str | None = "end_turn", usage: dict[str, Any] | None = None) -> Reply:
    """A reply without calls."""
    return Reply("m-1", stop_reason, [TEXT], USAGE if usage is None else usage)


class Scripted:
    """Answers with what it was given, and keeps what it was asked."""

    def __init__(self, *replies: Reply | ProviderError) -> None:
        self.replies = list(replies)
        self.asked: list[dict[str, Any]] = []

    async def ask(self, request: Mapping[str, Any]) -> Reply:
        self.asked.append(json.loads(json.dumps(request)))
        reply = self.replies.pop(0)
        if isinstance(reply, ProviderError):
            raise reply
        return reply


async def run(name: str, arguments: Mapping[str, Any]) -> Answer:
    """A tool that fails when it is called `bad`."""
    return Answer(f"{name} {dict(arguments)}", failed=name == "bad")


def ended(model: Scripted, **changes: Any) -> End:
    """How the conversation with the model ends."""
    return asyncio.run(converse(config(**changes), model, [{"name": "grep"}], run))


def said(output: str) -> list[dict[str, Any]]:
    """The events on standard output."""
    return [json.loads(line) for line in output.splitlines()]


def test_tools_are_run_until_the_model_answers(capfd: pytest.CaptureFixture[str]) -> None:
    """All calls of a turn are answered in one message, failures marked; the prompt so far is cached."""
    model = Scripted(use("grep", "bad"), final())
    end = ended(model, instructions="Cite.")
    assert (end.outcome, end.answer, end.turns, end.error) == ("completed", "42.", 2, None)
    first, second = model.asked
    assert first["messages"] == [{"role": "user", "content": "Why?"}]
    assert first["system"].endswith("\n\nCite.")
    assert (first["max_tokens"], first["cache_control"], first["tools"]) == (
        100,
        {"type": "ephemeral"},
        [{"name": "grep"}],
    )
    assert second["messages"][2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t0", "content": "grep {'q': 0}"},
            {"type": "tool_result", "tool_use_id": "t1", "content": "bad {'q': 1}", "is_error": True},
        ],
    }
    events = said(capfd.readouterr().out)
    assert [event["type"] for event in events] == ["assistant", "tool_result", "tool_result", "assistant"]
    assert events[2] == {"type": "tool_result", "id": "t1", "name": "bad", "error": True, "characters": 12}


def test_usage_is_summed_by_the_model_that_answered() -> None:
    """Classes apart; an answer that doesn't tell a class makes it unknown for good."""
    split = USAGE | {"cache_creation": None}
    assert ended(Scripted(use("grep"), final())).spent.document() == [
        {
            "model": "m-1",
            "requests": 2,
            "input_tokens": 20,
            "output_tokens": 10,
            "cache_read_input_tokens": 200,
            "cache_write_5m_input_tokens": 40,
            "cache_write_1h_input_tokens": 20,
        }
    ]
    (spent,) = ended(Scripted(Reply("m-1", "pause_turn", [TEXT], split), final())).spent.document()
    assert (spent["input_tokens"], spent["cache_write_5m_input_tokens"]) == (20, None)
    (spent,) = ended(Scripted(final(usage={}))).spent.document()
    assert (spent["requests"], spent["input_tokens"], spent["cache_read_input_tokens"]) == (1, None, None)


def test_a_conversation_stops_at_its_turns() -> None:
    """The last calls are run, and their results never sent."""
    model = Scripted(use("grep"), use("grep"), final())
    end = ended(model, max_turns=2)
    assert (end.outcome, end.answer, end.turns, len(model.asked)) == ("max_turns", "", 2, 2)
    assert end.error == {"status": None, "type": "max_turns", "message": "the limit of 2 turns is reached"}


@pytest.mark.parametrize(
    ("stop_reason", "outcome"),
    [
        ("end_turn", "completed"),
        ("stop_sequence", "completed"),
        ("max_tokens", "max_output_tokens"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_window"),
        ("tool_use", "client_error"),
        ("from_the_future", "client_error"),
        (None, "client_error"),
    ],
)
def test_why_the_model_stopped_says_how_it_ended(stop_reason: str | None, outcome: str) -> None:
    """Only an answer that the model ended itself is one."""
    end = ended(Scripted(final(stop_reason)))
    assert (end.outcome, end.answer) == (outcome, "42." if outcome == "completed" else "")
    assert (end.error is None) == (outcome == "completed")


def test_a_pause_is_gone_on_with() -> None:
    """What the model had said stands in the next request."""
    model = Scripted(Reply("m-1", "pause_turn", [TEXT], USAGE), final())
    assert ended(model).outcome == "completed"
    assert model.asked[1]["messages"][1] == {"role": "assistant", "content": [TEXT]}


def test_a_provider_s_error_is_passed_on() -> None:
    """With status and type, after what was used before it."""
    end = ended(Scripted(use("grep"), ProviderError(529, "overloaded_error", "Overloaded")))
    assert (end.outcome, end.turns) == ("provider_error", 1)
    assert end.error == {"status": 529, "type": "overloaded_error", "message": "Overloaded"}
    assert end.spent.document()[0]["requests"] == 1


def test_the_end_is_one_event(capfd: pytest.CaptureFixture[str]) -> None:
    """Text that can't be encoded is escaped, not lost."""
    assert ended(Scripted(Reply("m", "end_turn", [{"type": "text", "text": "a\ud800"}], USAGE))).say() == "completed"
    last = said(capfd.readouterr().out)[-1]
    assert (last["type"], last["outcome"], last["answer"], last["turns"]) == ("result", "completed", "a\ud800", 1)


def test_without_tools_none_are_sent() -> None:
    """A conversation may be one question."""
    model = Scripted(final())
    asyncio.run(converse(config(tools=()), model, [], run))
    assert "tools" not in model.asked[0]
