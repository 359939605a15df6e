"""The output of the agent loop as typed events: `pairbench/messages-events` 1 (`docs/reference/clients.md`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from runner.clients.client import Ending
from runner.clients.shapes import (
    ShapeError,
    events_of,
    object_at,
    objects_at,
    optional_text,
    text_at,
    texts_at,
    truth_at,
)
from runner.core.events import (
    ApiRetry,
    AssistantText,
    ClientReady,
    Event,
    Ignored,
    ModelReport,
    Result,
    ServerState,
    ToolResult,
    ToolUse,
    count,
)
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES, ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.canonical import Json

FORMAT: Final = "pairbench/messages-events"
VERSION: Final = 1

_NO_COST: Final = Unavailable("messages reports no cost")
_NO_STATUS: Final = Unavailable("no status was given")
_UNSAID_STATUS: Final = Unavailable("the client doesn't say")


def messages_events(stdout: bytes) -> Iterator[Event]:
    """Every event of the stream, in its order; whatever can't be read is a `Corrupt`."""
    return events_of(stdout, _events)


def messages_ending(result: Result) -> tuple[Ending, str]:
    """How a result says that the client ended."""
    status = result.api_error_status
    message = f"status {status.value}: {result.message}" if isinstance(status, Measured) else result.message
    match result.terminal_reason:
        case "completed":
            return Ending.OK, ""
        case "max_turns" | "max_output_tokens":
            return Ending.CAP, message
        case "provider_error" | "context_window":
            return Ending.PROVIDER_ERROR, message
        case "refusal":
            return Ending.PROVIDER_ERROR, f"the model refused: {message}"
        case other:
            return Ending.CLIENT_ERROR, f"{other}: {message}"


def _events(item: Mapping[str, Json]) -> Iterator[Event]:
    kind = text_at(item, "type")
    match kind:
        case "start":
            yield _start(item)
        case "assistant":
            yield from _assistant(item)
        case "tool_result":
            yield ToolResult(text_at(item, "id"), error=truth_at(item, "error"))
        case "retry":
            attempt = count(item.get("attempt"), "attempt")
            yield ApiRetry(attempt.value if isinstance(attempt, Measured) else 0, _UNSAID_STATUS, "")
        case "result":
            yield _result(item)
        case _:
            yield Ignored(kind)


def _start(item: Mapping[str, Json]) -> ClientReady:
    if (item.get("format"), item.get("version")) != (FORMAT, VERSION):
        raise ShapeError(f"not {FORMAT} {VERSION}")
    servers = tuple(
        ServerState(text_at(server, "name"), text_at(server, "status")) for server in objects_at(item, "servers")
    )
    version = f"{text_at(item, 'client')}+anthropic-{text_at(item, 'sdk')}"
    return ClientReady(texts_at(item, "tools"), servers, text_at(item, "model"), version)


def _assistant(item: Mapping[str, Json]) -> Iterator[Event]:
    """One event a content block; usage is the result's."""
    model = text_at(item, "model")
    for block in objects_at(item, "content"):
        match text_at(block, "type"):
            case "text":
                yield AssistantText(text_at(block, "text"), model, synthetic=False)
            case "tool_use":
                yield ToolUse(text_at(block, "id"), text_at(block, "name"))
            case other:
                yield Ignored(f"assistant/{other}")


def _result(item: Mapping[str, Json]) -> Result:
    outcome = text_at(item, "outcome")
    error = object_at(item, "error") if item.get("error") is not None else None
    if (outcome == "completed") != (error is None):
        raise ShapeError("a completed result with an error, or another one without")
    status = _NO_STATUS if error is None or error.get("status") is None else count(error["status"], "status")
    return Result(
        error=error is not None,
        terminal_reason=outcome,
        stop_reason="",
        answer=text_at(item, "answer") if error is None else "",
        message=text_at(error, "message") if error is not None else "",
        api_error=optional_text(error, "type") if error is not None else "",
        api_error_status=status,
        turns=count(item.get("turns"), "turns"),
        cost_microusd=_NO_COST,
        models=tuple(reported_usage(usage) for usage in objects_at(item, "usage")),
        denied=(),
    )


def reported_usage(usage: Mapping[str, Json]) -> ModelReport:
    """What one model used; a class that an answer didn't tell is null."""
    requests = count(usage.get("requests"), "requests")
    if not isinstance(requests, Measured):
        raise ShapeError(requests.reason)
    classes: dict[str, Any] = {name: count(usage.get(name), name) for name in TOKEN_CLASSES}
    return ModelReport(ModelUsage(model=text_at(usage, "model"), requests=requests.value, **classes), _NO_COST)
