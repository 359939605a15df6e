"""Claude Code's `stream-json` output as typed events, and what its result means.

The rules follow what version 2.1.332 was seen to write on 2026-11-29: `docs/reference/clients.md` lists the cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from runner.clients.client import Ending
from runner.clients.shapes import (
    ShapeError,
    as_object,
    as_text,
    events_of,
    list_at,
    object_at,
    objects_at,
    optional_text,
    text_at,
)
from runner.core.events import (
    ApiRetry,
    AssistantText,
    ClientReady,
    Event,
    Ignored,
    ModelFallback,
    ModelReport,
    PermissionDenied,
    Result,
    ServerState,
    ToolResult,
    ToolUse,
    count,
    microusd,
    plain_text,
)
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.canonical import Json

SYNTHETIC = "<synthetic>"
"""The model's name in messages that the client writes itself."""

# Whose prices these are is known; any other basis is the client's guess.
_PRICED = ("list", "managed")


def claude_events(stdout: bytes) -> Iterator[Event]:
    """Every event of the stream, in its order; whatever can't be read is a `Corrupt`."""
    return events_of(stdout, _events)


def claude_ending(result: Result) -> tuple[Ending, str]:
    """How a result says that the client ended.

    An error's subtype can be `success`, and a success's exit code is no proof: only `is_error`, the terminal reason and
    the API's error count.
    """
    if not result.error:
        if result.terminal_reason in {"completed", ""}:
            return Ending.OK, ""
        return Ending.CLIENT_ERROR, f"ended with terminal reason {result.terminal_reason}"
    message = result.message or result.terminal_reason or "an error without a message"
    match result.terminal_reason:
        case "max_turns" | "budget_exhausted":
            return Ending.CAP, message
        case "api_error" if result.api_error == "max_output_tokens":
            return Ending.CAP, message
        case "api_error" | "prompt_too_long":
            return Ending.PROVIDER_ERROR, _provider_reason(result, message)
        case _:
            return Ending.CLIENT_ERROR, f"{result.terminal_reason or 'error'}: {message}"


def _provider_reason(result: Result, message: str) -> str:
    if isinstance(result.api_error_status, Measured):
        return f"status {result.api_error_status.value}: {message}"
    if result.api_error:
        return f"{result.api_error}: {message}"
    return f"the model refused: {message}" if result.stop_reason == "refusal" else message


def _events(item: Mapping[str, Json]) -> Iterator[Event]:
    kind, subtype = text_at(item, "type"), optional_text(item, "subtype")
    match kind:
        case "assistant":
            yield from _assistant(item)
        case "user":
            yield from _user(item)
        case "result":
            yield _result(item)
        case "system":
            yield _system(item, subtype)
        case _:
            yield Ignored(kind)


def _system(item: Mapping[str, Json], subtype: str) -> Event:
    match subtype:
        case "init":
            servers = tuple(
                ServerState(text_at(server, "name"), text_at(server, "status"))
                for server in objects_at(item, "mcp_servers")
            )
            tools = tuple(as_text(tool, "tools") for tool in list_at(item, "tools"))
            return ClientReady(tools, servers, text_at(item, "model"), optional_text(item, "claude_code_version"))
        case "api_retry":
            attempt = count(item.get("attempt"), "attempt")
            return ApiRetry(
                attempt.value if isinstance(attempt, Measured) else 0,
                count(item.get("error_status"), "error_status"),
                optional_text(item, "error"),
            )
        case "permission_denied":
            return PermissionDenied(text_at(item, "tool_use_id"), text_at(item, "tool_name"))
        case "model_fallback":
            return ModelFallback(text_at(item, "original_model"), text_at(item, "fallback_model"))
        case _:
            return Ignored(f"system/{subtype}")


def _assistant(item: Mapping[str, Json]) -> Iterator[Event]:
    """One event a content block; usage in these messages is the stream's first word and is left alone."""
    message = object_at(item, "message")
    model = optional_text(message, "model")
    for block in _blocks(message):
        match text_at(block, "type"):
            case "text":
                yield AssistantText(text_at(block, "text"), model, synthetic=model == SYNTHETIC)
            case "tool_use":
                yield ToolUse(text_at(block, "id"), text_at(block, "name"))
            case other:
                yield Ignored(f"assistant/{other}")


