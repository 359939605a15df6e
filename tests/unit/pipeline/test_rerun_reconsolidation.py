"""A reconsolidation study is rerun under its contract, and nobody takes it for a first look at the holdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core import layout
from runner.core.ledger import read_ledger
from runner.pipeline.concluding import conclude, verify_run
from runner.pipeline.executing import run_study
from runner.pipeline.fitness import Asked, Shelf, fit_of
from runner.pipeline.originals import read_original
from runner.pipeline.rerunning import rerun
from tests.fakes.memories import Memories
from tests.unit.pipeline.test_reconsolidation_runs import under_contract

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings

FRESH = "the contract claims a fresh holdout, which no rerun has: a review of this one will say that {run} came before"


@pytest.fixture
def memories(outside: Surroundings) -> Memories:
    return Memories(outside)


def test_a_rerun_keeps_the_contract_and_its_order(memories: Memories) -> None:
    """Bound before the first attempt, the control frozen before any other arm, observations and baseline the same."""
    files = memories.outside.files
    folder = run_study(memories.world, under_contract(memories)).folder
    conclude(files, folder)
    before = read_original(files, folder)
    assert fit_of(memories.world, before, Asked(), Shelf()).notices == (FRESH.format(run=folder.name),)
    again = rerun(memories.world, before, Asked()).ran.folder
    conclude(files, again)
    for name in (layout.CONTRACT, layout.BASELINE, layout.OBSERVATIONS, layout.PLAN, layout.STUDY):
        assert files.held[again / name] == files.held[folder / name], name
    first, second = (
        [
            (line.kind, line.trial)
            for line in read_ledger(files.held[one / layout.LEDGER], layout.LEDGER)[0]
            # Pods are prepared ahead: when one ends, the next may have been started or not.
            if line.kind != "attempt_ended"
        ]
        for one in (folder, again)
    )
    assert first == second
    assert verify_run(files, again, memories.world.harness).holds
