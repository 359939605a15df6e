"""The ledger of a running run: one line at a time, on disk before the call returns, whichever thread writes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady
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
    """An append-only ledger file: a fresh one, or one of `count` lines whose last has the digest `head`."""

    files: Files
    clock: Clock
    path: Path
    head: Digest = GENESIS
    count: int = 0
    _broken: EnvironmentNotReady | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, kind: Kind, files: Mapping[str, str], detail: Mapping[str, str]) -> None:
        """A line about the whole run is on disk."""
        self._append(kind, "", 0, files, detail)

    def attempt_started(self, trial: str, attempt: int) -> None:
        """The start of an attempt is on disk, before anything of it exists."""
        self._append("attempt_started", trial, attempt, {}, {})

    def attempt_granted(self, trial: str, attempt: int, microusd: int) -> None:
        """What the attempt may spend is on disk, before it can spend anything."""
        self._append("attempt_granted", trial, attempt, {}, {"microusd": str(microusd)})

    def attempt_ended(self, trial: str, attempt: int, files: Mapping[str, str], detail: Mapping[str, str]) -> None:
        """The end of an attempt is on disk, with the digest of every file that it left."""
        self._append("attempt_ended", trial, attempt, files, detail)

    def _append(
        self, kind: Kind, trial: str, attempt: int, files: Mapping[str, str], detail: Mapping[str, str]
    ) -> None:
        with self._lock:
            if self._broken is not None:
                raise self._broken
            data, head = next_line(
                self.head,
                seq=self.count + 1,
                at=self.clock.utc(),
                kind=kind,
                trial=trial,
                attempt=attempt,
                files=dict(files),
                detail=dict(detail),
            )
            try:
                self.files.append(self.path, data)
            except EnvironmentNotReady as error:
                # Part of the line may stand there: another line behind it would be damage that no rule repairs.
                self._broken = error
                raise
            self.head, self.count = head, self.count + 1
