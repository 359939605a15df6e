"""A gate that is changed after the lock was written is refused, wherever the run is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core import layout
from runner.core.errors import EvidenceError
from runner.core.lock import Lock
from runner.pipeline.concluding import conclude, verify_run
from runner.pipeline.executing import run_study
from runner.pipeline.resuming import resume_run
from tests.fakes.pods import asking_client
from tests.fakes.surroundings import CLAUDE_STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.surroundings import Surroundings

GATE = """
[[gates]]
name = "cheap-enough"
measure = "cost_microusd"
arm = "memory"
end = "estimate"
at_most = "90"
"""


@pytest.fixture
def folder(outside: Surroundings) -> Path:
    outside.pods.roles["trial"] = asking_client
    return run_study(outside.world, outside.study(CLAUDE_STUDY + GATE)).folder


def rewritten(outside: Surroundings, path: Path) -> None:
    data = outside.files.read(path)
    assert data is not None
    assert b'"at_most":"90"' in data
    outside.files.write(path, data.replace(b'"at_most":"90"', b'"at_most":"99"'))


def test_the_lock_holds_the_gates_and_the_summary_their_verdicts(outside: Surroundings, folder: Path) -> None:
    """Frozen before the first trial, judged after the last."""
    lock = Lock.from_bytes(outside.files.read(folder / layout.LOCK) or b"", layout.LOCK)
    assert [(gate.name, gate.at_most) for gate in lock.gates] == [("cheap-enough", "90")]
    assert [(gate.name, gate.verdict) for gate in conclude(outside.files, folder).gates] == [("cheap-enough", "passed")]


@pytest.mark.parametrize("document", [layout.STUDY, layout.LOCK])
def test_a_changed_gate_is_refused(outside: Surroundings, folder: Path, document: str) -> None:
    """In the study or in the lock: the run can't go on, and doesn't verify."""
    conclude(outside.files, folder)
    rewritten(outside, folder / document)
    with pytest.raises(EvidenceError, match=document):
        resume_run(outside.world, folder)
    found = verify_run(outside.files, folder, outside.world.harness)
    assert document in {problem.document for problem in found.differences}
