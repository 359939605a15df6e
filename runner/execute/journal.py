"""The ledger of a running run: one line at a time, on disk before the call returns, whichever thread writes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core.ledger import GENESIS, next_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.core.canonical import Digest
    from runner.core.ledger import Kind
    from runner.ports.clock import Clock
    from runner.ports.files import Files


@dataclass
class Journal:
    """An append-only ledger file that begins empty."""

    files: Files
    clock: Clock
    path: Path
    _head: Digest = GENESIS
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, kind: Kind, files: Mapping[str, str], detail: Mapping[str, str]) -> None:
        """A line about the whole run is on disk."""
        self._append(kind, "", 0, files, detail)

    def attempt_started(self, trial: str, attempt: int) -> None:
        """The start of an attempt is on disk, before anything of it exists."""
        self._append("attempt_started", trial, attempt, {}, {})

    def attempt_ended(self, trial: str, attempt: int, files: Mapping[str, str], detail: Mapping[str, str]) -> None:
        """The end of an attempt is on disk, with the digest of every file that it left."""
        self._append("attempt_ended", trial, attempt, files, detail)

    def _append(
        self, kind: Kind, trial: str, attempt: int, files: Mapping[str, str], detail: Mapping[str, str]
    ) -> None:
        with self._lock:
            data, head = next_line(
                self._head,
                seq=self._count + 1,
                at=self.clock.utc(),
                kind=kind,
                trial=trial,
                attempt=attempt,
                files=dict(files),
                detail=dict(detail),
            )
            self.files.append(self.path, data)
            self._head, self._count = head, self._count + 1
