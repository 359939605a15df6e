"""Blocks run in their order, arms back to back, on every slot; interruptions and failures leave nothing behind."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EngineError, EngineGoneError, EnvironmentNotReady
from runner.core.ledger import LedgerLine, open_attempts, read_ledger
from runner.core.outcomes import Outcome
from runner.core.owner import RUN
from runner.core.plan import make_plan
from runner.core.study import Schedule
from runner.execute.journal import Journal
from runner.execute.schedule import Crew, Execution, Standing, Verdict, remove_run
from tests.fakes.engine import Box, FakeEngine, Fault, Gate, Script
from tests.fakes.files import MemoryFiles
from tests.fakes.orders import INDEX, WORKSPACE, order, pod_engine
from tests.fakes.pods import Pods, client, leave
from tests.fakes.surroundings import Watcher

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.plan import PlannedTrial
    from tests.fakes.engine import Behaviour

FOLDER = Path("/runs/demo-1")
LEDGER = FOLDER / "ledger.jsonl"
PLAN = make_plan(study="d", seed="s", control="off", arms=("off", "on"), tasks=("a", "b", "c"), repetitions=1)


@dataclass
class Stage:
    """An execution of the plan on an engine in memory."""

    schedule: Schedule = field(default_factory=Schedule)
    slots: int = 1
    trials: tuple[PlannedTrial, ...] = PLAN.trials
    verdicts: dict[tuple[str, int], Verdict] = field(default_factory=dict)
    """(trial, which attempt of it) -> what it comes to; completed where nothing is said."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    embedding: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.pods, self.files, self.watcher = Pods(), MemoryFiles(), Watcher()
        self.pods.roles["trial"] = client(b"an answer\n")
        self.engine = pod_engine(self.pods)
        self.judged: dict[str, int] = {}
        self.journal = Journal(self.files, self.engine.clock, LEDGER)
        self.execution = Execution(
            crew=Crew(self.engine, self.files, self.engine.clock, self.journal, self.watcher),
            folder=FOLDER,
            trials=self.trials,
            schedule=self.schedule,
            order=lambda planned, attempt: order(planned, attempt, joins_sidecar=planned.arm == "on"),
            judge=self.judge,
            slots=self.slots,
            embedding_arms=self.embedding,
            standings=self.standings,
        )

    def judge(self, planned: PlannedTrial, files: Mapping[str, bytes]) -> Verdict:
        number = self.judged[planned.trial] = self.judged.get(planned.trial, 0) + 1
        default = Verdict(Outcome.COMPLETED if "exit.json" in files else Outcome.CANCELLED, "", retry=False)
        return self.verdicts.get((planned.trial, number), default)

    @property
    def ledger(self) -> tuple[LedgerLine, ...]:
        return read_ledger(self.files.read(LEDGER) or b"", "ledger.jsonl")[0]

    @property
    def ended(self) -> list[str]:
        return [
            f"{line.trial} {line.attempt} {line.detail['outcome']} {line.detail['final']}"
            for line in self.ledger
            if line.kind == "attempt_ended"
        ]

    def left(self) -> list[str]:
        """What is there of pods."""
        return [item.identity for item in self.engine.owned() if item.labels.get(RUN)]


def failing(outcome: Outcome = Outcome.INFRASTRUCTURE, *, retry: bool = True) -> Verdict:
    return Verdict(outcome, "it broke", retry=retry)


@pytest.mark.parametrize("preparation", ["overlap", "exclusive"])
def test_trials_run_in_the_order_of_the_plan(preparation: str) -> None:
    """One after the other, each once; all evidence is in its folder, and nothing of a pod is left."""
    stage = Stage(Schedule.model_validate({"preparation": preparation}))
    assert stage.execution.run()
    names = [trial.trial for trial in PLAN.trials]
    assert stage.ended == [f"{name} 1 completed yes" for name in names]
    assert [text for text in stage.watcher.trials if text.startswith("+")] == [f"+ {name} 1" for name in names]
    for name in names:
        assert stage.files.read(FOLDER / "trials" / name / "attempt-1" / "stdout.jsonl") == b"an answer\n"
    assert stage.left() == []
    assert open_attempts(stage.ledger) == ()


def test_the_ledger_names_every_file_of_an_attempt() -> None:
    """With its digest, as it lies on disk."""
    stage = Stage()
    stage.execution.run()
    line = next(line for line in stage.ledger if line.kind == "attempt_ended")
    assert sorted(name.rpartition("/")[2] for name in line.files) == [
        "bodies.jsonl.zst",
        "compose.yaml",
        "engine.json",
        "exchanges.jsonl",
        "exit.json",
        "gateway.json",
        "in.json",
        "launch.json",
        "sidecar.jsonl",
        "stderr.txt",
        "stdout.jsonl",
    ]
    assert all(name.startswith(f"trials/{line.trial}/attempt-1/") for name in line.files)


