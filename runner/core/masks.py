"""What of a request changes from machine to machine and from day to day, and so isn't compared when one is replayed.

Seen in requests of Claude Code 2.1.332 and Codex 0.163.0 (2026-11-29). Whatever else changes is a difference.
"""

from __future__ import annotations

from typing import Final

from runner.core.documents import Part


class Mask(Part):
    """A volatile place: a key below the top of the body, or whatever matches a pattern in any text of it."""

    name: str
    path: tuple[str, ...] = ()
    pattern: str | None = None


MASKS: Final = (
    Mask(name="ids", path=("metadata", "user_id")),
    Mask(name="ids", path=("prompt_cache_key",)),
    Mask(name="ids", path=("client_metadata",)),
    Mask(name="date", pattern=r"(?<=Today's date is )\d{4}-\d{2}-\d{2}"),
    Mask(name="date", pattern=r"(?<=<current_date>)\d{4}-\d{2}-\d{2}"),
    Mask(name="kernel", pattern=r"(?<=OS Version: )[^\n]*"),
)
