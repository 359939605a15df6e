"""A run that is finished is sealed: resuming it changes nothing, and a report never speaks of an older summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core import layout
from runner.pipeline.concluding import conclude, verify_run, write_report
from runner.pipeline.executing import run_study
from runner.pipeline.resuming import resume_run
from tests.unit.pipeline.test_running import interrupted

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings


def test_a_finished_run_stays_as_it_is(outside: Surroundings) -> None:
    """Not a byte of it changes, and no engine is asked."""
    folder = run_study(outside.world, outside.study()).folder
    conclude(outside.files, folder)
    write_report(outside.files, folder)
    before = {path: data for path, data in outside.files.held.items() if path.name != layout.HOLDER}
    outside.no_engine.append("it was stopped")
    found = resume_run(outside.world, folder)
    conclude(outside.files, folder)
    assert (found.folder, found.complete) == (folder, True)
    assert {path: data for path, data in outside.files.held.items() if path.name != layout.HOLDER} == before
    assert verify_run(outside.files, folder, outside.world.harness).holds


def test_a_report_follows_its_run(outside: Surroundings) -> None:
    """One that was made of the interrupted run would no longer verify after the rest has run."""
    folder = interrupted(outside, presses=1).folder
    conclude(outside.files, folder)
    report = outside.files.held[write_report(outside.files, folder)]
    assert resume_run(outside.world, folder).complete
    conclude(outside.files, folder)
    assert outside.files.held[folder / layout.REPORT] != report
    assert verify_run(outside.files, folder, outside.world.harness).holds
