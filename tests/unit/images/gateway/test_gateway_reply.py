"""Replies on the wire, and the identifiers in them."""

from __future__ import annotations

import json

from gateway.exchange import Usage
from gateway.identifiers import identifier
from gateway.reply import Reply, event_stream, message_document, with_identifiers

USAGE = Usage(3, 40, 500, 60, 7)
REPLY = Reply(
    message_id="msg_1",
    model="scripted-policy (fixture)",
    content=(
        {"type": "text", "text": "x" * 50},
        {"type": "tool_use", "id": "toolu_1", "name": "Grep", "input": {"pattern": "a long enough pattern"}},
    ),
    stop_reason="tool_use",
    usage=USAGE,
)


def events() -> list[tuple[str, dict[str, object]]]:
    found = []
    for event in event_stream(REPLY):
        name, data, *rest = event.decode().split("\n")
        assert rest == ["", ""]
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_events_come_in_the_provider_s_order() -> None:
    """Start, ping, blocks with their pieces, final usage, stop."""
    assert [name for name, _ in events()] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(data["type"] == name for name, data in events())


def test_tool_input_comes_in_pieces_of_json() -> None:
    """The first piece is empty, and together they are the input."""
    deltas = [data["delta"] for name, data in events() if name == "content_block_delta" and data["index"] == 1]
    pieces = [delta["partial_json"] for delta in deltas if isinstance(delta, dict)]
    assert pieces[0] == ""
    assert json.loads("".join(pieces)) == {"pattern": "a long enough pattern"}


def test_usage_stands_at_the_start_and_at_the_end() -> None:
    """Input classes come first, the output's total last; the start says one token, as the provider does."""
    by_name = dict(events())
    started = by_name["message_start"]["message"]
    assert isinstance(started, dict)
    assert started["usage"] == {
        "input_tokens": 3,
        "cache_creation_input_tokens": 67,
        "cache_read_input_tokens": 500,
        "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 7},
        "output_tokens": 1,
        "service_tier": "standard",
    }
    assert by_name["message_delta"]["usage"] == {
        "input_tokens": 3,
        "cache_creation_input_tokens": 67,
        "cache_read_input_tokens": 500,
        "output_tokens": 40,
    }


def test_a_whole_message_holds_the_same() -> None:
    """Without streaming, content, stop reason and usage come at once."""
    message = message_document(REPLY)
    assert message["content"] == list(REPLY.content)
    assert (message["stop_reason"], message["usage"]["output_tokens"]) == ("tool_use", 40)


def test_identifiers_follow_from_seed_and_number() -> None:
    """The same run names everything the same; another seed, number or kind gives another name."""
    assert identifier("msg", "seed", 1) == "msg_01oWSBiCUA6bX3EgvSWKuybE"
    names = {identifier("msg", "seed", 1), identifier("msg", "seed", 2), identifier("msg", "other", 1)}
    names.add(identifier("toolu", "seed", 1))
    assert len({name.partition("_")[2] for name in names}) == 4


def test_every_tool_call_gets_a_name_of_its_own() -> None:
    """Two calls of one message differ."""
    use = {"type": "tool_use", "name": "Grep", "input": {}}
    first, second = with_identifiers((use, use), "seed", 1)
    assert first["id"] != second["id"]
    assert list(first) == ["type", "id", "name", "input"]
