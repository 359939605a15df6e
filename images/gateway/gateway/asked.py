"""How much can a request use at most? Reads its body for a bound; what can't be bounded is refused.

A token never stands for less than one byte of text, so bytes bound the tokens of what a body holds as text. What a body
only refers to, or holds compressed, is bounded by declaration or refused.
"""

from __future__ import annotations

import json
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
# Of these the number of uses can be bounded.
SERVER_TOOL = re.compile(r"(?:web_search|web_fetch)(?:_preview)?(?:_[0-9]{8}|_[0-9]{4}_[0-9]{2}_[0-9]{2})?")
# Tools that the client runs: their results come in its next request. What stands in neither list is refused, since
# nobody here knows who runs it: a provider gives new tools new names.
CLIENT_TOOLS = frozenset(
    {
        "custom",
        "function",
        "namespace",
        "bash_20241022",
        "bash_20250124",
        "text_editor_20241022",
        "text_editor_20250124",
        "text_editor_20250429",
        "text_editor_20250728",
        "computer_20241022",
        "computer_20250124",
        "computer_20251124",
        "memory_20250818",
        "apply_patch",
        "computer",
        "computer_use_preview",
        "local_shell",
    }
)
# These are run where they say: tool -> key and value that mean the client.
RUN_WHERE_THEY_SAY = {"shell": ("environment", {"type": "local"}), "tool_search": ("execution", "client")}
# What stands below these keys describes data, and below `input` of a call is data: no tools that anybody is offered.
SCHEMAS = ("input_schema", "parameters")
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
# Edits that drop parts of the context; every other one has the model called once more.
DROPPING_EDITS = ("clear_tool_uses_20250919", "clear_thinking_20251015")
# Context that lies at the provider.
STORED = ("previous_response_id", "conversation", "prompt", "container", "mcp_servers", "context_management_id")
# Tiers that cost no more than the standard rate, whatever an account has set.
PLAIN_TIERS = ("default", "standard_only", "flex", "batch")
IMAGES = ("image", "input_image", "image_url")
DOCUMENTS = ("document", "input_file", "container_upload")
# Where an image or document says which file it is.
SOURCES = ("file", None)
OTHER_MEDIA = ("audio", "input_audio", "video", "input_video")
FILE_KEYS = ("file_id", "file_url")


# Of a reason, in the evidence: a client's own words may stand in it.
TOLD_CHARACTERS = 300


def unbounded(reason: str) -> NoReturn:
    """Never returns.

    Raises:
        RefusedError: a request whose cost nobody can bound doesn't go out where there is a cap.
    """
    raise RefusedError(
        LIMIT_STATUS,
        "cap_exceeded",
        f"Pairbench refused this request: its cost can't be bounded: {reason}.",
        (f"its cost can't be bounded: {reason}"[:TOLD_CHARACTERS],),
    )


def asked_of(request: Request, bounds: dict[str, int]) -> Asked:
    """What the model request can use at most, by the declared bounds.

    Raises:
        RefusedError: when it can't be bounded.
    """
    document = parse_object(request.body)
    _require_unique_keys(request.body)
    stored = [name for name in STORED if document.get(name)]
    if stored:
        unbounded(f"{stored[0]} refers to what the provider keeps")
    _require_items_of_their_own(document.get("input"))
    _require_dropping_edits(document.get("context_management"))
    uses = _server_tool_uses(document, bounds)
    key = "max_tokens" if request.path == MESSAGES_PATH else "max_output_tokens"
    limit = _output_tokens(document, key, bounds)
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
        input_classes=_input_classes(request, document),
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


def _require_unique_keys(body: bytes) -> None:
    """Returns when no object of the body has a key twice: two readers may take another one of the two."""

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            unbounded(f"an object of its body has the key {twice[:80]!r} twice")
        return found

    json.loads(body, object_pairs_hook=read)


def _require_items_of_their_own(given: object) -> None:
    """Returns when every item of the input is there itself, and none only referred to by its name at the provider."""
    for item in given if isinstance(given, list) else []:
        if isinstance(item, dict) and (item.get("type") or ("message" if "role" in item else "item_reference")) == (
            "item_reference"
        ):
            unbounded("an item_reference refers to what the provider keeps")


