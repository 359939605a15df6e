"""What of a request has to be the same for the same answer? Its parts, each with a digest, volatile places masked."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.messages_request import parse_object
from gateway.provider_errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.exchange import Owner, Request

# These have a part for each of their elements, so that a difference can be told to lie in one of them.
LISTS = ("tools", "system", "messages", "input")
# A conversation of so many parts was never seen; what is beyond them is one part.
MOST_PARTS = 2000


@dataclass(frozen=True)
class Mask:
    """A volatile place: a key below the top of the body, or whatever matches a pattern in any text of it."""

    name: str
    path: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None

    @staticmethod
    def of(document: object) -> Mask:
        """The mask that `document` declares.

        Raises:
            TypeError: when it is no object, or holds something that isn't text.
            ValueError: when it declares none, or two.
            re.error: when its pattern is none.
        """
        if not isinstance(document, dict) or not isinstance(document.get("name"), str):
            raise TypeError("must be an object with a name")
        path, pattern = document.get("path") or [], document.get("pattern")
        if set(document) - {"name", "path", "pattern"} or bool(path) == (pattern is not None):
            raise ValueError("must have exactly one of a path and a pattern")
        if not isinstance(path, list) or not all(isinstance(key, str) for key in path):
            raise ValueError("must have a path of keys")
        if pattern is None:
            return Mask(document["name"], tuple(path))
        if not isinstance(pattern, str):
            raise TypeError("must have a pattern that is text")
        return Mask(document["name"], (), re.compile(pattern))


@dataclass(frozen=True)
class CanonicalRequest:
    """A request's digest, and that of each of its parts."""

    key: str
    parts: dict[str, str]


def canonical_request(request: Request, masks: tuple[Mask, ...], owner: Owner) -> CanonicalRequest:
    """The request as a cassette knows it: whose it is, method, path without its query, the body less what is masked."""
    parts = {
        "owner": _digest(owner.encode()),
        "method and path": _digest(f"{request.method} {request.path}".encode()),
    }
    try:
        document = parse_object(request.body)
    except RefusedError:
        parts["body"] = _digest(request.body)
    else:
        for name, value in _split(_masked(document, masks)):
            if len(parts) < MOST_PARTS:
                parts[name] = _digest(_bytes(value))
            else:
                parts["rest"] = _digest((parts.get("rest", "") + name).encode() + _bytes(value))
    return CanonicalRequest(_digest(_bytes(parts)), parts)


def differing_parts(mine: dict[str, str], theirs: dict[str, str]) -> tuple[str, ...]:
    """The parts that only one of two requests has, or that differ, in the order of the first."""
    names = [*mine, *(name for name in theirs if name not in mine)]
    return tuple(name for name in names if mine.get(name) != theirs.get(name))


def _split(document: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in sorted(document.items()):
        if name in LISTS and isinstance(value, list):
            yield from ((f"{name}[{index}]", item) for index, item in enumerate(value))
            yield f"{name}.length", len(value)
        else:
            yield name, value


def _masked(document: dict[str, Any], masks: tuple[Mask, ...]) -> dict[str, Any]:
    patterns = [(mask.pattern, f"<{mask.name}>") for mask in masks if mask.pattern is not None]
    found = _without_matches(document, patterns) if patterns else document
    for mask in masks:
        if mask.path:
            _cover(found, mask.path, f"<{mask.name}>")
    return found


def _without_matches(value: Any, patterns: list[tuple[re.Pattern[str], str]]) -> Any:
    if isinstance(value, str):
        for pattern, name in patterns:
            value = pattern.sub(name, value)
        return value
    if isinstance(value, list):
        return [_without_matches(item, patterns) for item in value]
    if isinstance(value, dict):
        return {key: _without_matches(item, patterns) for key, item in value.items()}
    return value


def _cover(document: dict[str, Any], path: tuple[str, ...], name: str) -> None:
    for key in path[:-1]:
        inner = document.get(key)
        if not isinstance(inner, dict):
            return
        document = inner
    if path[-1] in document:
        document[path[-1]] = name


def _bytes(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
