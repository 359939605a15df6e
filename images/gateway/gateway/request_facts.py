"""What does a request say of itself? The model that it asks for and the tools that it offers, read once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateway.exchange import RequestFacts
from gateway.messages_request import parse_object
from gateway.provider_errors import RefusedError
from gateway.responses_request import MORE_TOOLS
from gateway.wires import MODEL_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.exchange import Exchange, Request

# Stands between a namespace and a tool of it: no name of either holds it.
NAMESPACE_END = "/"
# Claude Code offers a few dozen tools, with names of at most 64 characters.
MOST_TOOLS = 256
TOOL_CHARACTERS = 128
TOOLS_BYTES = 16384


def facts_of(exchange: Exchange) -> RequestFacts:
    """What the exchange's request says; read when it is first asked for, and known from then on."""
    if exchange.facts is None:
        exchange.facts = _read(exchange.request)
    return exchange.facts


def facts_in(request: Request, document: dict[str, Any]) -> RequestFacts:
    """What `document`, the request's body, says."""
    model = document.get("model")
    names = list(_tools(document)) if request.path in MODEL_PATHS else []
    listed = _listed(names)
    return RequestFacts(model if isinstance(model, str) else None, listed, len(names) - len(listed))


def _read(request: Request) -> RequestFacts:
    try:
        document = parse_object(request.body)
    except RefusedError:
        return RequestFacts(None, (), 0)
    return facts_in(request, document)


def _tools(document: dict[str, Any]) -> Iterator[str]:
    adding = (item for item in _objects(document.get("input")) if item.get("type") == MORE_TOOLS)
    for tool in (tool for holder in (document, *adding) for tool in _objects(holder.get("tools"))):
        name = tool.get("name", tool.get("type"))
        if not isinstance(name, str):
            continue
        if tool.get("type") != "namespace":
            yield name
            continue
        for inner in _objects(tool.get("tools")):
            if isinstance(inner.get("name"), str):
                yield f"{name}{NAMESPACE_END}{inner['name']}"


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _listed(names: list[str]) -> tuple[str, ...]:
    """The names up to the first that is too long, or has no room."""
    listed: list[str] = []
    left_bytes = TOOLS_BYTES
    for name in names[:MOST_TOOLS]:
        # With the comma behind it.
        left_bytes -= len(json.dumps(name, ensure_ascii=False).encode()) + 1
        if len(name) > TOOL_CHARACTERS or left_bytes < 0:
            break
        listed.append(name)
    return tuple(listed)
