"""Codex's `exec --json` output as typed events, and what its end means.

The rules follow what version 0.163.0 was seen to write on 2026-11-29: `docs/reference/clients.md` lists the cases.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from runner.clients.client import Ending
from runner.clients.shapes import events_of, object_at, optional_text, text_at
from runner.core.events import (
    ApiRetry,
    AssistantText,
    Event,
    Ignored,
    ModelReport,
    Result,
    ToolResult,
    ToolUse,
    count,
    plain_text,
)
from runner.core.launch import mcp_tool_name
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.canonical import Json

_NO_COST: Final = Unavailable("codex reports no cost")
_NO_TURNS: Final = Unavailable("codex doesn't count its turns")
# It says nothing of the model either, which the gateway knows.
_UNNAMED: Final = ""

_STATUS: Final = re.compile(r"(?:unexpected status|last status:) (\d{3})\b")
_RETRY: Final = re.compile(r"Reconnecting\.\.\. (?:(\d{1,6})/\d+|waiting for network)(.*)", re.DOTALL)
_REQUIRED: Final = re.compile(r"required MCP servers failed to initialize: (.+)")
_SERVER: Final = re.compile(r"(?:^|; |, )([a-z][a-z0-9-]{0,39}): ")
_OUTPUT_LIMIT: Final = "Incomplete response returned, reason: max_output_tokens"
# How messages begin that pass on what the provider said, or that it said nothing.
_OF_PROVIDER: Final = (
    "{",
    "Codex ran out of room in the model's context window",
    "Connection failed",
    "Incomplete response returned",
    "Quota exceeded",
    "Selected model is at capacity",
    "We\u2019re currently experiencing high demand",
    "You\u2019ve hit your usage limit",
    "stream disconnected before completion",
)
# A command that ended with another code than 0 has failed, too.
_FAILED: Final = frozenset({"failed", "declined"})
# Items that are something that the model said or thought, not something that it did.
_SAYINGS: Final = frozenset({"agent_message", "reasoning", "error", "todo_list"})


class CodexStream:
    """One stream while it is read: the answer is the last message before the turn's end."""

    def __init__(self) -> None:
        """Nothing was said."""
        self._last_message = ""
        self._begun: set[str] = set()

    def events(self, stdout: bytes) -> Iterator[Event]:
        """Every event of the stream, in its order; whatever can't be read is a `Corrupt`."""
        return events_of(stdout, self._events)

    def _events(self, event: Mapping[str, Json]) -> Iterator[Event]:
        kind = text_at(event, "type")
        match kind:
            case "item.started" | "item.completed":
                yield from self._item(object_at(event, "item"), ended=kind == "item.completed")
            case "turn.completed":
                yield self._result(error="", models=(_reported(object_at(event, "usage")),))
            case "turn.failed":
                message = text_at(object_at(event, "error"), "message")
                yield self._result(error=message or "the turn failed without a message", models=())
            case "error":
                yield _error(text_at(event, "message"))
            case _:
                yield Ignored(kind)

    def _item(self, item: Mapping[str, Json], *, ended: bool) -> Iterator[Event]:
        kind, name = text_at(item, "type"), text_at(item, "id")
        if kind in _SAYINGS:
            if kind == "agent_message" and ended:
                self._last_message = text_at(item, "text")
                yield AssistantText(self._last_message, _UNNAMED, synthetic=False)
            else:
                yield Ignored(f"item/{kind}")
            return
        if name not in self._begun:
            self._begun.add(name)
            yield ToolUse(name, _tool(kind, item))
        if ended:
            yield ToolResult(name, error=optional_text(item, "status") in _FAILED)

    def _result(self, *, error: str, models: tuple[ModelReport, ...]) -> Result:
        status = _STATUS.search(error)
        return Result(
            error=bool(error),
            terminal_reason="turn_failed" if error else "completed",
            stop_reason="",
            answer="" if error else self._last_message,
            message=error,
            api_error="",
            api_error_status=Measured(int(status[1])) if status else Unavailable("no status in the message"),
            turns=_NO_TURNS,
            cost_microusd=_NO_COST,
            models=models,
            denied=(),
        )


def codex_ending(result: Result) -> tuple[Ending, str]:
    """How a turn's end says that Codex ended: a failed turn is known by its message alone."""
    if not result.error:
        return Ending.OK, ""
    if isinstance(result.api_error_status, Measured):
        return Ending.PROVIDER_ERROR, f"status {result.api_error_status.value}: {result.message}"
    if result.message.startswith(_OUTPUT_LIMIT):
        return Ending.CAP, result.message
    if result.message.startswith(_OF_PROVIDER):
        return Ending.PROVIDER_ERROR, result.message
    return Ending.CLIENT_ERROR, result.message


def failed_servers(stderr: bytes) -> tuple[str, ...]:
    """The required MCP servers without which it refused to start, as its last words name them."""
    found = _REQUIRED.search(plain_text(stderr[-65536:].decode("utf-8", "replace")))
    return tuple(dict.fromkeys(_SERVER.findall(found[1]))) if found else ()


def _error(message: str) -> Event:
    """Only a retry is news: any other error comes again with the turn's failure."""
    retry = _RETRY.fullmatch(message)
    if retry is None:
        return Ignored("error")
    status = _STATUS.search(message)
    return ApiRetry(
        int(retry[1] or 0),
        Measured(int(status[1])) if status else Unavailable("the connection failed"),
        retry[2].strip(" ()"),
    )


def _tool(kind: str, item: Mapping[str, Json]) -> str:
    if kind == "mcp_tool_call":
        return mcp_tool_name(text_at(item, "server"), text_at(item, "tool"))
    return kind


def _reported(usage: Mapping[str, Json]) -> ModelReport:
    """The turn's usage in classes of which none holds another: Codex counts cached tokens among the input."""
    whole = count(usage.get("input_tokens"), "input_tokens")
    cached = count(usage.get("cached_input_tokens"), "cached_input_tokens")
    written = count(usage.get("cache_write_input_tokens"), "cache_write_input_tokens")
    output = count(usage.get("output_tokens"), "output_tokens")
    if whole == Measured(0) and output == Measured(0):
        # An answer costs tokens: Codex writes zeros when the provider's answer carried no usage.
        whole = cached = written = output = Unavailable("the client reported neither input nor output tokens")
    plain = _difference(whole, cached)
    if isinstance(written, Measured) and written.value:
        plain = written = Unavailable(
            f"the client didn't say for how long it wrote {written.value} tokens to the cache"
        )
    return ModelReport(
        ModelUsage(
            model=_UNNAMED,
            # It doesn't say how many requests it made.
            requests=0,
            input_tokens=plain,
            output_tokens=output,
            cache_read_input_tokens=cached,
            cache_write_5m_input_tokens=written,
            cache_write_1h_input_tokens=written,
        ),
        _NO_COST,
    )


def _difference(whole: Quantity, part: Quantity) -> Quantity:
    if not isinstance(whole, Measured):
        return whole
    if not isinstance(part, Measured):
        return part
    if part.value > whole.value:
        return Unavailable(f"of {whole.value} input tokens {part.value} are said to be cached")
    return Measured(whole.value - part.value)
