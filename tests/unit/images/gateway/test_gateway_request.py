"""Bodies of the Messages API: what is taken, and the provider-shaped complaint about what isn't."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway.messages_request import model_asked, parse_request
from gateway.policy.view import View
from gateway.provider_errors import RefusedError, refusal_answer

GOOD: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Where is x?"}],
}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Grep", "input": {}}]}


def body(**changes: object) -> bytes:
    return json.dumps(GOOD | changes).encode()


def test_plain_text_stands_as_one_block() -> None:
    """Text content and a text system prompt read like lists of one block."""
    request = parse_request(body(system="Be brief."), counting=False)
    assert request.messages == (("user", ({"type": "text", "text": "Where is x?"},)),)
    assert request.system == ({"type": "text", "text": "Be brief."},)
    assert (request.stream, request.tool_choice) == (False, "auto")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, "model: Input should be a valid string"),
        ({"max_tokens": 0}, "max_tokens: Input should be a positive integer"),
        ({"max_tokens": True}, "max_tokens: Input should be a positive integer"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": ["hello"]}, "messages.0.role: Input should be 'user', 'assistant' or 'system'"),
        (
            {"messages": [{"role": "tool", "content": "x"}]},
            "messages.0.role: Input should be 'user', 'assistant' or 'system'",
        ),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages: first message must use the user role"),
        (
            {
                "messages": [
                    GOOD["messages"][0],
                    {"role": "system", "content": [{"type": "tool_use", "name": "a", "input": {}}]},
                ]
            },
            "messages.1: a system message holds texts alone",
        ),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages: first message must use the user role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages.0.content: Input should be a valid list"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages.0.content.0.type: Field required"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages.0.content.0.text: Input should be a valid string",
        ),
        ({"tools": [{"input_schema": {}}]}, "tools.0.name: Field required"),
        ({"tools": [{"name": "a"}, {"name": "a"}]}, "tools: Tool names must be unique."),
        ({"tool_choice": "none"}, "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'"),
        ({"tool_choice": {"type": []}}, "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'"),
        ({"cache_control": 1}, "cache_control: Input should be an object"),
        (
            {"messages": [GOOD["messages"][0], USE, {"role": "user", "content": "go on"}]},
            "messages.2: every `tool_use` block must have a `tool_result` block in the next message",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t9"}]}]},
            "messages.0: every `tool_use` block must have a `tool_result` block in the next message",
        ),
        (
            {"messages": [GOOD["messages"][0], {"role": "assistant", "content": [{"type": "tool_result"}]}]},
            "messages.1: `tool_result` blocks can't be in a message of the assistant's",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_use", "name": "Grep", "input": {}}]}]},
            "messages.0: `tool_use` blocks can't be in a message of the user's",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": {}}]}]},
            "messages.0: every tool_result needs a tool_use_id of its own",
        ),
    ],
)
def test_the_first_wrong_part_is_named(changes: dict[str, Any], message: str) -> None:
    """A client learns which part of its request is wrong, in the provider's words."""
    with pytest.raises(RefusedError) as caught:
        parse_request(body(**changes), counting=False)
    assert (caught.value.status, caught.value.refused, caught.value.message) == (400, "bad_request", message)


def test_counting_needs_no_max_tokens() -> None:
    """A count of tokens has no answer that could be too long."""
    text = json.dumps({"model": "m", "messages": GOOD["messages"]}).encode()
    assert parse_request(text, counting=True).max_tokens is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe{}",
        b"[" * 200_000,
        b'{"model": NaN}',
        b'{"model": "\\ud800"}',
        b'{"max_tokens": ' + b"9" * 5000 + b"}",
        b"null",
    ],
    ids=["empty", "cut", "not-utf8", "deep", "nan", "half-surrogate", "long-number", "null"],
)
def test_what_is_no_json_object_is_refused(text: bytes) -> None:
    """Whatever bytes arrive, the answer is a 400 and not a fault."""
    with pytest.raises(RefusedError) as caught:
        parse_request(text, counting=False)
    assert caught.value.status == 400
    assert model_asked(text) is None


def test_a_refusal_has_the_shape_of_the_provider_s_errors() -> None:
    """Status, type and message stand where the provider's clients look for them, and none of them tries again."""
    answer = refusal_answer(RefusedError(402, "request_limit", "No more."), "req_1")
    assert isinstance(answer.body, bytes)
    assert json.loads(answer.body) == {
        "type": "error",
        "error": {"type": "billing_error", "message": "No more."},
        "request_id": "req_1",
    }
    assert dict(answer.headers)["x-should-retry"] == "false"
    assert answer.observe().usage.document() == {"unavailable": "refused: request_limit"}


@pytest.mark.parametrize(
    ("inside", "taken"),
    [
        (b"[" + b"1," * 99_000 + b"1]", True),
        (b"[" + b"1," * 100_001 + b"1]", False),
        (b'"' + b"1," * 200_000 + b'"', True),
        (b'"' + b'\\",[' * 200_000 + b'"', True),
        (b"[" + b'"\\\\",' * 300_000 + b"1]", False),
        (b"[" * 399 + b"]" * 399, True),
        (b"[" * 400 + b"]" * 400, False),
        (b'{"a":' * 400 + b"1" + b"}" * 400, False),
        (b'"\\ud83d\\ude00"', True),
        (b'"\\ud83d"', False),
        (b'{"\\ude00":1}', False),
        (b'"\\\\ud83d"', True),
    ],
    ids=[
        "values",
        "too-many",
        "commas-in-text",
        "brackets-in-text",
        "backslashes",
        "depth",
        "too-deep",
        "deep-objects",
        "pair",
        "lone",
        "lone-in-key",
        "escaped-backslash",
    ],
)
def test_bodies_out_of_proportion_are_refused(inside: bytes, *, taken: bool) -> None:
    """Values outside of texts are counted, depth is bounded, and every text is Unicode."""
    sent = body()[:-1] + b',"metadata":' + inside + b"}"
    if taken:
        assert parse_request(sent, counting=False).model == "claude-sonnet-4-5"
        return
    with pytest.raises(RefusedError) as caught:
        parse_request(sent, counting=False)
    assert (caught.value.status, caught.value.refused) == (400, "bad_request")


def test_a_system_message_may_stand_within_a_conversation() -> None:
    """It is text, wherever it stands behind the first message; a call and its result are neighbours all the same."""
    told = {"role": "system", "content": [{"type": "text", "text": "Primary working directory: /elsewhere"}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]}
    request = parse_request(body(messages=[GOOD["messages"][0], told, USE, result, told]), counting=False)
    assert [role for role, _ in request.messages] == ["user", "system", "assistant", "user", "system"]
    assert View.of(request).directory == "/elsewhere"
    assert [step.result for step in View.of(request).steps] == ["found"]
