"""What happens between the trials of a study whose control goes first: its answers are frozen, its contract rechecked.

Whatever was done already is found in the ledger, so that a run goes on after any interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.outcomes import Outcome
from runner.core.plan import phases_of
from runner.core.reconsolidation.contract import Contract
from runner.pipeline.chronicle import StoredLedger
from runner.pipeline.contracts import contract_problems
from runner.pipeline.folder import read_run, required
from runner.pipeline.observing import control_baseline
from runner.plan.reconsolidation import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.core.ledger import LedgerLine
    from runner.core.plan import PlannedTrial
    from runner.core.resolved import ResolvedStudy
    from runner.execute.journal import Journal
    from runner.pipeline.world import World


def parts_of(study: ResolvedStudy, trials: tuple[PlannedTrial, ...]) -> tuple[tuple[PlannedTrial, ...], ...]:
    """`trials` in parts, of which each has to end before the next begins."""
    return phases_of(trials, study.control) if study.schedule.control_first else (trials,)


@dataclass(frozen=True)
class Watchman:
    """Knows what has to be there before and after a part of a run."""

    world: World
    study: ResolvedStudy
    folder: Path
    journal: Journal

    def bind(self) -> None:
        """The run's contract, if it has one, stands in the ledger, before its first attempt."""
        data = self.world.files.read(self.folder / layout.CONTRACT)
        if data is not None and not any(line.kind == "contract_bound" for line in self._ledger()):
            digest = sha256_digest(data)
            self.journal.run("contract_bound", {layout.CONTRACT: digest}, {"contract": digest})

    def may_begin(self, part: Iterable[PlannedTrial]) -> bool:
        """Whether the trials of `part` may run: those of other arms than the control once its answers are frozen.

        Raises:
            EvidenceError: something of the control's evidence is missing or damaged.
        """
        others = any(planned.arm != self.study.control for planned in part)
        return not self.study.schedule.control_first or not others or self._freeze()

    def recheck(self, part: Iterable[PlannedTrial]) -> None:
        """After the last trial of each arm in `part`, the ledger says whether the run's contract still holds.

        Raises:
            EvidenceError: what the control answered isn't there any more as it was frozen.
        """
        self._check_baseline()
        data = self.world.files.read(self.folder / layout.CONTRACT)
        if data is None:
            return
        contract = Contract.from_bytes(data, layout.CONTRACT)
        manifest = self.folder / layout.RECONSOLIDATION / MANIFEST
        problems = contract_problems(self.world, contract, manifest, layout.CONTRACT)
        drift = "; ".join(str(problem) for problem in problems)
        ran = {planned.arm for planned in part}
        for arm in (arm.name for arm in self.study.arms if arm.name in ran):
            detail = {"arm": arm, "contract": sha256_digest(data), "drift": drift}
            self.journal.run("contract_rechecked", {}, detail)

    def _freeze(self) -> bool:
        """Whether what the control answered is frozen; False when it didn't complete, and nothing may be compared."""
        ledger = self._ledger()
        if any(line.kind == "control_frozen" for line in ledger):
            self._check_baseline()
            return True
        run = read_run(self.world.files, self.folder)
        wanted = {planned.trial for planned in run.plan.trials if planned.arm == self.study.control}
        missing = sorted(wanted - completed(ledger))
        if missing:
            told = f"{len(missing)} trials of the control did not complete, {missing[0]} among them"
            self.world.progress.step(f"{told}: no other arm starts; go on with: pairbench resume")
            return False
        data = control_baseline(run, self.world.files).to_bytes()
        self.world.files.write(self.folder / layout.BASELINE, data)
        self.journal.run("control_frozen", {layout.BASELINE: sha256_digest(data)}, {"arm": self.study.control})
        return True

    def _check_baseline(self) -> None:
        expected = self._ledger().other_files.get(layout.BASELINE)
        if expected is not None and sha256_digest(required(self.world.files, self.folder, layout.BASELINE)) != expected:
            raise EvidenceError("it changed after it was frozen", document=layout.BASELINE)

    def _ledger(self) -> StoredLedger:
        return StoredLedger(self.world.files, self.folder / layout.LEDGER)


def completed(ledger: Iterable[LedgerLine]) -> set[str]:
    """The trials whose last attempt completed."""
    found: dict[str, bool] = {}
    for line in ledger:
        if line.kind == "attempt_ended":
            found[line.trial] = line.detail.get("outcome") == Outcome.COMPLETED
    return {trial for trial, is_completed in found.items() if is_completed}
