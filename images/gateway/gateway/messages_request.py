"""Is this a request of the Messages API? Parses a body and says what is wrong with it, as the provider would."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from gateway.provider_errors import RefusedError

# Tuples: what a client sends in their place may not be hashable.
# A system message within a conversation is a beta that Claude Code 2.1.332 uses with models that know it.
ROLES = ("user", "assistant", "system")
# Whoever writes parts of an accepted body again may nest them deeper; Python gives up at about 1000.
MAXIMUM_DEPTH = 400
# A small value takes twenty times its bytes of memory. A conversation has some hundreds, 32 MB have room for millions.
MAXIMUM_VALUES = 100_000
# A string of JSON, or the beginning of one that never ends; it takes one pass.
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
TOOL_CHOICES = ("auto", "any", "tool", "none")


class TooManyValuesError(ValueError):
    """Reading it could take memory out of all proportion."""


@dataclass(frozen=True)
class MessagesRequest:
    """A body whose parts have the types that the rest of the gateway relies on.

    `tools` are objects with a `name`; `system` and every message's content are lists of objects with a `type`: a plain
    text stands as one text block.
    """

    model: str
    max_tokens: int | None
    stream: bool
    tools: tuple[dict[str, Any], ...]
    system: tuple[dict[str, Any], ...]
    messages: tuple[tuple[str, tuple[dict[str, Any], ...]], ...]
    tool_choice: str
    cache_control: dict[str, Any] | None


def bad(message: str) -> NoReturn:
    """Never returns.

    Raises:
        RefusedError: the provider's 400 with that message.
    """
    raise RefusedError(400, "bad_request", message)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`.

    Raises:
        RefusedError: when it holds something else, text that isn't Unicode included.
    """
    try:
        document = strict_json(body)
    except TooManyValuesError:
        bad(f"The request body has more than {MAXIMUM_VALUES} values")
    except ValueError as error:
        bad(f"The request body is not valid JSON: {type(error).__name__}")
    if not isinstance(document, dict):
        bad("The request body must be a JSON object")
    return document


def strict_json(text: bytes) -> object:
    """The value that `text` is in JSON: numbers are numbers, texts are Unicode, nothing lies too deep or is too much.

    Raises:
        ValueError: when it is none.
    """
    if has_too_many_values(text):
        raise TooManyValuesError
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None
    _check_texts(document)
    return document


def has_too_many_values(body: bytes) -> bool:
    """Whether reading the body could take memory out of all proportion; looks at bytes alone."""
    if len(body) <= MAXIMUM_VALUES:
        return False
    # Every string has an end that isn't escaped, or is one of at most as many that only look so.
    if body.count(b'"') - body.count(b'\\"') > 4 * MAXIMUM_VALUES:
        return True
    bare = STRING.sub(b"", body)
    return sum(bare.count(mark) for mark in (b",", b"[", b"{")) > MAXIMUM_VALUES


def _check_texts(document: object) -> None:
    """Returns when all texts are Unicode, and nothing lies too deep.

    Raises:
        ValueError: when they aren't, or something does.
    """
    level: list[object] = [document]
    for _ in range(MAXIMUM_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, str) and not value.isascii():
                value.encode()
            elif isinstance(value, list):
                below += value
            elif isinstance(value, dict):
                below += value.keys()
                below += value.values()
        if not below:
            return
        level = below
    raise ValueError("nested too deep")


def parse_request(body: bytes, *, counting: bool) -> MessagesRequest:
    """The request in `body`; when only counting, `max_tokens` may be absent.

    Raises:
        RefusedError: naming the first part that is wrong.
    """
    document = parse_object(body)
    model = document.get("model")
    if not isinstance(model, str) or not model:
        bad("model: Input should be a valid string")
    max_tokens = document.get("max_tokens")
    if not (counting and max_tokens is None) and not (
        isinstance(max_tokens, int) and not isinstance(max_tokens, bool) and max_tokens > 0
    ):
        bad("max_tokens: Input should be a positive integer")
    stream = document.get("stream", False)
    if not isinstance(stream, bool):
        bad("stream: Input should be a valid boolean")
    return MessagesRequest(
        model=model,
        max_tokens=max_tokens,
        stream=stream,
        tools=_tools(document.get("tools")),
        system=_blocks(document.get("system") or [], "system"),
        messages=_messages(document.get("messages")),
        tool_choice=_tool_choice(document.get("tool_choice")),
        cache_control=_cache_control(document),
    )


def model_asked(body: bytes) -> str | None:
    """The model that a body names, or None; never raises."""
    try:
        model = parse_object(body).get("model")
    except RefusedError:
        return None
    return model if isinstance(model, str) else None


def _tools(tools: object) -> tuple[dict[str, Any], ...]:
    if tools is None:
        return ()
    if not isinstance(tools, list):
        bad("tools: Input should be a valid list")
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            bad(f"tools.{index}.name: Field required")
    if len({tool["name"] for tool in tools}) != len(tools):
        bad("tools: Tool names must be unique.")
    return tuple(tools)


def _tool_choice(choice: object) -> str:
    if choice is None:
        return "auto"
    if not isinstance(choice, dict) or choice.get("type") not in TOOL_CHOICES:
        bad("tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'")
    return str(choice["type"])


def _messages(messages: object) -> tuple[tuple[str, tuple[dict[str, Any], ...]], ...]:
    if not isinstance(messages, list) or not messages:
        bad("messages: at least one message is required")
    parsed = []
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            bad(f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'")
        parsed.append((str(role), _blocks(message.get("content"), f"messages.{index}.content")))
    if parsed[0][0] != "user":
        bad("messages: first message must use the user role")
    _check_results(parsed)
    return tuple(parsed)


def _check_results(messages: list[tuple[str, tuple[dict[str, Any], ...]]]) -> None:
    asked: set[str] = set()
    for index, (role, blocks) in enumerate(messages):
        if role == "system":
            if any(block["type"] != "text" for block in blocks):
                bad(f"messages.{index}: a system message holds texts alone")
            continue
        kind, key = ("tool_result", "tool_use_id") if role == "user" else ("tool_use", "id")
        misplaced = "tool_use" if role == "user" else "tool_result"
        if any(block["type"] == misplaced for block in blocks):
            bad(f"messages.{index}: `{misplaced}` blocks can't be in a message of the {role}'s")
        values = [block.get(key) for block in blocks if block["type"] == kind]
        named = {value for value in values if isinstance(value, str)}
        if len(named) != len(values):
            bad(f"messages.{index}: every {kind} needs a {key} of its own")
        if role == "user" and named != asked:
            bad(f"messages.{index}: every `tool_use` block must have a `tool_result` block in the next message")
        asked = named if role == "assistant" else set()


def _blocks(content: object, where: str) -> tuple[dict[str, Any], ...]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    if not isinstance(content, list):
        bad(f"{where}: Input should be a valid list")
    for index, block in enumerate(content):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            bad(f"{where}.{index}.type: Field required")
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            bad(f"{where}.{index}.text: Input should be a valid string")
        if block["type"] == "tool_use" and not (
            isinstance(block.get("name"), str) and isinstance(block.get("input"), dict)
        ):
            bad(f"{where}.{index}: tool_use needs a name and an input")
    return tuple(content)


def _cache_control(holder: dict[str, Any]) -> dict[str, Any] | None:
    control = holder.get("cache_control")
    if control is not None and not isinstance(control, dict):
        bad("cache_control: Input should be an object")
    return control
