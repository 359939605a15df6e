"""What does the client say of itself? One JSON line an event on standard output: `pairbench/messages-events` 1."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "pairbench/messages-events"
VERSION = 1

CLASSES = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_5m_input_tokens",
    "cache_write_1h_input_tokens",
)


def say(kind: str, **fields: object) -> None:
    """One event is on standard output."""
    line = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate in a model's text can't be encoded; JSON can write it down as an escape.
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def counts_of(usage: Mapping[str, Any] | None) -> dict[str, int | None]:
    """The tokens of one answer by class; a class that its usage doesn't tell is None."""
    given = usage or {}
    split = given.get("cache_creation")
    counts = {name: _count(given.get(name)) for name in CLASSES[:2]}
    if counts["input_tokens"] is None and counts["output_tokens"] is None:
        return dict.fromkeys(CLASSES)
    # The provider leaves these out where nothing was cached.
    counts["cache_read_input_tokens"] = _count(given.get("cache_read_input_tokens") or 0)
    written = _count(given.get("cache_creation_input_tokens") or 0)
    parts = split if isinstance(split, dict) else {}
    five, hour = (_count(parts.get(f"ephemeral_{ttl}_input_tokens") or 0) for ttl in ("5m", "1h"))
    if five is None or hour is None or written != five + hour:
        five = hour = None
    counts["cache_write_5m_input_tokens"], counts["cache_write_1h_input_tokens"] = five, hour
    return counts


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


@dataclass
class Spent:
    """What the models of one conversation used, by the name that they answered with."""

    models: dict[str, dict[str, int | None]] = field(default_factory=dict)

    def add(self, model: str, counts: Mapping[str, int | None]) -> None:
        """One answer more; a class that one answer doesn't tell isn't told any more."""
        spent = self.models.setdefault(model, {"requests": 0, **dict.fromkeys(CLASSES, 0)})
        spent["requests"] = (spent["requests"] or 0) + 1
        for name in CLASSES:
            one, before = counts[name], spent[name]
            spent[name] = None if one is None or before is None else before + one

    def document(self) -> list[dict[str, object]]:
        """As the result event holds it."""
        return [{"model": model, **spent} for model, spent in sorted(self.models.items())]
