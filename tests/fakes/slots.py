"""Places in memory, which remember who took them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class MemorySlots:
    """The slots port; a place that nobody will ever give back is a fault of the test."""

    asked: list[tuple[str, int]] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)

    @contextlib.contextmanager
    def taken(self, kind: str, places: int) -> Iterator[None]:
        self.asked.append((kind, places))
        if self.held.get(kind, 0) >= places:
            raise AssertionError(f"all places of {kind} are taken, and one thread waits for itself")
        self.held[kind] = self.held.get(kind, 0) + 1
        try:
            yield
        finally:
            self.held[kind] -= 1
