"""What did attempts spend, by their gateways' own account? Nothing is guessed: what nobody knows is None."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.collect.charged import charged_microusd
from runner.collect.documents import read_documents
from runner.core.quantities import Measured
from runner.execute.schedule import NEVER_RUN
from runner.pipeline.folder import required

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.plan import PlannedTrial
    from runner.pipeline.folder import Run
    from runner.ports.files import Files


def spent_microusd(files: Mapping[str, bytes] | None) -> int | None:
    """What an attempt with this evidence spent; None when it can't be known, 0 when it never began."""
    if files is None:
        return None
    if not files:
        return 0
    charged = charged_microusd(read_documents(files))
    return charged.value if isinstance(charged, Measured) else None


def earlier_spend(files: Files, run: Run) -> Iterator[tuple[PlannedTrial, int | None]]:
    """What each attempt that the ledger ends spent."""
    planned = {trial.trial: trial for trial in run.plan.trials}
    for line in run.ledger:
        if line.kind == "attempt_ended" and line.detail.get("reason") != NEVER_RUN:
            found = {name.rpartition("/")[2]: required(files, run.folder, name) for name in line.files}
            yield planned[line.trial], spent_microusd(found or None)
