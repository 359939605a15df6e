"""Who may still spend how much? Caps beyond one attempt are handed out before it starts, and what is left comes back.

An attempt's gateway can't be asked while it runs, and can't spend more than it was granted: so no cap of a block or a
study can be broken by trials that run at once.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.core.plan import PlannedTrial
    from runner.core.study import Caps


@dataclass(frozen=True)
class Grant:
    """What one attempt may spend, and which cap it comes from."""

    microusd: int
    of: str


@dataclass
class Purse:
    """The money of a run."""

    caps: Caps
    _spent: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    """By cap and whose it is: what was spent, and what attempts hold that haven't ended."""
    _held: dict[tuple[str, int], tuple[PlannedTrial, int]] = field(default_factory=dict)
    _closed: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def grant(self, trial: PlannedTrial, attempt: int, *, waits: bool) -> Grant | None:
        """What the attempt may spend; None where nothing is capped.

        One that `waits` does so while others hold what it lacks: what they don't use comes back. Whoever runs no trial
        until this one is granted must not wait.
        """
        limits = dict(self._limits(trial))
        if not limits:
            return None
        with self._changed:
            while waits and not self._closed and self._held and self._least(limits)[0] < self._wanted(trial):
                self._changed.wait()
            left, cap = self._least(limits)
            microusd = 0 if self._closed else max(0, left)
            self._book(trial, microusd)
            self._held[trial.trial, attempt] = (trial, microusd)
        return Grant(microusd, cap)

    def settle(self, trial: str, attempt: int, spent_microusd: int | None) -> None:
        """What the attempt didn't spend is back; None when nobody knows, so that it counts as spent. Once only."""
        with self._changed:
            planned, held = self._held.pop((trial, attempt), (None, 0))
            if planned is not None and spent_microusd is not None:
                self._book(planned, spent_microusd - held)
            self._changed.notify_all()

    def note(self, trial: PlannedTrial, spent_microusd: int) -> None:
        """An attempt of an earlier stretch of the run spent so much."""
        with self._changed:
            self._book(trial, spent_microusd)

    def close(self) -> None:
        """Nobody waits any longer, and nobody gets anything."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _limits(self, trial: PlannedTrial) -> list[tuple[tuple[str, str], int]]:
        caps = self.caps
        found = [
            (("trial", trial.trial), caps.trial_microusd),
            (("block", trial.block), caps.block_microusd),
            (("study", ""), caps.study_microusd),
        ]
        return [(whose, limit) for whose, limit in found if limit is not None]

    def _least(self, limits: dict[tuple[str, str], int]) -> tuple[int, str]:
        return min((limit - self._spent[whose], whose[0]) for whose, limit in limits.items())

    def _wanted(self, trial: PlannedTrial) -> int:
        """What the trial has left of its own cap: more it can't use."""
        cap = self.caps.trial_microusd
        return 0 if cap is None else cap - self._spent["trial", trial.trial]

    def _book(self, trial: PlannedTrial, microusd: int) -> None:
        for whose in (("trial", trial.trial), ("block", trial.block), ("study", "")):
            self._spent[whose] += microusd
