"""What does a finished reply look like as a response? Renders one whole, or as the Responses API's event stream.

The API's `input_tokens` hold the cached ones, and it bills no write to its cache: `billed` says a usage in our classes,
of which none is part of another, as `usage_document` gives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.exchange import Usage
from gateway.quoting import encoded
from gateway.reply import INPUT_PIECE_CHARACTERS, TEXT_PIECE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.reply import Reply
    from gateway.responses_request import Called

Item = dict[str, Any]

# What a call gives to its tool: the events that carry it, and its key.
GIVEN = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
}


def billed(usage: Usage) -> Usage:
    """The usage as this API tells classes apart: what was written to the cache is plain input."""
    written = usage.cache_write_5m_input_tokens + usage.cache_write_1h_input_tokens
    return Usage(usage.input_tokens + written, usage.output_tokens, usage.cache_read_input_tokens, 0, 0)


def usage_document(usage: Usage) -> Item:
    """The usage as the API writes it: cached tokens are among the input's."""
    whole = usage.input_tokens + usage.cache_read_input_tokens
    return {
        "input_tokens": whole,
        "input_tokens_details": {"cached_tokens": usage.cache_read_input_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": whole + usage.output_tokens,
    }


def status_of(reply: Reply) -> str:
    """How the response ended, in the API's words."""
    return "incomplete" if reply.stop_reason == "max_tokens" else "completed"


def response_document(reply: Reply, tools: Mapping[str, Called]) -> Item:
    """The reply as one response; `tools` are the names that they have on the wire."""
    status = status_of(reply)
    shown = {"full": usage_document(reply.usage), "empty": {}, "none": None}[reply.shows_usage]
    return _response(reply, status) | {
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": _output(reply, tools),
        "usage": shown,
    }


def response_events(reply: Reply, tools: Mapping[str, Called]) -> list[bytes]:
    """The reply as server-sent events, one entry an event, in the API's order."""
    started = _response(reply, "in_progress")
    events: list[tuple[str, Item]] = [
        ("response.created", {"response": started}),
        ("response.in_progress", {"response": started}),
    ]
    for index, item in enumerate(_output(reply, tools)):
        events += _item_events(index, item)
    events.append((f"response.{status_of(reply)}", {"response": response_document(reply, tools)}))
    return [_event(kind, fields | {"sequence_number": number}) for number, (kind, fields) in enumerate(events)]


def failed_event(kind: str, message: str) -> bytes:
    """The event with which a response ends that the provider could not finish."""
    failed = {"status": "failed", "error": {"code": kind, "message": message}}
    return _event("response.failed", {"response": {"id": "", "object": "response", **failed}})


def error_body(kind: str, message: str, _request_id: str) -> bytes:
    """The body of an error; the request's name is in its headers only."""
    return encoded({"error": {"message": message, "type": kind, "param": None, "code": kind}})


def _response(reply: Reply, status: str) -> Item:
    return {
        "id": f"resp_{_bare(reply.message_id)}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": reply.model,
        "output": [],
        "usage": None,
    }


def _output(reply: Reply, tools: Mapping[str, Called]) -> list[Item]:
    name = _bare(reply.message_id)
    return [_item(f"{name}{index}", block, tools) for index, block in enumerate(reply.content)]


def _item(name: str, block: Item, tools: Mapping[str, Called]) -> Item:
    match block["type"]:
        case "text":
            text = {"type": "output_text", "text": block["text"], "annotations": []}
            head = {"id": f"msg_{name}", "type": "message", "status": "completed", "role": "assistant"}
            return head | {"content": [text]}
        case "thinking":
            summary = [{"type": "summary_text", "text": block["thinking"]}]
            return {
                "id": f"rs_{name}",
                "type": "reasoning",
                "summary": summary,
                "encrypted_content": block["signature"],
            }
        case _:
            return _call(name, block, tools.get(block["name"]))


def _call(name: str, block: Item, called: Called | None) -> Item:
    call = {"status": "completed", "call_id": f"call_{_bare(block['id'])}", "name": block["name"]}
    if called is not None:
        call |= {"name": called.name} | ({"namespace": called.namespace} if called.namespace else {})
    given = block["input"]
    if called is not None and called.takes_text and isinstance(given.get("input"), str):
        return {"id": f"ctc_{name}", "type": "custom_tool_call", **call, "input": given["input"]}
    return {"id": f"fc_{name}", "type": "function_call", **call, "arguments": encoded(given).decode()}


def _bare(identifier: str) -> str:
    return identifier.partition("_")[2]


def _item_events(index: int, item: Item) -> list[tuple[str, Item]]:
    place = {"item_id": item["id"], "output_index": index}
    empty = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "custom_tool_call": {"input": ""},
        "reasoning": {"summary": []},
    }
    opened = item | empty[item["type"]]
    if "status" in opened:
        opened |= {"status": "in_progress"}
    events = [("response.output_item.added", {"output_index": index, "item": opened})]
    if item["type"] == "message":
        events += _text_events(place | {"content_index": 0}, item["content"][0])
    elif item["type"] in GIVEN:
        kind, key = GIVEN[item["type"]]
        events += [(f"{kind}.delta", place | {"delta": piece}) for piece in _cut(item[key], INPUT_PIECE_CHARACTERS)]
        events.append((f"{kind}.done", place | {key: item[key]}))
    else:
        summary = item["summary"][0]
        place |= {"summary_index": 0}
        events.append(("response.reasoning_summary_part.added", place | {"part": summary | {"text": ""}}))
        events += [
            ("response.reasoning_summary_text.delta", place | {"delta": piece})
            for piece in _cut(summary["text"], TEXT_PIECE_CHARACTERS)
        ]
        events.append(("response.reasoning_summary_text.done", place | {"text": summary["text"]}))
        events.append(("response.reasoning_summary_part.done", place | {"part": summary}))
    events.append(("response.output_item.done", {"output_index": index, "item": item}))
    return events


def _text_events(place: Item, part: Item) -> list[tuple[str, Item]]:
    return [
        ("response.content_part.added", place | {"part": part | {"text": ""}}),
        *(
            ("response.output_text.delta", place | {"delta": piece})
            for piece in _cut(part["text"], TEXT_PIECE_CHARACTERS)
        ),
        ("response.output_text.done", place | {"text": part["text"]}),
        ("response.content_part.done", place | {"part": part}),
    ]


def _event(kind: str, fields: Item) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + encoded({"type": kind, **fields}) + b"\n\n"


def _cut(text: str, characters: int) -> list[str]:
    return [text[start : start + characters] for start in range(0, len(text), characters)]
