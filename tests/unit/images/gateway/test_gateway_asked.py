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
