"""The Responses API: what a body becomes, and how a reply is written for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway.exchange import Request, Usage
from gateway.provider_errors import RefusedError
from gateway.reply import Reply
from gateway.responses_reply import billed, failed_event, response_document, response_events, usage_document
from gateway.responses_request import Called, ResponsesRequest, parse_responses
from gateway.wires import refusal_to

QUESTION = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is x?"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": '{"cmd":"ls"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "a.py\n"}
SEARCH = {"type": "function", "name": "search", "description": "d", "parameters": {"type": "object"}, "strict": False}
GOOD: dict[str, Any] = {"model": "gpt-5.1", "input": [QUESTION], "stream": True}
USAGE = Usage(100, 20, 40, 7, 3)
TOOLS = {
    "mcp__memory__search": Called("mcp__memory", "search"),
    "exec_command": Called("", "exec_command"),
    "functions__exec": Called("functions", "exec", takes_text=True),
}


def parse(**changes: object) -> ResponsesRequest:
    """The request of a good body with changes."""
    return parse_responses(json.dumps(GOOD | changes).encode())


def reply(*content: dict[str, Any], stop_reason: str = "end_turn", **changes: Any) -> Reply:
    """A finished reply."""
    return Reply("msg_01abc", "scripted-policy (fixture)", content, stop_reason, USAGE, **changes)


def sent(*content: dict[str, Any], stop_reason: str = "end_turn") -> list[tuple[str, dict[str, Any]]]:
    """The events of a reply: kind and data."""
    found = []
    for event in response_events(reply(*content, stop_reason=stop_reason), TOOLS):
        kind, data = event.decode().removesuffix("\n\n").split("\ndata: ")
        found.append((kind.removeprefix("event: "), json.loads(data)))
    return found


def test_a_text_is_the_user_s_message() -> None:
    """Input may be one text; instructions are the system's."""
    found = parse(input="Where?", instructions="Be brief.").conversation
    assert found.messages == (("user", ({"type": "text", "text": "Where?"},)),)
    assert found.system == ({"type": "text", "text": "Be brief."},)
    assert (found.model, found.stream, found.max_tokens) == ("gpt-5.1", True, None)


def test_items_become_messages_of_blocks() -> None:
    """Developers instruct, neighbours of one role are one message, reasoning is the assistant's."""
    developer = {"type": "message", "role": "developer", "content": "Look first."}
    context = {"role": "user", "content": "<cwd>/workspace</cwd>"}
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]}
    found = parse(input=[developer, context, QUESTION, thought, said, CALL, OUTPUT]).conversation
    assert found.system == ({"type": "text", "text": "Look first."},)
    assert found.messages == (
        ("user", ({"type": "text", "text": "<cwd>/workspace</cwd>"}, {"type": "text", "text": "Where is x?"})),
        (
            "assistant",
            (
                {"type": "reasoning", "item": thought},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "exec_command", "input": {"cmd": "ls"}},
            ),
        ),
        ("user", ({"type": "tool_result", "tool_use_id": "c1", "content": "a.py\n"},)),
    )


def test_tools_of_a_namespace_get_its_name() -> None:
    """On the wire they keep their own; the provider's tools are called as their type."""
    found = parse(
        tools=[SEARCH, {"type": "namespace", "name": "mcp__memory", "tools": [SEARCH]}, {"type": "web_search"}]
    )
    assert [tool["name"] for tool in found.conversation.tools] == ["search", "mcp__memory__search", "web_search"]
    assert found.conversation.tools[0]["input_schema"] == {"type": "object"}
    assert found.tools == {
        "search": Called("", "search"),
        "mcp__memory__search": Called("mcp__memory", "search"),
        "web_search": Called("", "web_search"),
    }


def test_tools_that_an_item_adds_are_on_offer() -> None:
    """As Codex names them to newer models; the item itself says nothing to the policy."""
    added = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "namespace", "name": "n", "tools": [SEARCH]}],
    }
    found = parse(input=[added, QUESTION])
    assert found.tools == {"n__search": Called("n", "search")}
    assert [role for role, _ in found.conversation.messages] == ["user"]
    assert found.conversation.system == ()
    with pytest.raises(RefusedError, match="names must be unique"):
        parse(input=[added, added, QUESTION])


