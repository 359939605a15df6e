"""Why does a service not become ready, in its own words? Reads what it printed; knows no service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from runner.core.events import plain_text

if TYPE_CHECKING:
    from runner.ports.engine import Engine

_MOST_CHARACTERS: Final = 500
_MOST_BYTES: Final = 1 << 20
_PATIENCE_MS: Final = 10_000


def last_words(engine: Engine, container: str) -> str:
    """Why the service in `container`, which was ended, didn't become ready, behind a colon; "" where it didn't say.

    Raises:
        EngineError: what it printed can't be read.
    """
    # The engine keeps what is printed a moment later than it passes it on: all is there when the container has ended.
    engine.wait(container, _PATIENCE_MS)
    why = why_not_ready(engine.output(container, _MOST_BYTES))
    return f": {why}" if why else ""


def why_not_ready(printed: bytes) -> str:
    """The first problem of those that it says it refuses to start for, and how many more; "" where it says none."""
    for line in reversed(printed.split(b"\n")):
        said = _object(line)
        if said.get("event") == "failed" and isinstance(said.get("reason"), str):
            return _bounded(said["reason"])
        if said.get("event") == "refused" and isinstance(said.get("problems"), list) and said["problems"]:
            first, *more = said["problems"]
            return _bounded(str(first)) + (f" (and {len(more)} more)" if more else "")
    return ""


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _bounded(text: str) -> str:
    return plain_text(text)[:_MOST_CHARACTERS]
