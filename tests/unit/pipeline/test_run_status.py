"""How far a run is, and how its pods were walled in, told while it runs and after."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from runner.core import layout
from runner.core.errors import EvidenceError
from runner.core.evidence import EngineFacts
from runner.pipeline.executing import run_study
from runner.pipeline.status import run_status
from tests.fakes.engine import Box, Gate, Script
from tests.fakes.pods import leave
from tests.fakes.surroundings import RUNS, Surroundings

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_that_ended(outside: Surroundings) -> None:
    """Every trial with its attempts, containers and processes."""
    folder = run_study(outside.world, outside.study()).folder
    status = run_status(outside.files, folder)
    assert (status.run, status.ended, status.planned, status.finished) == (folder.name, True, 4, 4)
    assert status.outcomes == {"completed": 4}
    assert status.breaches == 0
    joined = next(trial for trial in status.trials if trial.arm == "joined")
    (attempt,) = joined.attempts
    assert joined.joins_sidecar
    assert attempt.trial is not None
    assert attempt.sidecar is not None
    assert attempt.trial.network_mode == f"container:{attempt.sidecar.id}"
    assert attempt.client is not None
    assert attempt.client.is_powerless()
    assert attempt.client.uid == 10002


def test_a_run_that_runs(outside: Surroundings) -> None:
    """Its ledger grows while it is read: a line that is being written isn't one yet."""
    gate = Gate()

    def waits(box: Box) -> Script:
        yield gate
        leave(box, b"an answer\n")
        return 0

    path = outside.study()
    outside.pods.attempts[("first.r1.off", 1)] = {"trial": waits}
    running = threading.Thread(target=run_study, args=(outside.world, path))
    running.start()
    assert gate.reached.wait(30)
    folder = RUNS / outside.files.links[RUNS / "latest"]
    torn = {**outside.files.held, folder / layout.LEDGER: outside.files.held[folder / layout.LEDGER] + b'{"at":'}
    snapshot = type(outside.files)(held=torn)
    status = run_status(snapshot, folder)
    gate.open()
    running.join(30)
    assert (status.ended, status.planned, status.finished) == (False, 4, 1)


def test_a_hole_in_the_isolation_is_told(outside: Surroundings) -> None:
    """By the trial and the attempt in which the engine recorded it."""
    folder = run_study(outside.world, outside.study()).folder
    place = folder / "trials/first.r1.off/attempt-1/engine.json"
    facts = EngineFacts.from_bytes(outside.files.held[place], "engine.json")
    assert facts.trial is not None
    open_ = facts.trial.model_copy(update={"network_mode": "bridge", "read_only": False})
    outside.files.held[place] = facts.model_copy(update={"trial": open_}).to_bytes()
    status = run_status(outside.files, folder)
    assert status.breaches == 2
    attempt = next(trial for trial in status.trials if trial.trial == "first.r1.off").attempts[0]
    assert attempt.breaches == (
        "the network of the trial is 'bridge', not 'none'",
        "the root of the trial can be written",
    )


def test_damaged_evidence_of_one_attempt_hides_no_other(outside: Surroundings) -> None:
    """Watching isn't verifying: what can't be read is left out."""
    folder = run_study(outside.world, outside.study()).folder
    for name in ("engine.json", "exit.json"):
        outside.files.held[folder / "trials/first.r1.off/attempt-1" / name] = b"{"
    status = run_status(outside.files, folder)
    attempt = next(trial for trial in status.trials if trial.trial == "first.r1.off").attempts[0]
    assert (attempt.trial, attempt.client, attempt.outcome) == (None, None, "completed")
    assert status.finished == 4


@pytest.mark.parametrize("name", ["plan.json", "inputs/study.json", "ledger.jsonl"])
def test_a_run_without_its_documents_is_none(outside: Surroundings, name: str) -> None:
    """The file is named."""
    folder: Path = run_study(outside.world, outside.study()).folder
    outside.files.remove(folder / name)
    with pytest.raises(EvidenceError, match=f"{name}: the file is missing"):
        run_status(outside.files, folder)
