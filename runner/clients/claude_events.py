"""Claude Code's `stream-json` output as typed events, and what its result means.

The rules follow what version 2.1.332 was seen to write on 2026-11-29: `docs/reference/clients.md` lists the cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from runner.clients.client import Ending
from runner.core.events import (
    ApiRetry,
    AssistantText,
    ClientReady,
    Corrupt,
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
    json_objects,
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


class _ShapeError(Exception):
    """An event isn't shaped as its kind is."""


def claude_events(stdout: bytes) -> Iterator[Event]:
    """Every event of the stream, in its order; whatever can't be read is a `Corrupt`."""
    for line, item in json_objects(stdout):
        if isinstance(item, Corrupt):
            yield item
            continue
        try:
            events = tuple(_events(item))
        except _ShapeError as error:
            events = (Corrupt(line, str(error)),)
        yield from events


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
    kind, subtype = _text(item, "type"), _optional_text(item, "subtype")
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
                ServerState(_text(server, "name"), _text(server, "status")) for server in _objects(item, "mcp_servers")
            )
            tools = tuple(_as_text(tool, "tools") for tool in _list(item, "tools"))
            return ClientReady(tools, servers, _text(item, "model"), _optional_text(item, "claude_code_version"))
        case "api_retry":
            attempt = count(item.get("attempt"), "attempt")
            return ApiRetry(
                attempt.value if isinstance(attempt, Measured) else 0,
                count(item.get("error_status"), "error_status"),
                _optional_text(item, "error"),
            )
        case "permission_denied":
            return PermissionDenied(_text(item, "tool_use_id"), _text(item, "tool_name"))
        case "model_fallback":
            return ModelFallback(_text(item, "original_model"), _text(item, "fallback_model"))
        case _:
            return Ignored(f"system/{subtype}")


def _assistant(item: Mapping[str, Json]) -> Iterator[Event]:
    """One event a content block; usage in these messages is the stream's first word and is left alone."""
    message = _object(item, "message")
    model = _optional_text(message, "model")
    for block in _blocks(message):
        match _text(block, "type"):
            case "text":
                yield AssistantText(_text(block, "text"), model, synthetic=model == SYNTHETIC)
            case "tool_use":
                yield ToolUse(_text(block, "id"), _text(block, "name"))
            case other:
                yield Ignored(f"assistant/{other}")


def _user(item: Mapping[str, Json]) -> Iterator[Event]:
    for block in _blocks(_object(item, "message")):
        kind = _text(block, "type")
        if kind == "tool_result":
            yield ToolResult(_text(block, "tool_use_id"), error=block.get("is_error") is True)
        else:
            yield Ignored(f"user/{kind}")


def _result(item: Mapping[str, Json]) -> Result:
    error = item.get("is_error")
    if not isinstance(error, bool):
        raise _ShapeError("a result without is_error")
    text = _optional_text(item, "result")
    errors = [_as_text(value, "errors") for value in _list(item, "errors")] if "errors" in item else []
    usage = item.get("modelUsage", {})
    if not isinstance(usage, Mapping):
        raise _ShapeError("modelUsage is not an object")
    return Result(
        error=error,
        terminal_reason=_optional_text(item, "terminal_reason"),
        stop_reason=_optional_text(item, "stop_reason"),
        answer="" if error else text,
        message="; ".join(errors) or text if error else "",
        api_error=_optional_text(item, "api_error"),
        api_error_status=count(item.get("api_error_status"), "api_error_status"),
        turns=count(item.get("num_turns"), "num_turns"),
        cost_microusd=microusd(item.get("total_cost_usd"), "total_cost_usd"),
        models=tuple(_model_report(plain_text(name), _as_object(usage[name], name)) for name in sorted(usage)),
        denied=tuple(
            PermissionDenied(_text(denial, "tool_use_id"), _text(denial, "tool_name"))
            for denial in (_objects(item, "permission_denials") if "permission_denials" in item else ())
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
    basis = _optional_text(item, "costBasis")
    if basis not in _PRICED:
        return ModelReport(usage, Unavailable(f"the client guessed the price of {model} (cost basis {basis!r})"))
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


def _text(item: Mapping[str, Json], key: str) -> str:
    return _as_text(item.get(key), key)


def _as_text(value: Json, key: str) -> str:
    if not isinstance(value, str):
        raise _ShapeError(f"{key} is not a text")
    return plain_text(value)


def _optional_text(item: Mapping[str, Json], key: str) -> str:
    value = item.get(key)
    return "" if value is None else _as_text(value, key)


def _object(item: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    return _as_object(item.get(key), key)


def _as_object(value: Json, key: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise _ShapeError(f"{plain_text(key)} is not an object")
    return value


def _list(item: Mapping[str, Json], key: str) -> Sequence[Json]:
    value = item.get(key)
    if not isinstance(value, list):
        raise _ShapeError(f"{key} is not a list")
    return value


def _objects(item: Mapping[str, Json], key: str) -> Iterator[Mapping[str, Json]]:
    for value in _list(item, key):
        yield _as_object(value, key)


def _blocks(message: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The content blocks of a message, which may also be a bare text."""
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from _objects(message, "content")
