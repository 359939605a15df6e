"""What does a script say? Reads the `script` of a configuration.

The host has read the script strictly and written every default out; what arrives here is read again, so that a gateway
never plays something else than what it was given. A null stands for a key that was left out.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Literal

from gateway.exchange import Usage
from gateway.script.rules import (
    LARGEST,
    ErrorAnswer,
    Interruption,
    Place,
    RawAnswer,
    Respond,
    Rule,
    Script,
    Span,
    ToolResult,
    When,
    Words,
)
from gateway.script.table import Table

FORMAT = "pairbench/model-script"
VERSION = 1
DEFAULT_POLICY = "plain-agent"
# Nobody may take what a script says for the word of a provider's model.
FIXTURE_SUFFIX = " (fixture)"
STOP_REASONS = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
)
USAGE_CLASSES = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_5m_input_tokens",
    "cache_write_1h_input_tokens",
)
HEADER_NAME = re.compile(r"[a-z0-9-]{1,64}")
# The gateway frames answers and names requests itself.
OWN_HEADERS = ("connection", "content-length", "content-type", "date", "request-id", "transfer-encoding")


def read_script(value: object, problems: list[str]) -> Script:
    """The script; what is wrong with it is in `problems`, and then the script is worth nothing."""
    table = Table(value, "script", problems, ("format", "version", "description", "otherwise", "rules"))
    if table.raw("format") != FORMAT or table.raw("version") != VERSION:
        table.complain("", f"must be {FORMAT} {VERSION}")
    otherwise = table.choice("otherwise", ("policy", "error"))
    table.text("description")
    rules = table.checked("rules", lambda rules: isinstance(rules, list), "a list") or []
    return Script(
        rules=tuple(_rule(rule, f"script.rules[{number}]", problems) for number, rule in enumerate(rules)),
        refuses_otherwise=otherwise == "error",
    )


def _rule(value: object, place: str, problems: list[str]) -> Rule:
    table = Table(value, place, problems, ("when", "times", "respond"))
    if not table.has("respond"):
        table.complain("respond", "is missing")
    return Rule(
        when=_when(table.table("when"), table.where("when"), problems),
        times=table.count("times", 1),
        respond=_respond(table.table("respond"), table.where("respond"), problems),
    )


def _when(value: object, place: str, problems: list[str]) -> When:
    keys = tuple(When.__dataclass_fields__)
    table = Table(value, place, problems, keys)
    return When(
        path=table.text("path"),
        owner=table.choice("owner", ("client", "memory")),
        exchange=_span(table, "exchange"),
        resends=_span(table, "resends"),
        retry_count=_span(table, "retry_count"),
        turn=_span(table, "turn"),
        model=table.text("model"),
        stream=table.truth("stream"),
        tools=table.texts("tools"),
        text=_words(table.raw("text"), table.where("text"), problems) if table.has("text") else None,
        tool_result=_tool_result(table, problems),
    )


def _span(table: Table, key: str) -> Span | None:
    if not table.has(key):
        return None
    ends = Table(table.raw(key), table.where(key), table.problems, ("at_least", "at_most"))
    at_most = ends.count("at_most")
    return Span(ends.count("at_least") or 0, LARGEST if at_most is None else at_most)


def _words(value: object, place: str, problems: list[str]) -> Words:
    table = Table(value, place, problems, ("contains", "matches"))
    return Words(table.texts("contains"), table.text("matches"))


def _tool_result(when: Table, problems: list[str]) -> ToolResult | None:
    if not when.has("tool_result"):
        return None
    keys = ("tool", "contains", "matches", "failed")
    table = Table(when.raw("tool_result"), when.where("tool_result"), problems, keys)
    return ToolResult(table.text("tool"), Words(table.texts("contains"), table.text("matches")), table.truth("failed"))


REPLY_KEYS = ("thinking", "text", "calls")
RESPOND_KEYS = (
    *REPLY_KEYS,
    "policy",
    "error",
    "raw",
    "stop_reason",
    "usage",
    "tokens",
    "model",
    "delay_ms",
    "stall",
    "cut",
    "error_event",
)


def _respond(value: object, place: str, problems: list[str]) -> Respond:
    table = Table(value, place, problems, RESPOND_KEYS)
    table.choice("policy", (DEFAULT_POLICY,))
    kinds = [any(table.has(key) for key in REPLY_KEYS), *(table.has(key) for key in ("policy", "error", "raw"))]
    if kinds.count(True) != 1:
        table.complain("", f"needs exactly one of: a reply ({', '.join(REPLY_KEYS)}), policy, error, raw")
    delay = Table(
        table.table("delay_ms"), table.where("delay_ms"), problems, ("headers", "first_event", "between_events")
    )
    model = table.checked(
        "model",
        lambda value: isinstance(value, str) and value.endswith(FIXTURE_SUFFIX),
        f"text that ends in {FIXTURE_SUFFIX!r}",
    )
    return Respond(
        content=_content(table, problems) if kinds[0] else None,
        stop_reason=table.choice("stop_reason", STOP_REASONS),
        error=_error(table.raw("error"), table.where("error"), problems) if table.has("error") else None,
        raw=_raw(table.raw("raw"), table.where("raw"), problems) if table.has("raw") else None,
        usage=_usage(table, problems),
        model=model,
        headers_ms=delay.count("headers") or 0,
        first_event_ms=delay.count("first_event") or 0,
        between_events_ms=delay.count("between_events") or 0,
        interruption=_interruption(table, problems),
    )


def _content(table: Table, problems: list[str]) -> tuple[dict[str, Any], ...]:
    blocks: list[dict[str, Any]] = []
    if thinking := table.text("thinking"):
        blocks.append({"type": "thinking", "thinking": thinking})
    if text := table.text("text"):
        blocks.append({"type": "text", "text": text})
    calls = table.checked("calls", lambda calls: isinstance(calls, list), "a list") or []
    for number, value in enumerate(calls):
        call = Table(value, f"{table.where('calls')}[{number}]", problems, ("tool", "input"))
        arguments = call.checked("input", lambda value: isinstance(value, dict), "an object")
        blocks.append({"type": "tool_use", "name": call.text("tool") or "", "input": arguments or {}})
    return tuple(blocks)


def _usage(table: Table, problems: list[str]) -> Usage | Literal["computed", "none", "empty"]:
    if table.has("tokens"):
        counts = Table(table.raw("tokens"), table.where("tokens"), problems, USAGE_CLASSES)
        return Usage(*(counts.count(name) or 0 for name in USAGE_CLASSES))
    match table.choice("usage", ("computed", "none", "empty")):
        case "none":
            return "none"
        case "empty":
            return "empty"
        case _:
            return "computed"


def _error(value: object, place: str, problems: list[str]) -> ErrorAnswer:
    table = Table(value, place, problems, ("status", "type", "message", "headers"))
    status = table.count("status", 400, 599)
    if not table.has("status"):
        table.complain("status", "is missing")
    return ErrorAnswer(status or 500, table.text("type"), table.text("message") or "", _headers(table))


def _raw(value: object, place: str, problems: list[str]) -> RawAnswer:
    table = Table(value, place, problems, ("text", "base64", "wire", "status", "content_type", "headers"))
    if table.has("text") == table.has("base64"):
        table.complain("", "needs exactly one of: text, base64")
    body = (table.text("text") or "").encode()
    if table.has("base64"):
        try:
            body = base64.b64decode(table.text("base64") or "", validate=True)
        except (binascii.Error, ValueError):
            table.complain("base64", "must be base64")
    return RawAnswer(
        body=body,
        wire=table.truth("wire") or False,
        status=table.count("status", 200, 599) or 200,
        content_type=table.checked("content_type", _is_header_value, "printable ASCII text"),
        headers=_headers(table),
    )


def _headers(table: Table) -> tuple[tuple[str, str], ...]:
    headers = table.checked("headers", lambda value: isinstance(value, dict), "an object") or {}
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or name in OWN_HEADERS:
            table.complain(f"headers.{name}", "is no header that a script may set")
        if not _is_header_value(value):
            table.complain(f"headers.{name}", "must be printable ASCII text")
    return tuple(sorted(headers.items()))


def _is_header_value(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and value == value.strip()


PLACE_KEYS = ("before_headers", "after_events", "after_bytes")


def _interruption(respond: Table, problems: list[str]) -> Interruption | None:
    given = [key for key in ("stall", "cut", "error_event") if respond.has(key)]
    if not given:
        return None
    if len(given) > 1:
        respond.complain("", f"takes only one of: {', '.join(given)}")
    kind, *_ = given
    more = {"stall": (), "cut": ("by",), "error_event": ("type", "message")}[kind]
    table = Table(respond.raw(kind), respond.where(kind), problems, (*PLACE_KEYS, *more))
    place = _place(table)
    if kind == "stall":
        return Interruption("stall", place)
    if kind == "error_event":
        return Interruption(
            "error", place, table.text("type") or "overloaded_error", table.text("message") or "Overloaded"
        )
    match table.choice("by", ("reset", "close", "end")):
        case "close":
            return Interruption("close", place)
        case "end":
            return Interruption("end", place)
        case _:
            return Interruption("reset", place)


def _place(table: Table) -> Place:
    before_headers = table.truth("before_headers") or False
    events, size_bytes = table.count("after_events"), table.count("after_bytes")
    if [before_headers, events is not None, size_bytes is not None].count(True) != 1:
        table.complain("", f"needs exactly one of: {', '.join(PLACE_KEYS)}")
    return Place(before_headers, events, size_bytes)