def _require_dropping_edits(management: object) -> None:
    """Returns when the context is managed by dropping parts of it, if at all."""
    if not management:
        return
    edits = management.get("edits") if isinstance(management, dict) and set(management) == {"edits"} else None
    for edit in edits if isinstance(edits, list) else [None]:
        if not isinstance(edit, dict) or edit.get("type") not in DROPPING_EDITS:
            unbounded("context_management may have the model called once more")


def _output_tokens(document: dict[str, Any], key: str, bounds: dict[str, int]) -> int:
    limit = document.get(key)
    if limit is None:
        return bounds["output_tokens"]
    if not isinstance(limit, int) or isinstance(limit, bool) or limit <= 0:
        unbounded(f"{key} is no positive integer")
    return limit


def _input_classes(request: Request, document: dict[str, Any]) -> tuple[str, ...]:
    plain = ("input_tokens", "cache_read_input_tokens")
    controls = [item["cache_control"] for item in _objects(document) if "cache_control" in item]
    if request.path == MESSAGES_PATH and not controls:
        return plain
    written = (*plain, "cache_write_5m_input_tokens")
    short = all(isinstance(control, dict) and control.get("ttl", "5m") == "5m" for control in controls)
    return written if short else (*written, "cache_write_1h_input_tokens")


def _server_tool_uses(document: dict[str, Any], bounds: dict[str, int]) -> int:
    uses = 0
    for tool in _tools(document):
        kind = tool.get("type")
        if kind is None or (isinstance(kind, str) and _client_runs(kind, tool)):
            continue
        if not isinstance(kind, str) or SERVER_TOOL.fullmatch(kind) is None:
            unbounded(f"nobody declared what a tool of the type {str(kind)[:80]!r} may use")
        limit = tool.get("max_uses")
        counted = isinstance(limit, int) and not isinstance(limit, bool) and limit > 0
        if not bounds["server_tool_input_tokens"] or not counted:
            unbounded(f"the server tool {kind} has no max_uses, or the study declares no bound for such tools")
        uses += limit
    return uses


def _client_runs(kind: str, tool: dict[str, Any]) -> bool:
    key, value = RUN_WHERE_THEY_SAY.get(kind, ("type", None))
    return kind in CLIENT_TOOLS or tool.get(key) == value


def _tools(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every tool, wherever a list of tools stands: in namespaces, and in items that add some to a conversation."""
    for item in _objects(document, data=False):
        tools = item.get("tools")
        yield from (tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()


def _objects(value: object, *, data: bool = True) -> Iterator[dict[str, Any]]:
    """Every object of the body; without those that are `data` of a tool, or describe it, unless it says so."""
    level: list[object] = [value]
    while level:
        below: list[object] = []
        for item in level:
            if isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                yield item
                inner = item if data else _without_data(item)
                below += inner.values()
        level = below


def _without_data(item: dict[str, Any]) -> dict[str, Any]:
    called = ("input",) if item.get("type") in CALLS else ()
    return {key: value for key, value in item.items() if key not in SCHEMAS and key not in called}


def _media_tokens(value: object, bounds: dict[str, int]) -> Iterator[int]:
    """A bound for every image and document, wherever it stands."""
    for item in _objects(value):
        kind = item.get("type")
        if kind in IMAGES or kind in DOCUMENTS:
            yield _of_media(item, "image_tokens" if kind in IMAGES else "document_tokens", bounds)
    for item in _objects(value, data=False):
        kind = item.get("type")
        if kind in OTHER_MEDIA or (
            kind not in (*IMAGES, *DOCUMENTS, *SOURCES) and any(key in item for key in FILE_KEYS)
        ):
            unbounded(f"nobody declared what {str(kind)[:80]!r} has of tokens")


def _of_media(item: dict[str, Any], bound: str, bounds: dict[str, int]) -> int:
    source = item.get("source")
    if isinstance(source, dict) and source.get("type") in ("text", "content"):
        return 0
    if not bounds[bound]:
        unbounded(f"the study declares no {bound}")
    return bounds[bound]
