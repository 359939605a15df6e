"""A run from its start to its end, interrupted or not: its folder can be trusted, and nothing of it stays in the engine."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from runner.core import layout
from runner.core.errors import EngineError, EnvironmentNotReady, PairbenchError
from runner.core.ledger import LedgerLine, read_ledger
from runner.core.outcomes import Outcome
from runner.core.owner import RUN, Owner
from runner.pipeline.computing import records_of
from runner.pipeline.concluding import conclude, verify_run
from runner.pipeline.executing import Ran, run_name, run_study
from runner.pipeline.folder import read_run
from tests.fakes.engine import Box, Exit, Fault, Gate, Hang, Script
from tests.fakes.pods import client, leave
from tests.fakes.surroundings import COMMAND_STUDY, RUNS, Surroundings, surroundings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.engine import Behaviour

ONE_TASK = COMMAND_STUDY[: COMMAND_STUDY.index('  { id = "second"')] + "]\n"


def ledger(outside: Surroundings, folder: Path) -> tuple[LedgerLine, ...]:
    return read_ledger(outside.files.held[folder / layout.LEDGER], layout.LEDGER)[0]


def outcomes(outside: Surroundings, folder: Path) -> dict[str, str]:
    """What each trial came to, recomputed from its evidence."""
    return {record.trial: record.outcome for record in records_of(read_run(outside.files, folder), outside.files)}


def ran(outside: Surroundings, text: str = ONE_TASK, **roles: Behaviour) -> Ran:
    outside.pods.roles |= roles
    found = run_study(outside.world, outside.study(text))
    assert outside.engine.owned() == ()
    return found


def test_a_run_lies_in_a_folder_of_its_own(outside: Surroundings) -> None:
    """Named by the study and the moment; `latest` points at it."""
    found = ran(outside)
    assert found.folder == RUNS / "demo-20260102t030405678z"
    assert outside.files.links[RUNS / "latest"] == "demo-20260102t030405678z"
    lines = ledger(outside, found.folder)
    assert [line.kind for line in lines][:1] + [line.kind for line in lines][-1:] == ["run_started", "run_ended"]
    assert lines[-1].detail["complete"] == "yes"
    assert set(lines[0].files) >= {"lock.json", "plan.json", "inputs/study.json", "inputs/corpora/notes.tar"}


def test_two_runs_of_one_moment_lie_in_two_folders(outside: Surroundings) -> None:
    """Neither writes into the other's ledger."""
    first = ran(outside)
    outside.clock.now_ms = 0
    second = ran(outside)
    assert second.folder.name == f"{first.folder.name}-2"
    for found in (first, second):
        conclude(outside.files, found.folder)
        assert verify_run(outside.files, found.folder, outside.world.harness).holds


def test_a_name_is_the_study_and_the_moment() -> None:
    """Letters, digits and hyphens: an engine takes it as part of a name."""
    assert run_name("my-study", "2026-11-29T20:18:11.042Z") == "my-study-20261129t201811042z"


def test_only_the_arm_with_the_sidecar_reaches_it(outside: Surroundings) -> None:
    """The other one's pod is the same, but for the network."""
    ran(outside)
    trials = {name.rpartition("-")[0]: spec for name, spec in outside.engine.specs.items() if name.endswith("-trial")}
    assert [spec.network_of is not None for spec in trials.values()] == [True, False]
    joined, off = trials.values()
    assert (joined.user, joined.tmpfs, joined.memory_bytes, joined.image) == (
        off.user,
        off.tmpfs,
        off.memory_bytes,
        off.image,
    )


def test_tokens_differ_from_pod_to_pod(outside: Surroundings) -> None:
    """What one client learns opens no other pod's gateway."""
    seen: list[bytes] = []

    def gateway(box: Box) -> Script:
        seen.append(box.read("/in/gateway.json"))
        box.tell("ready")
        while True:
            yield Hang()
            box.tell("sealed")

    ran(outside, gateway=gateway)
    assert len(seen) == len(set(seen)) == 2