def test_a_call_of_a_namespace_and_its_parts_are_read() -> None:
    """Codex sends results of MCP servers as lists."""
    call = {**CALL, "namespace": "mcp__memory", "name": "search", "arguments": ""}
    parts = [{"type": "input_text", "text": "Output:"}, {"type": "input_image", "image_url": "data:"}]
    found = parse(input=[QUESTION, call, {**OUTPUT, "output": parts}]).conversation
    assert found.messages[1][1] == ({"type": "tool_use", "id": "c1", "name": "mcp__memory__search", "input": {}},)
    assert found.messages[2][1][0]["content"] == [
        {"type": "text", "text": "Output:"},
        {"type": "input_image", "item": {"type": "input_image", "image_url": "data:"}},
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 3}, "model: expected a string"),
        ({"stream": "yes"}, "stream: expected a boolean"),
        ({"max_output_tokens": 0}, "max_output_tokens: expected a positive integer"),
        ({"instructions": []}, "instructions: expected a string"),
        ({"input": []}, "input: the first message that instructs nobody must be the user's"),
        ({"input": 3}, "input: expected a list"),
        ({"input": [3]}, "input[0]: expected an object"),
        ({"input": [{"role": ["user"]}]}, "input[0].role: expected one of developer, system, user, assistant"),
        ({"input": [{"role": "user", "content": 3}]}, "input[0].content: expected a list"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
            "input[0].content[0].text: expected a string",
        ),
        ({"input": [{"type": 3}]}, "input[0].type: expected a string"),
        ({"input": [QUESTION, CALL]}, "No tool output found for function call c1."),
        ({"input": [QUESTION, OUTPUT]}, "No tool call found for function call output with call_id c1."),
        ({"input": [QUESTION, {**CALL, "arguments": "[]"}, OUTPUT]}, "input[1].arguments: expected a JSON object"),
        ({"input": [QUESTION, {**CALL, "arguments": "{"}, OUTPUT]}, "input[1].arguments: expected a JSON object"),
        (
            {"input": [QUESTION, {**CALL, "arguments": '{"a": "\\ud800"}'}, OUTPUT]},
            "input[1].arguments: expected a JSON object",
        ),
        (
            {"input": [QUESTION, {**CALL, "arguments": '{"a": ' * 500 + "1" + "}" * 500}, OUTPUT]},
            "input[1].arguments: expected a JSON object",
        ),
        (
            {"input": [QUESTION, {**CALL, "arguments": '{"a": [' + "0," * 100_000 + "0]}"}, OUTPUT]},
            "input[1].arguments: expected a JSON object",
        ),
        ({"input": [QUESTION, {"type": "tool_use"}]}, "input[1].type: 'tool_use' is none of this API's"),
        ({"input": [QUESTION, {"type": "text"}]}, "input[1].type: 'text' is none of this API's"),
        (
            {"input": [{"role": "user", "content": [{"type": "tool_result"}]}]},
            "input[0].content[0].type: 'tool_result' is none of this API's",
        ),
        ({"input": [QUESTION, {**CALL, "namespace": 3}, OUTPUT]}, "input[1].namespace: expected a string"),
        ({"tools": {}}, "tools: expected a list"),
        ({"tools": [{"name": "x"}]}, "tools[0].type: expected a string"),
        ({"tools": [{"type": "namespace", "name": "n"}]}, "tools[0].tools: expected a list"),
        ({"tools": [SEARCH, SEARCH]}, "tools: names must be unique"),
    ],
)
def test_what_the_provider_would_refuse_is_refused(changes: dict[str, object], message: str) -> None:
    """The first part that is wrong is named."""
    with pytest.raises(RefusedError) as refusal:
        parse(**changes)
    assert (refusal.value.status, refusal.value.refused, refusal.value.message) == (400, "bad_request", message)


def test_cached_tokens_are_among_the_input() -> None:
    """The API bills no writes: they are plain input, and no class of ours holds another's."""
    assert billed(USAGE) == Usage(110, 20, 40, 0, 0)
    assert usage_document(billed(USAGE)) == {
        "input_tokens": 150,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 170,
    }