def test_overlap_prepares_the_next_pod_while_a_trial_runs() -> None:
    """Its gateway was started before the trial ended."""
    gate, seen = Gate(), []

    def waits(box: Box) -> Script:
        yield gate
        leave(box, b"an answer\n")
        return 0

    stage = Stage(Schedule(preparation="overlap"))
    stage.pods.attempts[(PLAN.trials[0].trial, 1)] = {"trial": waits}
    original = stage.pods.roles["gateway"]

    def gateway(box: Box) -> Script:
        seen.append(box.spec.name)
        if len(seen) == 2:
            gate.open()
        return original(box)  # type: ignore[return-value]

    stage.pods.roles["gateway"] = gateway
    assert stage.execution.run()
    assert seen[:2] == ["pairbench-demo-1-0-1-gateway", "pairbench-demo-1-1-1-gateway"]


def test_exclusive_prepares_nothing_while_a_trial_runs() -> None:
    """The pod before is gone when the next one is made."""
    stage = Stage(Schedule(preparation="exclusive"))
    assert stage.execution.run()
    calls = [(call, name.removeprefix("pairbench-demo-1-")) for call, name in stage.engine.calls]
    for number in range(1, 6):
        made = min(place for place, (_, name) in enumerate(calls) if name.startswith(f"{number}-1-"))
        gone = max(
            place
            for place, (call, name) in enumerate(calls)
            if call == "remove" and name.startswith(f"{number - 1}-1-")
        )
        assert gone < made


def test_only_what_may_be_retried_is_retried_and_not_without_end() -> None:
    """Two attempts of three kinds of trial: it works the second time, never, or isn't tried again."""
    first, second, third = (trial.trial for trial in PLAN.trials[:3])
    stage = Stage(Schedule(attempts=2))
    stage.verdicts = {
        (first, 1): failing(),
        (second, 1): failing(),
        (second, 2): failing(),
        (third, 1): failing(Outcome.TIMEOUT, retry=False),
    }
    assert stage.execution.run()
    assert stage.ended[:5] == [
        f"{first} 1 infrastructure no",
        f"{first} 2 completed yes",
        f"{second} 1 infrastructure no",
        f"{second} 2 infrastructure yes",
        f"{third} 1 timeout yes",
    ]
    assert stage.left() == []


def test_an_attempt_of_a_resumed_trial_goes_on_counting() -> None:
    """Its number follows those that the ledger knows, and only failures of ours count against the bound."""
    name = PLAN.trials[0].trial
    stage = Stage(Schedule(attempts=2), trials=PLAN.trials[:1], standings={name: Standing(next_attempt=4, used=1)})
    stage.verdicts = {(name, 1): failing()}
    assert stage.execution.run()
    assert stage.ended == [f"{name} 4 infrastructure yes"]


@pytest.mark.parametrize("slots", [2, 3])
def test_a_block_runs_on_one_slot(slots: int) -> None:
    """Its arms one after the other, never at once, whoever takes which block."""
    running: set[str] = set()
    blocks: list[str] = []
    lock = threading.Lock()

    class Seen(Watcher):
        def trial_started(self, planned: PlannedTrial, attempt: int) -> None:
            del attempt
            with lock:
                assert planned.block not in running
                running.add(planned.block)

        def trial_ended(self, planned: PlannedTrial, attempt: int, outcome: Outcome, reason: str) -> None:
            del attempt, outcome, reason
            with lock:
                running.remove(planned.block)
                blocks.append(planned.block)

    stage = Stage(slots=slots)
    object.__setattr__(stage.execution.crew, "progress", Seen())
    assert stage.execution.run()
    assert sorted(blocks) == ["a.r1", "a.r1", "b.r1", "b.r1", "c.r1", "c.r1"]
    order_of_arms = {
        block: [line.trial for line in stage.ledger if line.kind == "attempt_ended" and line.trial.startswith(block)]
        for block in set(blocks)
    }
    planned = {block: [trial.trial for trial in PLAN.trials if trial.block == block] for block in set(blocks)}
    assert order_of_arms == planned


def test_two_slots_run_two_blocks_at_once() -> None:
    """Each waits for the other: alone, neither would ever end."""
    gates = {trial.trial: Gate() for trial in PLAN.trials}

    def meets(own: str, others: list[str]) -> Behaviour:
        def run(box: Box) -> Script:
            for other in others:
                gates[other].open()
            yield gates[own]
            leave(box, b"an answer\n")
            return 0

        return run

    stage = Stage(slots=2)
    first, second = PLAN.trials[0].trial, PLAN.trials[2].trial
    stage.pods.attempts[(first, 1)] = {"trial": meets(first, [second])}
    stage.pods.attempts[(second, 1)] = {"trial": meets(second, [first])}
    assert stage.execution.run()
    assert len(stage.ended) == 6


