"""A clock that stands still until something takes time, and a source of secrets that anybody can guess."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

START = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)


@dataclass
class FakeClock:
    """The clock port."""

    now_ms: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def utc(self) -> str:
        now = START + timedelta(milliseconds=self.now_ms)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic_ms(self) -> int:
        return self.now_ms

    def advance(self, ms: int) -> None:
        with self._lock:
            self.now_ms += ms


@dataclass
class FakeEntropy:
    """The entropy port: tokens are numbered."""

    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def token(self) -> str:
        return f"token-{next(self._numbers):037}"
