"""Reading along with an answer: however it is cut, whatever it holds, nothing is raised and no zero is made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway.answer_reader import AnswerReader
from gateway.exchange import Request, Usage, UsageUnavailable
from hypothesis import given
from hypothesis import strategies as st

MESSAGES = Request("POST", "/v1/messages", (), b'{"model":"m","max_tokens":1}')
RESPONSES = Request("POST", "/v1/responses", (), b'{"model":"m"}')
USAGE: dict[str, Any] = {
    "input_tokens": 7,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 3,
    "output_tokens": 1,
}
STREAM = b"".join(
    b"event: %s\r\ndata: %s\r\n\r\n" % (kind.encode(), json.dumps({"type": kind, **fields}).encode())
    for kind, fields in (
        ("message_start", {"message": {"model": "claude-x", "usage": USAGE}}),
        ("content_block_delta", {"delta": {"text": "usage message_delta"}}),
        ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9, "input_tokens": None}}),
        ("message_stop", {}),
    )
)
EVENTS = ("text/event-stream; charset=utf-8", "")


def read(
    data: bytes, *sizes: int, request: Request = MESSAGES, content: tuple[str, str] = EVENTS, status: int = 200
) -> Any:
    """What a reader says that got the data in pieces of these sizes, and the rest at once."""
    reader = AnswerReader(request, status, content)
    for size in sizes:
        piece, data = data[:size], data[size:]
        reader.feed(piece)
    reader.feed(data)
    return reader.observation("m", broken_off=False)


@given(st.lists(st.integers(0, 60), max_size=40))
def test_pieces_make_no_difference(sizes: list[int]) -> None:
    """Events that are split anywhere say the same; a class that a later word leaves out keeps the earlier one."""
    seen = read(STREAM, *sizes)
    assert seen.usage == Usage(7, 9, 5, 3, 0)
    assert (seen.model_resolved, seen.stop_reason) == ("claude-x", "end_turn")


@pytest.mark.parametrize("end", range(len(STREAM)))
def test_truncation_at_every_byte_makes_up_no_output(end: int) -> None:
    """Until the last word on usage came, the output is unavailable, and the input is once it was said."""
    reader = AnswerReader(MESSAGES, 200, EVENTS)
    reader.feed(STREAM[:end])
    usage = reader.observation("m", broken_off=True).usage
    if isinstance(usage, Usage):
        assert usage.input_tokens == 7
        assert usage.output_tokens in {9, UsageUnavailable("cut before the final usage")}
    else:
        assert usage == UsageUnavailable("cut before any usage")


@given(st.binary(max_size=400), st.sampled_from(["", "gzip", "deflate", "br", "zstd", "strange"]), st.booleans())
def test_no_bytes_raise_anything(data: bytes, coding: str, streamed: bool) -> None:  # noqa: FBT001 - an example's
    """Whatever a provider sends, usage is read or has a reason."""
    content = ("text/event-stream" if streamed else "application/json", coding)
    assert isinstance(read(data, content=content).usage, Usage | UsageUnavailable)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({}, UsageUnavailable("the answer has no usage")),
        (USAGE, Usage(7, 1, 5, 3, 0)),
        (
            {"input_tokens": 1, "output_tokens": 2},
            Usage(
                1,
                2,
                UsageUnavailable("the answer has no cache_read_input_tokens"),
                UsageUnavailable("the answer has no cache_creation_input_tokens"),
                UsageUnavailable("the answer has no cache_creation_input_tokens"),
            ),
        ),
        (
            USAGE | {"cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1}},
            Usage(
                7,
                1,
                5,
                UsageUnavailable("the answer's cache writes don't add up"),
                UsageUnavailable("the answer's cache writes don't add up"),
            ),
        ),
    ],
    ids=["empty", "without a split", "minimal", "a split that contradicts"],
)
def test_a_whole_message_says_each_class_or_why_not(usage: dict[str, Any], expected: object) -> None:
    """What is left out is unavailable, each class by itself."""
    body = json.dumps({"model": "m", "stop_reason": "end_turn", "usage": usage}).encode()
    assert read(body, content=("application/json", "")).usage == expected


def test_a_write_for_an_hour_that_is_not_split_is_not_guessed() -> None:
    """Only the request says that there may be such writes."""
    request = Request("POST", "/v1/messages", (), b'{"cache_control":{"ttl": "1h"}}')
    usage = read(STREAM, request=request).usage
    assert usage.cache_write_1h_input_tokens == UsageUnavailable("the answer doesn't split its cache writes by ttl")


def test_cached_input_of_a_response_is_told_from_the_rest() -> None:
    """The Responses API counts it among the input; reasoning is a part of the output."""
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    event = {"type": "response.completed", "response": {"model": "gpt", "status": "completed", "usage": usage}}
    seen = read(b"data: " + json.dumps(event).encode() + b"\n\n", request=RESPONSES)
    assert seen.usage == Usage(40, 9, 60, 0, 0)
    assert seen.details == {"thinking_tokens": 4}


def test_what_bears_on_the_price_is_kept() -> None:
    """Region, speed and requests of server tools, in the provider's words."""
    more = {
        "inference_geo": "us",
        "speed": "fast",
        "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
    }
    body = json.dumps({"model": "m", "usage": USAGE | more}).encode()
    assert read(body, content=("application/json", "")).details == {
        "inference_geo": "us",
        "speed": "fast",
        "server_tools": {"web_search_requests": 2},
    }


@pytest.mark.parametrize(
    ("iterations", "known"),
    [
        ([{"type": "message", "input_tokens": 7, "output_tokens": 1}], True),
        ([{"type": "compaction", "input_tokens": 180_000, "output_tokens": 9}, {"input_tokens": 7}], False),
        (["strange"] * 8, False),
        ("strange", True),
    ],
)
def test_iterations_beyond_the_usage_make_it_unavailable(iterations: object, known: bool) -> None:  # noqa: FBT001
    """A model that was called once more than its usage says isn't counted as if it hadn't been."""
    body = json.dumps({"usage": {**USAGE, "iterations": iterations}}).encode()
    usage = read(body, content=("application/json", "")).usage
    reason = UsageUnavailable("the answer has iterations that its usage doesn't hold")
    assert usage == (Usage(7, 1, 5, 3, 0) if known else Usage(*[reason] * 5))
