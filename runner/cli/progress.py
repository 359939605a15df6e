"""How a run looks while it runs: a live display on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from runner.core.outcomes import Outcome
from runner.core.visible import visible

if TYPE_CHECKING:
    from rich.progress import TaskID

    from runner.core.plan import PlannedTrial


class Watch:
    """A progress port that writes to standard error."""

    def __init__(self) -> None:
        """Nothing is shown before the first step."""
        self._console = Console(stderr=True, highlight=False)
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._ended: dict[str, Outcome] = {}
        """Trial -> how its last attempt ended: a trial that is tried again counts once."""

    def __enter__(self) -> Self:
        """A display that is shown is taken down at the end, whatever happens."""
        return self

    def __exit__(self, *_: object) -> None:
        """The display is gone, its last line stays."""
        if self._bar is not None:
            self._bar.stop()

    def step(self, text: str) -> None:
        """Something that takes a moment begins."""
        with self._lock:
            self._console.print(f"· {visible(text)}", markup=False)

    def planned(self, trials: int) -> None:
        """So many trials will run."""
        with self._lock:
            if not self._console.is_terminal:
                self._console.print(f"· {trials} trials", markup=False)
                return
            columns = (
                SpinnerColumn(),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
            )
            self._bar = Progress(*columns, console=self._console)
            self._task = self._bar.add_task("", total=trials)
            self._bar.start()

    def trial_started(self, planned: PlannedTrial, attempt: int) -> None:
        """The client of this attempt is about to start."""
        with self._lock:
            if self._bar is not None and self._task is not None:
                again = f" (attempt {attempt})" if attempt > 1 else ""
                self._bar.update(self._task, description=f"{planned.trial}{again}{self._failures()}")

    def trial_ended(self, planned: PlannedTrial, attempt: int, outcome: Outcome, reason: str) -> None:
        """This attempt ended and its evidence is on disk."""
        with self._lock:
            if self._bar is not None and self._task is not None and planned.trial not in self._ended:
                self._bar.advance(self._task)
            self._ended[planned.trial] = outcome
            if outcome is not Outcome.COMPLETED:
                said = f"{planned.trial} attempt {attempt}: {outcome.value}: {visible(reason)}"
                self._console.print(f"! {said}", markup=False)
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, description=f"{planned.trial}{self._failures()}")

    def _failures(self) -> str:
        failed = sum(outcome is not Outcome.COMPLETED for outcome in self._ended.values())
        return f"  {failed} not completed" if failed else ""
