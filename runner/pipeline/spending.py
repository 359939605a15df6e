"""What did attempts spend, by their gateways' own account? Of what nobody knows, a grant is the most that it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.collect.charged import charged_microusd
from runner.collect.documents import read_documents
from runner.core.quantities import Measured
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


def earlier_spend(files: Files, run: Run) -> Iterator[tuple[PlannedTrial, int]]:
    """What each attempt that the ledger ends counts against caps.

    One of which nobody knows what it spent has spent what it was granted, and nothing if that was never announced.
    """
    planned = {trial.trial: trial for trial in run.plan.trials}
    granted: dict[tuple[str, int], int] = {}
    for line in run.ledger:
        if line.kind == "attempt_granted":
            granted[line.trial, line.attempt] = int(line.detail["microusd"])
        elif line.kind == "attempt_ended":
            found = {name.rpartition("/")[2]: required(files, run.folder, name) for name in line.files}
            spent = spent_microusd(found or None)
            yield planned[line.trial], granted.get((line.trial, line.attempt), 0) if spent is None else spent