def test_a_trial_that_failed_for_our_reasons_is_tried_again(outside: Surroundings) -> None:
    """Both attempts are kept; the second speaks for the trial."""
    outside.pods.attempts[("first.r1.off", 1)] = {"sidecar": lambda _box: 3}
    found = ran(outside)
    assert found.complete
    assert outcomes(outside, found.folder) == {"first.r1.off": "completed", "first.r1.joined": "completed"}
    attempts = [
        line.attempt
        for line in ledger(outside, found.folder)
        if line.kind == "attempt_ended" and line.trial == "first.r1.off"
    ]
    assert attempts == [1, 2]
    summary = conclude(outside.files, found.folder)
    assert summary.census.complete_blocks == 1


def cut_off(box: Box) -> Exit:
    box.write("/pod/out/stdout.jsonl", b"half")
    return Exit(137, oom_killed=True)


def says_nothing(box: Box) -> int:
    del box
    return 0


ENDS: dict[str, tuple[Behaviour, str]] = {
    "exit code": (client(b"no\n", exit_code=2), "client_error"),
    "deadline": (client(b"", ended_by="deadline"), "timeout"),
    "output limit": (client(b"x", ended_by="output_limit"), "output_limit"),
    "not ready": (client(b"", ended_by="not_ready", started_ns=None), "infrastructure"),
    "out of memory": (cut_off, "out_of_memory"),
    "no report": (says_nothing, "evidence_invalid"),
}


@pytest.mark.parametrize(("behaviour", "outcome"), ENDS.values(), ids=ENDS)
def test_every_end_of_a_trial_is_recorded(outside: Surroundings, behaviour: Behaviour, outcome: str) -> None:
    """The run goes on, the summary shows it, and everything verifies."""
    outside.pods.attempts |= {("first.r1.off", number): {"trial": behaviour} for number in (1, 2)}
    found = ran(outside)
    assert found.complete
    assert outcomes(outside, found.folder)["first.r1.off"] == outcome
    assert outcomes(outside, found.folder)["first.r1.joined"] == "completed"
    summary = conclude(outside.files, found.folder)
    assert summary.census.complete_blocks == 0
    assert verify_run(outside.files, found.folder, outside.world.harness).holds


def interrupted(outside: Surroundings, presses: int, text: str = COMMAND_STUDY) -> Ran:
    """The run during whose first trial Ctrl-C was pressed so often."""
    gate = Gate()

    def works(box: Box) -> Script:
        box.write("/pod/out/stdout.jsonl", b"half")
        yield gate
        leave(box, b"an answer\n")
        return 0

    outside.pods.attempts[("first.r1.joined", 1)] = {"trial": works}
    path = outside.study(text)
    found: list[Ran] = []
    running = threading.Thread(target=lambda: found.append(run_study(outside.world, path)))
    running.start()
    assert gate.reached.wait(30)
    for _ in range(presses):
        outside.interrupts.press()
    gate.open()
    running.join(30)
    assert not running.is_alive()
    assert outside.engine.owned() == ()
    return found[0]


@pytest.mark.parametrize(
    ("presses", "setting", "first"),
    [(1, "finish", Outcome.COMPLETED), (2, "finish", Outcome.CANCELLED), (1, "cancel", Outcome.CANCELLED)],
)
def test_an_interrupted_run_is_closed_and_can_be_summarized(
    outside: Surroundings, presses: int, setting: str, first: Outcome
) -> None:
    """Once lets the trial end, twice ends it; what didn't run is counted as that, and everything verifies."""
    text = COMMAND_STUDY + f'schedule = {{ interrupt = "{setting}" }}\n'
    found = interrupted(outside, presses, text)
    assert not found.complete
    assert ledger(outside, found.folder)[-1].detail["complete"] == "no"
    summary = conclude(outside.files, found.folder)
    assert next(row.outcome for row in summary.census.rows) is first
    assert {row.outcome for row in summary.census.rows[1:]} <= {Outcome.NOT_RUN, Outcome.CANCELLED}
    assert verify_run(outside.files, found.folder, outside.world.harness).holds


def test_an_interruption_before_the_first_trial(outside: Surroundings) -> None:
    """While volumes are filled: no trial starts."""

    def unpack(box: Box) -> int:
        outside.interrupts.press()
        box.write("/index/index", b"")
        return 0

    outside.pods.roles["index-filler"] = unpack
    found = ran(outside)
    assert not found.complete
    assert outcomes(outside, found.folder) == {"first.r1.joined": "not_run", "first.r1.off": "not_run"}
    assert [name for name in outside.engine.specs if name.endswith("-trial")] == []