def _user(item: Mapping[str, Json]) -> Iterator[Event]:
    for block in _blocks(object_at(item, "message")):
        kind = text_at(block, "type")
        if kind == "tool_result":
            yield ToolResult(text_at(block, "tool_use_id"), error=block.get("is_error") is True)
        else:
            yield Ignored(f"user/{kind}")


def _result(item: Mapping[str, Json]) -> Result:
    error = item.get("is_error")
    if not isinstance(error, bool):
        raise ShapeError("a result without is_error")
    said = optional_text(item, "result")
    errors = [as_text(value, "errors") for value in list_at(item, "errors")] if "errors" in item else []
    usage = item.get("modelUsage", {})
    if not isinstance(usage, Mapping):
        raise ShapeError("modelUsage is not an object")
    return Result(
        error=error,
        terminal_reason=optional_text(item, "terminal_reason"),
        stop_reason=optional_text(item, "stop_reason"),
        answer="" if error else said,
        message="; ".join(errors) or said if error else "",
        api_error=optional_text(item, "api_error"),
        api_error_status=count(item.get("api_error_status"), "api_error_status"),
        turns=count(item.get("num_turns"), "num_turns"),
        cost_microusd=microusd(item.get("total_cost_usd"), "total_cost_usd"),
        models=tuple(_model_report(plain_text(name), as_object(usage[name], name)) for name in sorted(usage)),
        denied=tuple(
            PermissionDenied(text_at(denial, "tool_use_id"), text_at(denial, "tool_name"))
            for denial in (objects_at(item, "permission_denials") if "permission_denials" in item else ())
        ),
    )


def _model_report(model: str, item: Mapping[str, Json]) -> ModelReport:
    usage = ModelUsage(
        model=model,
        # The client doesn't say how many requests it made.
        requests=0,
        input_tokens=count(item.get("inputTokens"), "inputTokens"),
        output_tokens=count(item.get("outputTokens"), "outputTokens"),
        cache_read_input_tokens=count(item.get("cacheReadInputTokens"), "cacheReadInputTokens"),
        cache_write_5m_input_tokens=_cache_write(item, "cacheCreationEphemeral5mInputTokens"),
        cache_write_1h_input_tokens=_cache_write(item, "cacheCreationEphemeral1hInputTokens"),
    )
    if all(usage.tokens(name) == Measured(0) for name in ("input_tokens", "output_tokens")):
        # An answer costs tokens: the client writes zeros when the provider's answer carried no usage.
        nothing = Unavailable("the client reported neither input nor output tokens")
        usage = ModelUsage(
            model=model,
            requests=0,
            input_tokens=nothing,
            output_tokens=nothing,
            cache_read_input_tokens=nothing,
            cache_write_5m_input_tokens=nothing,
            cache_write_1h_input_tokens=nothing,
        )
        return ModelReport(usage, nothing)
    basis = optional_text(item, "costBasis")
    if basis not in _PRICED:
        guess = Unavailable(f"the client guessed the price of {model} (cost basis {basis!r})")
        return ModelReport(usage, guess, guessed=True, guess_microusd=microusd(item.get("costUSD"), "costUSD"))
    return ModelReport(usage, microusd(item.get("costUSD"), "costUSD"))


def _cache_write(item: Mapping[str, Json], key: str) -> Quantity:
    """The class `key`, if the two classes of cache writes add up to their sum."""
    whole = count(item.get("cacheCreationInputTokens"), "cacheCreationInputTokens")
    parts = [
        count(item.get(name), name)
        for name in ("cacheCreationEphemeral5mInputTokens", "cacheCreationEphemeral1hInputTokens")
    ]
    values = [part.value for part in parts if isinstance(part, Measured)]
    if isinstance(whole, Measured) and len(values) == len(parts) and sum(values) != whole.value:
        return Unavailable(f"the client didn't split its {whole.value} cache writes by time-to-live")
    return count(item.get(key), key)


def _blocks(message: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The content blocks of a message, which may also be a bare text."""
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from objects_at(message, "content")
