"""What a request says of itself: its model, and the names of its tools."""

from __future__ import annotations

import json

import pytest
from gateway.exchange import Exchange, Request, RequestFacts
from gateway.request_facts import facts_of

NAMESPACE = {"type": "namespace", "name": "mcp__fix", "tools": [{"type": "function", "name": "lookup"}, 4, {}]}


def facts(document: object, path: str = "/v1/messages?beta=true") -> RequestFacts:
    """Of a request with that body."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return facts_of(Exchange(1, 0, Request("POST", path, (), body)))


@pytest.mark.parametrize(
    ("document", "path", "expected"),
    [
        ({"model": "m", "tools": [{"name": "Read"}, {"name": "Grep"}]}, "/v1/messages", ("m", ("Read", "Grep"), 0)),
        ({"model": "m", "tools": [{"name": "Read"}]}, "/v1/messages/count_tokens", ("m", (), 0)),
        ({"tools": [NAMESPACE, {"type": "web_search"}]}, "/v1/responses", (None, ("mcp__fix/lookup", "web_search"), 0)),
        (
            {
                "tools": [{"type": "web_search"}],
                "input": [{"type": "additional_tools", "tools": [NAMESPACE]}, "x", {"tools": [{"name": "no"}]}],
            },
            "/v1/responses",
            (None, ("web_search", "mcp__fix/lookup"), 0),
        ),
        ({"input": [{"type": "additional_tools", "tools": {}}]}, "/v1/responses", (None, (), 0)),
        ({"model": 4, "tools": [3, {"name": 4}, {}, {"type": "namespace"}]}, "/v1/messages", (None, (), 0)),
        ({"model": "m", "tools": {"name": "Read"}}, "/v1/messages", ("m", (), 0)),
        (b"[1]", "/v1/messages", (None, (), 0)),
        (b"\xff", "/v1/messages", (None, (), 0)),
        (b'{"model":"m","tools":[{"name":"\\ud800"}]}', "/v1/messages", (None, (), 0)),
    ],
    ids=["names", "counting", "namespace", "added", "nothing added", "odd", "object", "list", "binary", "surrogate"],
)
def test_a_request_names_its_tools(
    document: object, path: str, expected: tuple[str | None, tuple[str, ...], int]
) -> None:
    """Whatever it holds; only those that are offered to a model count."""
    assert facts(document, path) == RequestFacts(*expected)


def test_names_are_listed_as_far_as_there_is_room() -> None:
    """The others are counted, so that whoever looks for one knows that it may be among them."""
    many = facts({"tools": [{"name": f"tool{number}"} for number in range(300)]})
    assert (len(many.tools), many.tools[-1], many.unlisted_tools) == (256, "tool255", 44)
    long = facts({"tools": [{"name": "a"}, {"name": "x" * 129}, {"name": "b"}]})
    assert (long.tools, long.unlisted_tools) == (("a",), 2)
    wide = facts({"tools": [{"name": "\U0001f600" * 128}] * 40})
    assert (len(wide.tools), wide.unlisted_tools) == (31, 9)


def test_a_request_is_read_once() -> None:
    """What it said stays known."""
    exchange = Exchange(1, 0, Request("POST", "/v1/messages", (), b'{"model":"m"}'))
    assert facts_of(exchange) is facts_of(exchange)
