"""A run that is finished is sealed: resuming it changes nothing, and a report never speaks of an older summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.core import layout
from runner.core.errors import EnvironmentNotReady
from runner.core.secret import Secret
from runner.pipeline.concluding import conclude, verify_run, write_report
from runner.pipeline.executing import run_study
from runner.pipeline.resuming import resume_run
from tests.fakes.engine import Hang
from tests.fakes.surroundings import COMMAND_STUDY
from tests.unit.pipeline.test_running import interrupted

if TYPE_CHECKING:
    from tests.fakes.engine import Box, Script
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


LIVE_STUDY = COMMAND_STUDY.replace(
    'mode = "scripted", policy = "plain-agent"', 'mode = "live", base_url = "https://provider.example"'
)


def keyed(box: Box) -> Script:
    """A gateway that takes a key."""
    box.tell("ready")
    while True:
        box.tell("keyed" if (yield Hang()) == "SIGUSR2" else "sealed")


def test_what_a_run_checks_first_a_resumption_does_too(outside: Surroundings) -> None:
    """Without key, memory and disk nothing is touched: no line of the ledger, no volume; all of it is told at once."""
    outside.world = replace(outside.world, provider_key=lambda: Secret("sk-a-key"))
    outside.pods.roles["gateway"] = keyed
    folder = interrupted(outside, 1, LIVE_STUDY).folder
    before, calls = dict(outside.files.held), len(outside.engine.calls)
    said = list(outside.watcher.steps)

    def no_key() -> Secret:
        raise EnvironmentNotReady("a live model needs the provider's key", document="environment")

    outside.world = replace(outside.world, provider_key=no_key)
    outside.engine.memory_bytes = 1 << 30
    outside.files.free = 1 << 20
    with pytest.raises(EnvironmentNotReady) as caught:
        resume_run(outside.world, folder)
    assert [problem.message for problem in caught.value.problems] == [
        # Half a gigabyte, and one for each of the three trials that are left.
        "1048576 bytes are free, and about 540016640 are needed for 3 trials",
        "a live model needs the provider's key",
        "1 pods may take 3758096384 bytes, and the engine has 1073741824",
    ]
    assert {path: data for path, data in outside.files.held.items() if path.name != layout.HOLDER} == {
        path: data for path, data in before.items() if path.name != layout.HOLDER
    }
    assert {call for call, _ in outside.engine.calls[calls:]} == {"info"}
    assert outside.watcher.steps == said