def interrupted(stage: Stage, act: str) -> bool:
    """The execution, of which `act` was asked while its first trial ran; whether every trial ran."""
    gate = Gate()

    def works(box: Box) -> Script:
        box.write("/pod/out/stdout.jsonl", b"half")
        yield gate
        leave(box, b"an answer\n")
        return 0

    stage.pods.attempts[(stage.trials[0].trial, 1)] = {"trial": works}
    found: list[bool] = []
    running = threading.Thread(target=lambda: found.append(stage.execution.run()))
    running.start()
    assert gate.reached.wait(30)
    getattr(stage.execution, act)()
    if act == "drain":
        gate.open()
    running.join(30)
    assert not running.is_alive()
    return found[0]


@pytest.mark.parametrize("preparation", ["overlap", "exclusive"])
def test_a_drained_run_ends_the_trial_that_runs_and_starts_no_other(preparation: str) -> None:
    """What was prepared ahead is gone, and the ledger says that it never ran."""
    stage = Stage(Schedule.model_validate({"preparation": preparation}))
    assert not interrupted(stage, "drain")
    assert stage.ended[0] == f"{PLAN.trials[0].trial} 1 completed yes"
    assert stage.ended[1:] in ([], [f"{PLAN.trials[1].trial} 1 cancelled no"])
    assert stage.left() == []
    assert open_attempts(stage.ledger) == ()


@pytest.mark.parametrize("preparation", ["overlap", "exclusive"])
def test_a_cancelled_run_ends_the_trial_that_runs(preparation: str) -> None:
    """Its evidence is kept, it isn't final, and nothing is left."""
    stage = Stage(Schedule.model_validate({"preparation": preparation}))
    assert not interrupted(stage, "cancel")
    assert stage.ended[0] == f"{PLAN.trials[0].trial} 1 cancelled no"
    assert stage.files.read(FOLDER / "trials" / PLAN.trials[0].trial / "attempt-1" / "stdout.jsonl") == b"half"
    assert stage.left() == []
    assert open_attempts(stage.ledger) == ()


def test_a_run_that_is_drained_during_its_last_trial_is_complete() -> None:
    """Nothing is left that could be resumed."""
    stage = Stage(trials=PLAN.trials[:1])
    assert interrupted(stage, "drain")
    assert stage.ended == [f"{PLAN.trials[0].trial} 1 completed yes"]


def test_a_cancelled_trial_is_not_tried_again() -> None:
    """Whatever it came to."""
    stage = Stage(Schedule(attempts=3))
    stage.verdicts = {(PLAN.trials[0].trial, 1): failing()}
    assert not interrupted(stage, "cancel")
    assert [line for line in stage.ended if line.startswith(PLAN.trials[0].trial)] == [
        f"{PLAN.trials[0].trial} 1 infrastructure no"
    ]
    assert stage.left() == []


def test_a_disk_that_is_full_ends_the_run_and_leaves_nothing() -> None:
    """The other slot is ended too; what was written stays, and the ledger tells which attempts are open."""
    stage = Stage(slots=2)
    stage.files.refuse = lambda call, path: (
        "No space left on device" if call == "write" and path.name == "exit.json" else ""
    )
    with pytest.raises(EnvironmentNotReady, match="No space left on device"):
        stage.execution.run()
    assert stage.left() == []
    assert stage.ended == [text for text in stage.ended if " cancelled no" in text]


def test_a_ledger_that_cannot_be_written_ends_the_run() -> None:
    """Nothing starts that it doesn't announce."""
    stage = Stage()
    stage.files.refuse = lambda call, _path: "No space left on device" if call == "append" else ""
    with pytest.raises(EnvironmentNotReady):
        stage.execution.run()
    assert [call for call, _ in stage.engine.calls if call.startswith("create")] == []


def test_what_an_engine_refuses_once_is_removed_the_second_time() -> None:
    """A busy engine costs no run."""
    stage = Stage()
    stage.engine.faults.append(Fault("remove", "-trial", skip=1))
    assert stage.execution.run()
    assert stage.left() == []


@pytest.mark.parametrize("preparation", ["overlap", "exclusive"])
def test_what_an_engine_keeps_is_told(preparation: str) -> None:
    """A run whose pods stay isn't a run that ended well; its evidence is there all the same."""
    stage = Stage(Schedule.model_validate({"preparation": preparation}))
    stage.engine.faults.append(Fault("remove", "-0-1-trial", times=2, message="device or resource busy"))
    with pytest.raises(EngineError, match="device or resource busy"):
        stage.execution.run()
    assert stage.ended[0] == f"{PLAN.trials[0].trial} 1 completed yes"
    stage.engine.revive()
    remove_run(stage.engine, "demo-1")
    assert stage.left() == []


