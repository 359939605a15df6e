"""From a study file to a summary that verifies, without leaving this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.owner import RUN
from runner.pipeline.concluding import conclude, read_summary, verify_run, write_report
from runner.pipeline.executing import run_study
from runner.pipeline.folder import find_run
from runner.pipeline.status import run_status
from tests.fakes.pods import asking_client
from tests.fakes.surroundings import CLAUDE_STUDY, RUNS

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings


def test_a_study_becomes_a_summary_that_verifies(outside: Surroundings) -> None:
    """Two arms, two tasks, two repetitions of Claude Code with and without a memory: every stage has its part."""
    outside.pods.roles["trial"] = asking_client
    ran = run_study(outside.world, outside.study(CLAUDE_STUDY))
    assert ran.complete
    summary = conclude(outside.files, ran.folder)
    write_report(outside.files, ran.folder)
    assert find_run(outside.files, RUNS, "latest", RUNS.parent).name in {"latest", ran.folder.name}
    assert read_summary(outside.files, ran.folder) == summary
    assert summary.evidence == "fixture"
    found = verify_run(outside.files, ran.folder, outside.world.harness)
    assert found.differences == ()
    assert found.same_code
    status = run_status(outside.files, ran.folder)
    assert status.outcomes == {"completed": 8}
    assert (status.planned, status.finished, status.breaches, status.ended) == (8, 8, 0, True)
    assert [item for item in outside.engine.owned() if RUN in item.labels] == []
