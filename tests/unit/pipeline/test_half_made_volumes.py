"""Threat to the engine's order: an engine that dies while it makes a volume keeps it, without the labels that say whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EngineError
from runner.core.ledger import open_attempts
from runner.core.owner import pod_name, volume_name
from runner.pipeline.executing import run_study
from runner.pipeline.resuming import resume_run
from tests.fakes.pods import leave
from tests.fakes.surroundings import RUNS
from tests.unit.pipeline.test_running import ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.engine import Box
    from tests.fakes.surroundings import Surroundings


def broken_off(outside: Surroundings) -> Path:
    """The folder of a run whose engine died while its first client ran, and is back."""
    role = outside.pods.roles["trial"]

    def kills_the_engine(box: Box) -> int:
        leave(box, b"an answer\n")
        outside.engine.dies_at = len(outside.engine.calls)
        return 0

    outside.pods.roles["trial"] = kills_the_engine
    with pytest.raises(EngineError):
        run_study(outside.world, outside.study())
    outside.engine.revive()
    outside.pods.roles["trial"] = role
    return RUNS / "demo-20260102t030405678z"


def test_volumes_without_labels_of_attempts_that_were_broken_off_are_gone(outside: Surroundings) -> None:
    """They are known by their names; somebody else's stay."""
    folder = broken_off(outside)
    (trial, attempt), *_ = open_attempts(ledger(outside, folder)) or [("", 0)]
    assert trial
    sequence = 1  # the second trial of the plan was prepared while the first one ran
    left = volume_name(pod_name(folder.name, sequence, attempt), "trial-in")
    for name in (left, volume_name(folder.name, "notes", "index"), "somebody-elses"):
        outside.engine.volumes.pop(name, None)
        outside.engine.create_volume(name, {})
    assert resume_run(outside.world, folder).complete
    assert sorted(outside.engine.volumes) == ["somebody-elses"]
