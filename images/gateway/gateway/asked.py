"""How much can a request use at most? Reads its body for a bound; what can't be bounded is refused.

A token never stands for less than one byte of text, so bytes bound the tokens of what a body holds as text. What a body
only refers to, or holds compressed, is bounded by declaration or refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from gateway.messages_request import parse_object
from gateway.provider_errors import LIMIT_STATUS, RefusedError
from gateway.spending import DETAILS, STANDARD, Asked
from gateway.wires import MESSAGES_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.exchange import Request

# Tools that the provider runs: what they find is input that no body shows, and the context is billed again each round.
SERVER_TOOL = re.compile(r"(web_search|web_fetch|code_execution|tool_search|mcp_toolset|file_search|image_generation)")
# Context that lies at the provider.
STORED = ("previous_response_id", "conversation", "prompt", "container", "mcp_servers", "context_management_id")
# Tiers that cost no more than the standard rate, whatever an account has set.
PLAIN_TIERS = ("default", "standard_only", "flex", "batch")
IMAGES = ("image", "input_image", "image_url")
DOCUMENTS = ("document", "input_file", "container_upload")


def unbounded(reason: str) -> NoReturn:
    """Never returns.

    Raises:
        RefusedError: a request whose cost nobody can bound doesn't go out where there is a cap.
    """
    raise RefusedError(
        LIMIT_STATUS, "cap_exceeded", f"Pairbench refused this request: its cost can't be bounded: {reason}."
    )


def asked_of(request: Request, bounds: dict[str, int]) -> Asked:
    """What the model request can use at most, by the declared bounds.

    Raises:
        RefusedError: when it can't be bounded.
    """
    document = parse_object(request.body)
    stored = [name for name in STORED if document.get(name)]
    if stored:
        unbounded(f"{stored[0]} refers to what the provider keeps")
    uses = _server_tool_uses(document, bounds)
    key = "max_tokens" if request.path == MESSAGES_PATH else "max_output_tokens"
    limit = document.get(key)
    limit = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else bounds["output_tokens"]
    media = sum(_media_tokens(document, bounds))
    # Rounded up, and one more for whatever is rounded on the other side.
    text = len(request.body) * bounds["input_tokens_per_1000_bytes"] // 1000 + 1
    server = bounds["server_tool_input_tokens"] if uses else 0
    named = {
        detail: value for detail in DETAILS if (value := document.get(detail)) not in (None, *STANDARD, *PLAIN_TIERS)
    }
    return Asked(
        input_tokens=text + media + bounds["hidden_input_tokens"] + server,
        output_tokens=limit,
        input_classes=_input_classes(request),
        server_tool_uses=uses,
        named=named,
        open_details=frozenset(_open_details(document, named)),
    )


def _open_details(document: dict[str, Any], named: dict[str, object]) -> Iterator[str]:
    # Set for a whole account these two may be, where no request shows it; a speed has to be asked for.
    yield "inference_geo"
    if document.get("service_tier") not in PLAIN_TIERS:
        yield "service_tier"
    if "speed" in named:
        yield "speed"


def _input_classes(request: Request) -> tuple[str, ...]:
    plain = ("input_tokens", "cache_read_input_tokens")
    if request.path == MESSAGES_PATH and b'"cache_control"' not in request.body:
        return plain
    written = (*plain, "cache_write_5m_input_tokens")
    return (*written, "cache_write_1h_input_tokens") if b'"1h"' in request.body else written


def _server_tool_uses(document: dict[str, Any], bounds: dict[str, int]) -> int:
    uses = 0
    for tool in _tools(document):
        kind = tool.get("type")
        if not isinstance(kind, str) or SERVER_TOOL.match(kind) is None:
            continue
        limit = tool.get("max_uses")
        if not bounds["server_tool_input_tokens"] or not isinstance(limit, int) or limit <= 0:
            unbounded(f"the server tool {kind} has no max_uses, or the study declares no bound for such tools")
        uses += limit
    return uses


def _tools(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every tool, wherever a list of tools stands: in namespaces, and in items that add some to a conversation."""
    level: list[object] = [document]
    while level:
        below: list[object] = []
        for item in level:
            if isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                tools = item.get("tools")
                yield from (tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
                below += item.values()
        level = below


def _media_tokens(value: object, bounds: dict[str, int]) -> Iterator[int]:
    """A bound for every image and document, wherever it stands."""
    level: list[object] = [value]
    while level:
        below: list[object] = []
        for item in level:
            if isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                kind = item.get("type")
                if kind in IMAGES or kind in DOCUMENTS:
                    yield _of_media(item, "image_tokens" if kind in IMAGES else "document_tokens", bounds)
                below += item.values()
        level = below


def _of_media(item: dict[str, Any], bound: str, bounds: dict[str, int]) -> int:
    source = item.get("source")
    if isinstance(source, dict) and source.get("type") in ("text", "content"):
        return 0
    if not bounds[bound]:
        unbounded(f"the study declares no {bound}")
    return bounds[bound]
