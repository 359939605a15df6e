"""What does a finished reply look like on the wire? Renders one as a message, or as the provider's event stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateway.identifiers import identifier
from gateway.quoting import encoded

if TYPE_CHECKING:
    from gateway.exchange import Usage

# Sizes of the pieces in which text and tool input are streamed, in characters; the provider's vary, these don't.
TEXT_PIECE_CHARACTERS = 48
INPUT_PIECE_CHARACTERS = 24


@dataclass(frozen=True)
class Reply:
    """A whole assistant message; tool calls carry their identifiers, thoughts their signatures.

    `shows_usage` says what of the usage is sent: all of it, nothing, or an object without any class.
    """

    message_id: str
    model: str
    content: tuple[dict[str, Any], ...]
    stop_reason: str
    usage: Usage
    shows_usage: Literal["full", "none", "empty"] = "full"


def with_identifiers(content: tuple[dict[str, Any], ...], seed: str, seq: int) -> tuple[dict[str, Any], ...]:
    """The content, each tool call of it named and each thought signed."""
    return tuple(_identified(block, seed, seq, index) for index, block in enumerate(content))


def _identified(block: dict[str, Any], seed: str, seq: int, index: int) -> dict[str, Any]:
    if block["type"] == "tool_use":
        name = identifier("toolu", seed, seq, index)
        return {"type": "tool_use", "id": name, "name": block["name"], "input": block["input"]}
    if block["type"] == "thinking":
        return block | {"signature": identifier("sig", seed, seq, index)}
    return block


def usage_document(usage: Usage) -> dict[str, Any]:
    """The usage as the provider writes it, all input classes included."""
    written = usage.cache_write_5m_input_tokens + usage.cache_write_1h_input_tokens
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m_input_tokens,
            "ephemeral_1h_input_tokens": usage.cache_write_1h_input_tokens,
        },
        "output_tokens": usage.output_tokens,
        "service_tier": "standard",
    }


def message_document(reply: Reply) -> dict[str, Any]:
    """The reply as one message, the answer to a request that doesn't stream."""
    return {
        "id": reply.message_id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": list(reply.content),
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        **_shown(reply, usage_document(reply.usage)),
    }


def _shown(reply: Reply, usage: dict[str, Any]) -> dict[str, Any]:
    match reply.shows_usage:
        case "full":
            return {"usage": usage}
        case "empty":
            return {"usage": {}}
        case "none":
            return {}


def event_stream(reply: Reply) -> list[bytes]:
    """The reply as server-sent events, one entry an event, in the provider's order."""
    started = message_document(reply) | {
        "content": [],
        "stop_reason": None,
        **_shown(reply, usage_document(reply.usage) | {"output_tokens": 1}),
    }
    events = [event("message_start", message=started)]
    for index, block in enumerate(reply.content):
        pieces, empty = _pieces(block)
        events.append(event("content_block_start", index=index, content_block=empty))
        if index == 0:
            events.append(event("ping"))
        events += [event("content_block_delta", index=index, delta=piece) for piece in pieces]
        events.append(event("content_block_stop", index=index))
    final = usage_document(reply.usage)
    del final["cache_creation"], final["service_tier"]
    delta = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    events.append(event("message_delta", delta=delta, **_shown(reply, final)))
    events.append(event("message_stop"))
    return events


def event(kind: str, **fields: object) -> bytes:
    """One server-sent event."""
    return b"event: " + kind.encode() + b"\ndata: " + encoded({"type": kind, **fields}) + b"\n\n"


def _pieces(block: dict[str, Any]) -> tuple[list[dict[str, str]], dict[str, Any]]:
    if block["type"] == "text":
        texts = _cut(block["text"], TEXT_PIECE_CHARACTERS)
        return [{"type": "text_delta", "text": text} for text in texts], {"type": "text", "text": ""}
    if block["type"] == "thinking":
        texts = _cut(block["thinking"], TEXT_PIECE_CHARACTERS)
        thoughts = [{"type": "thinking_delta", "thinking": text} for text in texts]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return [*thoughts, signed], {"type": "thinking", "thinking": "", "signature": ""}
    texts = ["", *_cut(encoded(block["input"]).decode(), INPUT_PIECE_CHARACTERS)]
    return [{"type": "input_json_delta", "partial_json": text} for text in texts], block | {"input": {}}


def _cut(text: str, characters: int) -> list[str]:
    return [text[start : start + characters] for start in range(0, len(text), characters)]
