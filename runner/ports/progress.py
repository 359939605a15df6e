"""How a run tells whoever watches; it never changes what is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from runner.core.outcomes import Outcome
    from runner.core.plan import PlannedTrial


class Progress(Protocol):
    """Whoever watches a run."""

    def step(self, text: str) -> None:
        """Something that takes a moment begins."""

    def planned(self, trials: int) -> None:
        """So many trials will run."""

    def trial_started(self, planned: PlannedTrial, attempt: int) -> None:
        """The client of this attempt is about to start."""

    def trial_ended(self, planned: PlannedTrial, attempt: int, outcome: Outcome, reason: str) -> None:
        """This attempt ended and its evidence is on disk."""