def test_a_text_is_streamed_in_the_api_s_order() -> None:
    """Events are numbered, and the last one has everything."""
    text = "x" * 50
    events = sent({"type": "text", "text": text})
    assert [kind for kind, _ in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [data["sequence_number"] for _, data in events] == list(range(10))
    assert all(data["type"] == kind for kind, data in events)
    assert events[2][1]["item"] == {
        "id": "msg_01abc0",
        "type": "message",
        "status": "in_progress",
        "role": "assistant",
        "content": [],
    }
    assert "".join(data["delta"] for kind, data in events if kind.endswith("text.delta")) == text
    final = events[-1][1]["response"]
    assert (final["id"], final["status"], final["model"]) == ("resp_01abc", "completed", "scripted-policy (fixture)")
    assert final["output"][0]["content"] == [{"type": "output_text", "text": text, "annotations": []}]
    assert final["usage"]["total_tokens"] == 160


def test_a_call_is_streamed_under_its_name_on_the_wire() -> None:
    """Its arguments come in pieces of one JSON text."""
    events = sent({"type": "tool_use", "id": "toolu_01q", "name": "mcp__memory__search", "input": {"query": "é" * 30}})
    item = events[-1][1]["response"]["output"][0]
    assert item == {
        "id": "fc_01abc0",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_01q",
        "name": "search",
        "namespace": "mcp__memory",
        "arguments": '{"query":"' + "é" * 30 + '"}',
    }
    pieces = [data["delta"] for kind, data in events if kind == "response.function_call_arguments.delta"]
    assert (len(pieces), "".join(pieces)) == (2, item["arguments"])
    assert events[2][1]["item"]["arguments"] == ""


def test_a_tool_that_takes_text_is_called_with_it() -> None:
    """A custom tool: no JSON; its result comes back as the same call's."""
    tools = [{"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec", "format": {}}]}]
    call = {"type": "custom_tool_call", "call_id": "c1", "namespace": "functions", "name": "exec", "input": "text(1)"}
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"}
    found = parse(input=[{"type": "additional_tools", "tools": tools}, QUESTION, call, output])
    assert found.tools == {"functions__exec": Called("functions", "exec", takes_text=True)}
    block = {"type": "tool_use", "id": "c1", "name": "functions__exec", "input": {"input": "text(1)"}}
    assert found.conversation.messages[1][1] == (block,)
    events = sent(block | {"id": "toolu_01q", "input": {"input": "text('" + "é" * 30 + "')"}})
    item = events[-1][1]["response"]["output"][0]
    assert item == {
        "id": "ctc_01abc0",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "call_01q",
        "name": "exec",
        "namespace": "functions",
        "input": "text('" + "é" * 30 + "')",
    }
    pieces = [data["delta"] for kind, data in events if kind == "response.custom_tool_call_input.delta"]
    assert (len(pieces), "".join(pieces)) == (2, item["input"])
    assert events[2][1]["item"]["input"] == ""


def test_a_tool_that_takes_text_may_be_called_with_json() -> None:
    """As a script may have it."""
    item = sent({"type": "tool_use", "id": "toolu_01q", "name": "functions__exec", "input": {"a": 1}})[-1][1]
    assert item["response"]["output"][0]["arguments"] == '{"a":1}'


def test_a_thought_is_streamed_as_a_summary() -> None:
    """Its signature takes the place of what the provider encrypts."""
    events = sent({"type": "thinking", "thinking": "Hm.", "signature": "sig_1"})
    assert events[-1][1]["response"]["output"] == [
        {
            "id": "rs_01abc0",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "sig_1",
        }
    ]
    assert [kind.removeprefix("response.") for kind, _ in events[3:-2]] == [
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
    ]


def test_a_reply_that_was_cut_is_incomplete() -> None:
    """The last event says why."""
    kind, data = sent({"type": "text", "text": "x"}, stop_reason="max_tokens")[-1]
    assert (kind, data["response"]["status"]) == ("response.incomplete", "incomplete")
    assert data["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_usage_can_be_left_out_of_a_response() -> None:
    """As a provider that says nothing, or nothing of use."""
    text = {"type": "text", "text": "x"}
    assert response_document(reply(text, shows_usage="none"), TOOLS)["usage"] is None
    assert response_document(reply(text, shows_usage="empty"), TOOLS)["usage"] == {}


def test_a_response_can_fail_while_it_is_streamed() -> None:
    """The event carries code and message."""
    data = json.loads(failed_event("server_error", "Overloaded").decode().partition("data: ")[2])
    assert (data["type"], data["response"]["error"]) == (
        "response.failed",
        {"code": "server_error", "message": "Overloaded"},
    )


@pytest.mark.parametrize(
    ("path", "error", "status", "body"),
    [
        (
            "/v1/responses?x=1",
            RefusedError(402, "request_limit", "No more."),
            429,
            {
                "error": {
                    "message": "No more.",
                    "type": "insufficient_quota",
                    "param": None,
                    "code": "insufficient_quota",
                }
            },
        ),
        (
            "/v1/responses",
            RefusedError(401, "unauthorized", "Who?"),
            401,
            {
                "error": {
                    "message": "Who?",
                    "type": "authentication_error",
                    "param": None,
                    "code": "authentication_error",
                }
            },
        ),
        (
            "/v1/messages",
            RefusedError(402, "request_limit", "No more."),
            402,
            {"type": "error", "error": {"type": "billing_error", "message": "No more."}, "request_id": "req_1"},
        ),
    ],
)
def test_a_refusal_speaks_the_request_s_api(path: str, error: RefusedError, status: int, body: dict[str, Any]) -> None:
    """In the form on which that API's client stops at once."""
    answer = refusal_to(Request("POST", path, (), b""), error, "req_1", "gpt-5.1")
    assert isinstance(answer.body, bytes)
    assert (answer.status, json.loads(answer.body), answer.refused) == (status, body, error.refused)
    assert answer.body_limit_bytes == len(answer.body)
