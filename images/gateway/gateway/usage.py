"""How many tokens is a piece of a conversation? The usage rule `byte-quarter-1`, which needs no tokenizer.

A segment is a tool, a system block or a block of a message. Its tokens are a quarter of the UTF-8 bytes of its
canonical JSON, rounded up; segments add up, so a prefix has the same tokens in every request that begins with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateway.messages_request import MessagesRequest, bad

if TYPE_CHECKING:
    from collections.abc import Iterable

RULE = "byte-quarter-1"
BYTES_PER_TOKEN = 4
LONG_TEXT_CHARACTERS = 1_000_000

Ttl = Literal["5m", "1h"]
TTLS = ("5m", "1h")


@dataclass(frozen=True)
class Segment:
    """A piece of a request; `ttl` is set where the client put a cache breakpoint behind it."""

    canonical: bytes
    tokens: int
    ttl: Ttl | None


def canonical(value: object) -> bytes:
    """JSON with sorted keys and no spaces, in UTF-8."""
    return _canonical_in_pieces(value) if _has_long_text(value) else _canonical_at_once(value)


def _canonical_at_once(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _has_long_text(value: object) -> bool:
    if isinstance(value, str):
        return len(value) > LONG_TEXT_CHARACTERS
    if isinstance(value, list):
        return any(map(_has_long_text, value))
    return isinstance(value, dict) and (any(map(_has_long_text, value.values())) or any(map(_has_long_text, value)))


def _canonical_in_pieces(value: object) -> bytes:
    """The same bytes, without the copies of long texts that Python's encoder makes."""
    if isinstance(value, str):
        starts = range(0, len(value), LONG_TEXT_CHARACTERS)
        pieces = (_canonical_at_once(value[start : start + LONG_TEXT_CHARACTERS])[1:-1] for start in starts)
        return b'"' + b"".join(pieces) + b'"'
    if isinstance(value, list):
        return b"[" + b",".join(map(_canonical_in_pieces, value)) + b"]"
    if isinstance(value, dict):
        items = (_canonical_in_pieces(key) + b":" + _canonical_in_pieces(value[key]) for key in sorted(value))
        return b"{" + b",".join(items) + b"}"
    return _canonical_at_once(value)


def tokens(data: bytes) -> int:
    """A quarter of the bytes, rounded up."""
    return -(-len(data) // BYTES_PER_TOKEN)


def request_segments(request: MessagesRequest) -> tuple[Segment, ...]:
    """The request's segments in the order in which prompts are cached: tools, system, messages.

    Raises:
        RefusedError: when a breakpoint is none that the provider knows.
    """
    segments = [_segment("tool", tool) for tool in request.tools]
    segments += [_segment("system", block) for block in request.system]
    segments += [_segment(role, block) for role, blocks in request.messages for block in blocks]
    if request.cache_control is not None and segments:
        last = segments[-1]
        segments[-1] = Segment(last.canonical, last.tokens, _ttl(request.cache_control))
    return tuple(segments)


def output_tokens(content: Iterable[dict[str, Any]]) -> int:
    """The tokens of a response's content blocks."""
    return sum(tokens(canonical(block)) for block in content)


def _segment(place: str, block: dict[str, Any]) -> Segment:
    control = block.get("cache_control")
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    nested = bare.get("content")
    if isinstance(nested, list):
        bare["content"] = [_bare(inner) for inner in nested]
        controls = [inner.get("cache_control") for inner in nested if isinstance(inner, dict)]
        control = control or next((inner for inner in reversed(controls) if inner), None)
    text = canonical([place, bare])
    return Segment(text, tokens(text), _ttl(control) if control is not None else None)


def _bare(block: object) -> object:
    if not isinstance(block, dict):
        return block
    return {key: value for key, value in block.items() if key != "cache_control"}


def _ttl(control: object) -> Ttl:
    kind = control.get("type") if isinstance(control, dict) else None
    ttl = control.get("ttl", "5m") if isinstance(control, dict) else None
    if kind != "ephemeral" or ttl not in TTLS:
        bad("cache_control: Input should be ephemeral, with a ttl of '5m' or '1h'")
    return "1h" if ttl == "1h" else "5m"
