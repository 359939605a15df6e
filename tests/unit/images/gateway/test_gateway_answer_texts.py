"""What a model said in an answer, as digests."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest
from gateway.answer_texts import READ_LIMIT_BYTES, AnswerTexts, texts_reader
from gateway.exchange import Request


def digests(*texts: str) -> tuple[str, ...]:
    return tuple("sha256:" + hashlib.sha256(text.encode()).hexdigest() for text in texts)


def streamed(*blocks: tuple[str, ...], line_end: str = "\n") -> bytes:
    """A stream in which each block's text comes in those pieces, with thoughts before the first."""
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
    ]
    for index, (first, *rest) in enumerate(blocks, 1):
        events.append({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": first}})
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}
            for piece in rest
        ]
    return "".join(
        f"event: {event['type']}{line_end}data: {json.dumps(event)}{line_end}{line_end}" for event in events
    ).encode()


def whole(*texts: str) -> bytes:
    """A message as one document, over several lines."""
    blocks = [{"type": "text", "text": text} for text in texts]
    return json.dumps({"type": "message", "content": [{"type": "tool_use"}, *blocks]}, indent=1).encode()


def read(body: bytes, cut: int = 7, coding: str = "") -> tuple[str, ...] | None:
    reader = AnswerTexts(coding)
    for start in range(0, len(body), cut):
        reader.feed(body[start : start + cut])
    return reader.digests()


@pytest.mark.parametrize("cut", [1, 7, 10_000])
@pytest.mark.parametrize(
    "body",
    [
        streamed(("Let ", "me\nlook."), ("", " It is ", "42.\n")),
        streamed(("Let ", "me\nlook."), ("", " It is ", "42.\n"), line_end="\r\n"),
        whole("Let me look.", "\nIt is 42."),
    ],
    ids=["stream", "crlf", "whole"],
)
def test_each_text_and_all_together_are_said(body: bytes, cut: int) -> None:
    """In pieces or as a whole, without their white space; thoughts and tools are no texts."""
    assert read(body, cut) == digests("Letmelook.", "Itis42.", "Letmelook.Itis42.")


def test_one_text_stands_alone() -> None:
    """There is nothing to join, and a text of white space is none."""
    assert read(streamed(("Hello",), (" \n",))) == digests("Hello")


def test_the_last_texts_of_many_are_told() -> None:
    """Clients give the last one as their answer."""
    found = read(whole(*(f"t{number}" for number in range(12))))
    assert found == digests(*(f"t{number}" for number in range(4, 12)), "".join(f"t{number}" for number in range(12)))


def test_a_character_cut_in_two_between_events_is_one() -> None:
    """As the client puts it together; half of one is replaced as the host replaces it."""
    assert read(streamed(("", "\ud83d", "\ude00 ü"))) == digests("\U0001f600ü")
    assert read(streamed(("", "a\ud83d"))) == digests("a\ufffd\ufffd\ufffd")


def test_a_packed_answer_is_read() -> None:
    """As any client reads it; what can't be unpacked has no texts."""
    assert read(gzip.compress(whole("Hello")), coding="gzip") == digests("Hello")
    assert read(b"Hello", coding="gzip") is None
    assert read(b"Hello", coding="of nobody") is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"data: \xed\xa0\x80",
        b"data: {\n\n",
        b"[1]",
        b'{"content": 4}',
        b'data: ["text"]\n',
        b'{"content": [4, {"text": 5}]}',
    ],
)
def test_answers_of_any_shape_are_read(body: bytes) -> None:
    """They come from a provider, or from whoever plays one."""
    assert read(body) == ()


def test_what_is_longer_than_any_answer_has_no_texts() -> None:
    """It takes no memory either."""
    assert read(b'{"content":[{"text":"' + b"x" * READ_LIMIT_BYTES, 1 << 20) is None


@pytest.mark.parametrize(
    ("method", "path", "reads"),
    [("POST", "/v1/messages?beta=true", True), ("GET", "/v1/messages", False), ("POST", "/v1/responses", False)],
)
def test_only_answers_of_the_messages_api_are_read(method: str, path: str, *, reads: bool) -> None:
    """Clients of the other one put their answer together themselves."""
    assert (texts_reader(Request(method, path, (), b""), "") is not None) is reads
