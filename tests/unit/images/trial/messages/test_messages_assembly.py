"""How the events of a stream become one answer."""

from __future__ import annotations

from typing import Any

import pytest
from messages.assembly import Assembly
from messages.replies import ProviderError, Reply

START = {"type": "message_start", "message": {"model": "m-1", "usage": {"input_tokens": 10, "output_tokens": 1}}}
STOP: list[dict[str, Any]] = [
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]


def assembled(*events: dict[str, Any]) -> Reply:
    """The answer of the events."""
    assembly = Assembly()
    for event in events:
        assembly.take(event)
    return assembly.reply()


def block(index: int, **content: Any) -> dict[str, Any]:
    """A block's start."""
    return {"type": "content_block_start", "index": index, "content_block": content}


def piece(index: int, kind: str, **content: Any) -> dict[str, Any]:
    """A piece of a block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **content}}


def test_pieces_make_blocks() -> None:
    """Text, thoughts with their signature, and calls; pings and ends of blocks say nothing."""
    assert assembled(
        START,
        block(0, type="thinking", thinking="", signature=""),
        {"type": "ping"},
        piece(0, "thinking_delta", thinking="H"),
        piece(0, "thinking_delta", thinking="m"),
        piece(0, "signature_delta", signature="sig"),
        block(1, type="text", text="", citations=None),
        piece(1, "text_delta", text="4"),
        piece(1, "text_delta", text="2"),
        block(2, type="tool_use", id="t1", name="grep", input={}, caller={"type": "direct"}),
        piece(2, "input_json_delta", partial_json=""),
        piece(2, "input_json_delta", partial_json='{"pattern":'),
        piece(2, "input_json_delta", partial_json='"x"}'),
        {"type": "content_block_stop", "index": 2},
        block(3, type="tool_use", id="t2", name="glob", input={}),
        *STOP,
    ) == Reply(
        model="m-1",
        stop_reason="end_turn",
        content=[
            {"type": "thinking", "thinking": "Hm", "signature": "sig"},
            {"type": "text", "text": "42"},
            {"type": "tool_use", "id": "t1", "name": "grep", "input": {"pattern": "x"}},
            {"type": "tool_use", "id": "t2", "name": "glob", "input": {}},
        ],
        usage={"input_tokens": 10, "output_tokens": 5},
    )


def test_an_answer_without_usage_has_none() -> None:
    """None isn't zero; an object without any class isn't either."""
    bare = {"type": "message_start", "message": {"model": "m"}}
    assert assembled(bare, {"type": "message_delta", "delta": {}}, {"type": "message_stop"}).usage is None
    empty = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": None}}
    assert assembled(bare, empty, {"type": "message_stop"}).usage == {}


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "the answer broke off"),
        ([START, block(0, type="text", text="half")], "the answer broke off"),
        ([START, piece(0, "text_delta", text="x")], "an event of the answer is none: KeyError(0)"),
        ([{"type": "message_start"}], "an event of the answer is none: KeyError('message')"),
        ([{"type": "message_start", "message": 3}], "an event of the answer is none: TypeError"),
        (
            [block(0, type="tool_use", id="t", name="n"), piece(0, "input_json_delta", partial_json="{"), *STOP],
            "no JSON",
        ),
        (
            [block(0, type="tool_use", id="t", name="n"), piece(0, "input_json_delta", partial_json="[]"), *STOP],
            "no object",
        ),
    ],
)
def test_what_is_no_answer_is_an_error_of_the_provider(events: list[dict[str, Any]], message: str) -> None:
    """Half an answer is never taken for a whole one."""
    with pytest.raises(ProviderError) as error:
        assembled(*events)
    assert message in error.value.message