def test_an_engine_that_dies_in_the_middle(outside: Surroundings) -> None:
    """The run ends with its error; the ledger reads, and tells which attempts were never ended."""
    path = outside.study(ONE_TASK)

    def kills_the_engine(box: Box) -> int:
        leave(box, b"an answer\n")
        outside.engine.dies_at = len(outside.engine.calls)
        return 0

    outside.pods.roles["trial"] = kills_the_engine
    with pytest.raises(EngineError, match="the engine does not answer"):
        run_study(outside.world, path)
    lines = ledger(outside, RUNS / "demo-20260102t030405678z")
    assert lines[0].kind == "run_started"
    outside.engine.revive()
    assert {item.labels[RUN] for item in outside.engine.owned()} == {"demo-20260102t030405678z"}


def test_what_dead_runs_left_is_removed_first_and_nothing_else(outside: Surroundings) -> None:
    """By their labels: a run that lives, another host's and a stranger's things stay."""
    dead, alive = Owner("host", "boot", 99, "1"), outside.world.owner
    for name, labels in (
        ("dead", dead.labels("old-1")),
        ("alive", alive.labels("other-1")),
        ("stranger", {RUN: "odd"}),
    ):
        outside.engine.create_volume(name, labels)
    run_study(outside.world, outside.study(ONE_TASK))
    assert sorted(item.identity for item in outside.engine.owned()) == ["alive", "stranger"]


def test_a_disk_that_is_full_at_the_start_leaves_no_folder(outside: Surroundings) -> None:
    """Nothing was locked, so nothing can be resumed or verified."""
    path = outside.study(ONE_TASK)
    outside.files.refuse = lambda call, where: (
        "No space left on device" if call == "write" and where.is_relative_to(RUNS) else ""
    )
    with pytest.raises(EnvironmentNotReady, match="No space left on device"):
        run_study(outside.world, path)
    assert [where for where in outside.files.held if where.is_relative_to(RUNS)] == []
    assert outside.engine.owned() == ()


def test_an_index_that_cannot_be_laid_out_ends_the_run(outside: Surroundings) -> None:
    """The ledger is closed all the same."""
    outside.pods.roles["index-filler"] = lambda _box: 2
    with pytest.raises(EngineError, match="can't be laid out"):
        run_study(outside.world, outside.study(ONE_TASK))
    lines = ledger(outside, RUNS / "demo-20260102t030405678z")
    assert [line.kind for line in lines] == ["run_started", "run_ended"]
    assert outside.engine.owned() == ()


def test_a_volume_that_cannot_be_removed_is_told(outside: Surroundings) -> None:
    """The trials were run; whoever asks is told what stays."""
    outside.engine.faults.append(Fault("remove", "-0-1-trial", times=50, message="device or resource busy"))
    with pytest.raises(EngineError, match="device or resource busy"):
        run_study(outside.world, outside.study(ONE_TASK))
    assert {item.labels[RUN] for item in outside.engine.owned()} == {"demo-20260102t030405678z"}


CALLS = 111
"""How often the engine is asked in a run of one task and two arms, images and index made."""


def test_an_engine_that_fails_once_costs_an_attempt_or_the_run_and_leaves_nothing(tiny_images: Path) -> None:
    """Whichever call it is: a run that ends well verifies, one that doesn't tells why."""
    whole = surroundings(tiny_images)
    run_study(whole.world, whole.study(ONE_TASK))
    assert len(whole.engine.calls) == CALLS
    told: list[str] = []
    retried = 0
    # Pods overlap, so the same number is another call each time: every third of them is enough.
    for number in range(0, CALLS, 3):
        outside = surroundings(tiny_images)
        outside.engine.fails_at = number
        path = outside.study(ONE_TASK)
        try:
            folder = run_study(outside.world, path).folder
        except PairbenchError as error:
            told.append(error.diagnostics())
        else:
            assert set(outcomes(outside, folder).values()) == {"completed"}
            retried += any(line.attempt == 2 for line in ledger(outside, folder))
        outside.engine.revive()
        left = outside.engine.owned()
        assert left == (), f"call {number}, {outside.engine.calls[number]}, left {left}"
    assert [text for text in told if "the engine does not answer" not in text] == []
    assert min(len(told), retried) > 5
