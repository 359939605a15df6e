"""What a request may cost can be bounded only when every tool that the provider runs is seen, wherever it is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway.asked import asked_of
from gateway.exchange import Request
from gateway.provider_errors import RefusedError

BOUNDS = {
    "input_tokens_per_1000_bytes": 1000,
    "hidden_input_tokens": 0,
    "output_tokens": 100,
    "image_tokens": 0,
    "document_tokens": 0,
    "server_tool_input_tokens": 0,
}
OWN = {"type": "function", "name": "look", "parameters": {"type": "object"}}
SEARCH = {"type": "web_search", "max_uses": 3}


def asked(path: str, bounds: dict[str, int] | None = None, **parts: Any) -> int:
    """The uses of server tools that the request allows."""
    body = json.dumps({"model": "m", **parts}).encode()
    return asked_of(Request("POST", path, (), body), BOUNDS | (bounds or {})).server_tool_uses


@pytest.mark.parametrize(
    "parts",
    [
        {"tools": [OWN, SEARCH]},
        {"tools": [{"type": "namespace", "name": "more", "tools": [OWN, SEARCH]}]},
        {"input": [{"type": "additional_tools", "role": "developer", "tools": [SEARCH]}]},
        {"input": [{"type": "additional_tools", "tools": [{"type": "namespace", "name": "n", "tools": [SEARCH]}]}]},
        {"messages": [{"role": "system", "content": [{"type": "tool_change", "tools": [SEARCH]}]}]},
    ],
    ids=["plain", "namespace", "added", "added-namespace", "within-a-conversation"],
)
def test_a_tool_of_the_provider_is_found_wherever_it_is_named(parts: dict[str, Any]) -> None:
    """Refused where the study declares no bound for such tools; counted where it does."""
    for path in ("/v1/responses", "/v1/messages"):
        with pytest.raises(RefusedError) as caught:
            asked(path, **parts)
        assert (caught.value.status, caught.value.refused) == (402, "cap_exceeded")
        assert asked(path, {"server_tool_input_tokens": 50}, **parts) == 3


def test_tools_of_the_client_cost_their_bytes_alone() -> None:
    """In namespaces and added ones too; what merely is called so is no tool."""
    more = {"type": "additional_tools", "tools": [{"type": "namespace", "name": "n", "tools": [OWN]}]}
    assert asked("/v1/responses", tools=[OWN], input=[more, {"type": "web_search_call", "id": "w1"}]) == 0
    assert asked("/v1/messages", tools="web_search", messages=[{"role": "user", "content": "web_search"}]) == 0
    data = {"type": "tool_use", "id": "t", "name": "n", "input": {"tools": [{"type": "hosted"}]}}
    schema = {"name": "n", "input_schema": {"properties": {"a": {"tools": [{"type": "hosted"}]}}}}
    assert asked("/v1/messages", tools=[schema], messages=[{"role": "assistant", "content": [data]}]) == 0
    editor = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
    assert asked("/v1/messages", tools=[editor, {"type": "custom", "name": "c"}]) == 0
    shell = {"type": "shell", "environment": {"type": "local"}}
    assert asked("/v1/responses", tools=[shell, {"type": "tool_search", "execution": "client"}]) == 0


@pytest.mark.parametrize(
    ("path", "parts", "reason"),
    [
        ("/v1/messages", {"max_tokens": 64000.0}, "max_tokens is no positive integer"),
        ("/v1/messages", {"max_tokens": "64000"}, "max_tokens is no positive integer"),
        ("/v1/messages", {"max_tokens": True}, "max_tokens is no positive integer"),
        ("/v1/responses", {"max_output_tokens": -1}, "max_output_tokens is no positive integer"),
        ("/v1/responses", {"input": [{"type": "item_reference", "id": "m"}]}, "refers to what the provider keeps"),
        ("/v1/responses", {"input": [{"id": "m"}]}, "refers to what the provider keeps"),
        ("/v1/responses", {"tools": [{"type": "mcp", "server_url": "u"}]}, "a tool of the type 'mcp'"),
        ("/v1/responses", {"tools": [{"type": "code_interpreter"}]}, "a tool of the type 'code_interpreter'"),
        ("/v1/responses", {"tools": [{"type": "shell"}]}, "a tool of the type 'shell'"),
        ("/v1/responses", {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}, "'shell'"),
        ("/v1/responses", {"tools": [{"type": "tool_search"}]}, "a tool of the type 'tool_search'"),
        ("/v1/messages", {"tools": [{"type": "advisor_20260301", "name": "a"}]}, "'advisor_20260301'"),
        ("/v1/messages", {"tools": [{"type": "bash_code_execution_20250825"}]}, "'bash_code_execution_20250825'"),
        ("/v1/messages", {"tools": [{"type": ["custom"]}]}, "a tool of the type"),
        ("/v1/messages", {"tools": [SEARCH | {"max_uses": True}]}, "has no max_uses"),
        ("/v1/messages", {"context_management": {"edits": [{"type": "compact_20260112"}]}}, "context_management"),
        ("/v1/responses", {"context_management": [{"type": "compaction"}]}, "context_management"),
        ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "'input_audio'"),
        ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "new", "file_id": "f"}]}]}, "'new'"),
    ],
)
def test_what_may_cost_more_than_its_bound_is_refused(path: str, parts: dict[str, Any], reason: str) -> None:
    """Each of these once went out with a reservation that its answer could be dearer than."""
    with pytest.raises(RefusedError) as caught:
        asked(path, {"server_tool_input_tokens": 50}, **parts)
    assert caught.value.refused == "cap_exceeded"
    assert reason in caught.value.message


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","max_tokens":64000,"max_tokens":1}',
        b'{"model":"m","max_tokens":64000,"max\\u005ftokens":1}',
        b'{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}',
    ],
)
def test_a_key_that_stands_twice_is_refused(body: bytes) -> None:
    """The provider may read the other one; escapes make no other key."""
    with pytest.raises(RefusedError, match="twice"):
        asked_of(Request("POST", "/v1/messages", (), body), BOUNDS)


@pytest.mark.parametrize(
    ("block", "written"),
    [
        (b"{}", ()),
        (b'{"cache\\u005fcontrol":{"type":"ephemeral"}}', ("5m",)),
        (b'{"cache\\u005fcontrol":{"type":"ephemeral","ttl":"\\u0031h"}}', ("5m", "1h")),
        (b'{"cache_control":{"type":"ephemeral","ttl":"2h"}}', ("5m", "1h")),
    ],
)
def test_cache_writes_are_seen_in_every_spelling(block: bytes, written: tuple[str, ...]) -> None:
    """What the parsed request asks for decides, not its bytes; a ttl that nobody knows may be the dearest."""
    body = b'{"model":"m","messages":[{"role":"user","content":[%b]}]}' % block
    classes = asked_of(Request("POST", "/v1/messages", (), body), BOUNDS).input_classes
    assert classes == (
        "input_tokens",
        "cache_read_input_tokens",
        *(f"cache_write_{ttl}_input_tokens" for ttl in written),
    )


def test_edits_that_drop_context_are_bounded() -> None:
    """Claude Code asks for one with every request."""
    edits = [{"type": "clear_thinking_20251015", "keep": "all"}, {"type": "clear_tool_uses_20250919"}]
    assert asked("/v1/messages", context_management={"edits": edits}) == 0
    assert asked("/v1/messages", context_management=None) == 0