def test_no_more_clients_embed_at_once_than_the_study_allows() -> None:
    """Three slots, one embedder: the trials of that arm queue, the others don't."""
    inside, most = set(), []
    lock = threading.Lock()

    def embeds(box: Box) -> int:
        with lock:
            inside.add(box.spec.name)
            most.append(len(inside))
        leave(box, b"an answer\n")
        with lock:
            inside.remove(box.spec.name)
        return 0

    stage = Stage(Schedule(embedders=1), slots=3, embedding=frozenset({"on"}))
    for trial in PLAN.trials:
        if trial.arm == "on":
            stage.pods.attempts[(trial.trial, 1)] = {"trial": embeds}
    assert stage.execution.run()
    assert most == [1, 1, 1]


def test_a_fault_in_our_own_code_ends_the_run_and_leaves_nothing() -> None:
    """Whatever is raised, no thread goes on and no pod stays."""
    stage = Stage(slots=2)

    def broken(planned: PlannedTrial, files: Mapping[str, bytes]) -> Verdict:
        raise RuntimeError(f"{planned.trial}: {len(files)}")

    stage.execution.judge = broken
    with pytest.raises(RuntimeError):
        stage.execution.run()
    assert stage.left() == []
    assert threading.active_count() == 1


def test_removing_a_run_leaves_other_runs_alone() -> None:
    """Containers before the volumes that they mount; what another run has is its own."""
    stage = Stage()
    for name, run in (("one", "demo-1"), ("two", "demo-1"), ("other", "demo-2")):
        stage.engine.create_volume(name, {RUN: run})
    remove_run(stage.engine, "demo-1")
    assert sorted(item.identity for item in stage.engine.owned()) == ["other"]
    assert {WORKSPACE, INDEX} <= set(stage.engine.volumes)


class Keeping(FakeEngine):
    """An engine that keeps its volumes, and says nothing of it."""

    def remove_volume(self, name: str) -> None:
        self._enter("remove_volume", name)


def test_a_run_that_cannot_be_removed_is_told() -> None:
    """With what to do about it."""
    stage = Stage()
    stage.engine.create_volume("one", {RUN: "demo-1"})
    stage.engine.__class__ = Keeping
    with pytest.raises(EngineError, match="something of the run demo-1 can't be removed") as caught:
        remove_run(stage.engine, "demo-1")
    assert caught.value.problems[0].hint == "pairbench gc"


@pytest.mark.parametrize("attempts", [1, 3])
def test_an_engine_that_is_gone_ends_the_run_and_uses_up_no_trial(attempts: int) -> None:
    """Whatever is tried on it fails: no attempt of the rest is made, and none that it broke is final."""
    stage = Stage(Schedule(attempts=attempts))
    second = PLAN.trials[1].trial

    def kills_the_engine(box: Box) -> int:
        stage.engine.dies_at = len(stage.engine.calls)
        leave(box, b"an answer\n")
        return 0

    stage.pods.attempts[(second, 1)] = {"trial": kills_the_engine}
    stage.verdicts = {(second, 1): failing()}
    with pytest.raises(EngineGoneError):
        stage.execution.run()
    assert stage.ended == [f"{PLAN.trials[0].trial} 1 completed yes", f"{second} 1 infrastructure no"]
    assert {trial for trial, _ in open_attempts(stage.ledger)} <= {PLAN.trials[2].trial}


def test_an_engine_that_fails_every_attempt_ends_the_run_before_all_trials_are_used_up() -> None:
    """A full disk, say: it answers, and refuses."""
    stage = Stage(Schedule(attempts=2))
    stage.engine.faults.append(Fault("create", times=1000, message="no space left on device"))
    first, second, third = (trial.trial for trial in PLAN.trials[:3])
    stage.verdicts = {(name, number): failing() for name in (first, second, third) for number in (1, 2)}
    with pytest.raises(EngineError, match=r"3 attempts one after the other.*no space left on device"):
        stage.execution.run()
    assert [line for line in stage.ended if " infrastructure " in line] == [
        f"{first} 1 infrastructure no",
        f"{first} 2 infrastructure yes",
        f"{second} 1 infrastructure no",
    ]
    assert stage.left() == []


def test_an_engine_that_fails_now_and_then_is_tried_again() -> None:
    """Failures count in a row only."""
    stage = Stage(Schedule(attempts=2, preparation="exclusive"))
    for trial in PLAN.trials:
        stage.engine.faults.append(Fault("create", of=f"-{trial.sequence}-1-trial", message="busy"))
        stage.verdicts[trial.trial, 1] = failing()
    assert stage.execution.run()
    assert sum(" completed yes" in line for line in stage.ended) == len(PLAN.trials)
