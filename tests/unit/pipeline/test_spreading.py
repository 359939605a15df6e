"""Several processes derive what one does, in the same order and with the same errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner.adapters.disk import Disk
from runner.core import layout
from runner.core.errors import EvidenceError
from runner.pipeline.deriving import Concluded, DoubtfulError, Trials
from runner.pipeline.executing import run_study
from runner.pipeline.folder import read_run
from runner.pipeline.spreading import workers_for
from tests.fakes.pods import asking_client
from tests.fakes.surroundings import CLAUDE_STUDY, surroundings

pytestmark = pytest.mark.slow
STDOUT = "trials/first.r1.off/attempt-1/stdout.jsonl"


@pytest.fixture(scope="module")
def folder(tiny_images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended, on disk."""
    made = surroundings(tiny_images)
    made.pods.roles["trial"] = asking_client
    ran = run_study(made.world, made.study(CLAUDE_STUDY))
    root = tmp_path_factory.mktemp("run")
    for path, data in made.files.held.items():
        if path.is_relative_to(ran.folder) and path.name not in {".folder", layout.HOLDER}:
            Disk().write(root / path.relative_to(ran.folder), data)
    return root


def derived(folder: Path, workers: int, *, checked: bool = False) -> list[Concluded]:
    run = read_run(Disk(), folder)
    return list(Trials.of(run, Disk(), checked=checked).concluded(run.plan.trials, run.ledger, workers))


def test_what_is_derived_is_what_one_process_derives(folder: Path) -> None:
    """In the order of the plan: lines of records and scores, and what a summary takes."""
    alone = derived(folder, 1)
    assert [found.facts.trial for found in alone] == [planned.trial for planned in read_run(Disk(), folder).plan.trials]
    assert derived(folder, 2) == alone
    assert derived(folder, 3, checked=True) == alone


def test_what_is_wrong_is_told_as_by_one_process(folder: Path) -> None:
    """A file that was changed, and one that is gone."""
    before = (folder / STDOUT).read_bytes()
    (folder / STDOUT).write_bytes(before + b"\n")
    for workers in (1, 2):
        with pytest.raises(DoubtfulError):
            derived(folder, workers, checked=True)
    (folder / STDOUT).unlink()
    said = []
    for workers in (1, 2):
        with pytest.raises(EvidenceError, match="the file is missing") as caught:
            derived(folder, workers)
        said.append(caught.value.problems)
    assert said[0] == said[1]
    assert said[0][0].document == STDOUT
    (folder / STDOUT).write_bytes(before)


KILLED = """
import os, signal, sys
from runner.pipeline.spreading import spread

class Told:
    def conclude(self, items):
        return [os.getpid() for _ in items]

if __name__ == "__main__":
    found = spread(Told(), range(1000), 2)
    print(next(found), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_outlives_a_process_that_was_killed(tmp_path: Path) -> None:
    """What works for it ends by itself: its output, which it shares, comes to an end."""
    (tmp_path / "killed.py").write_text(KILLED)
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        [sys.executable, tmp_path / "killed.py"],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert int(ended.stdout) > 0


def test_small_runs_stay_in_one_process() -> None:
    """Starting another takes longer than it helps; a large run takes no more than eight."""
    assert workers_for(1_999) == 1
    assert 1 <= workers_for(2_000) <= 8
