"""Time, as the stages see it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """A wall clock in UTC and a clock that never goes back."""

    def utc(self) -> str:
        """Now, as RFC 3339 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`."""

    def monotonic_ms(self) -> int:
        """Milliseconds since a fixed moment of this machine's current boot."""
