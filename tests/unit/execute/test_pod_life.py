"""The pod of one attempt: made, run, proven gone, collected, removed; whatever fails is told, and nothing is left."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.errors import EngineError
from runner.core.evidence import EngineFacts, OutcomeHint
from runner.core.launch import LaunchSpec
from runner.core.owner import volume_name
from runner.execute.pod import Collected, Pod
from tests.fakes.engine import Box, Exit, FakeEngine, Fault, Gate, Hang, Pause, Script
from tests.fakes.orders import LIMITS, order, planned, pod_engine
from tests.fakes.pods import Pods, client, leave

if TYPE_CHECKING:
    from tests.fakes.engine import Behaviour

MIB = 1 << 20
FILES = [
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
GIVEN = ["compose.yaml", "engine.json", "gateway.json", "in.json", "launch.json"]
"""What is known of an attempt that left nothing."""


class Life:
    """One pod on an engine in memory, from its beginning to its end."""

    def __init__(self, *, joins_sidecar: bool = False, **roles: Behaviour) -> None:
        self.pods = Pods()
        self.pods.roles |= roles
        self.engine = pod_engine(self.pods)
        arm = "joined" if joins_sidecar else "off"
        self.pod = Pod(self.engine, self.engine.clock, order(planned(arm), joins_sidecar=joins_sidecar))

    def collect(self) -> Collected:
        self.pod.prepare()
        self.pod.run()
        return self.pod.collect()

    def facts(self, collected: Collected) -> EngineFacts:
        return EngineFacts.from_bytes(collected.files["engine.json"], "engine.json")

    def volume(self, role: str) -> Any:
        """A volume of the pod, while it is there."""
        return next(held for held in self.engine.volumes.values() if held.labels.get("pairbench.role") == role)

    def left(self) -> list[str]:
        return sorted(item.identity for item in self.engine.owned())


def test_an_attempt_leaves_its_evidence_and_nothing_else() -> None:
    """All files of the contract, the facts of three containers, and an engine as it was before."""
    life = Life(trial=client(b"an answer\n"))
    collected = life.collect()
    assert sorted(collected.files) == FILES
    assert collected.refused == ()
    assert collected.files["stdout.jsonl"] == b"an answer\n"
    assert LaunchSpec.from_bytes(collected.files["launch.json"], "x").argv == ("/bin/answer",)
    facts = life.facts(collected)
    assert (facts.outcome_hint, facts.detail, facts.gone_proven) == (OutcomeHint.NONE, "", True)
    assert facts.trial is not None
    assert facts.trial.exit_code == 0
    assert facts.gateway is not None
    assert facts.gateway.exit_code is None
    assert facts.sidecar is not None
    assert facts.sidecar.exit_code is None
    life.pod.dispose()
    assert life.left() == []


def test_containers_are_made_as_the_contract_says() -> None:
    """Users, capabilities, mounts, limits and networks of `docs/reference/pod.md`."""
    life = Life()
    life.pod.prepare()
    gateway, sidecar, trial = (
        life.engine.specs[f"pairbench-demo-1-0-1-{role}"] for role in ("gateway", "sidecar", "trial")
    )
    assert (gateway.user, gateway.groups, gateway.capabilities, gateway.network_of) == (
        "10004:10004",
        (10001,),
        (),
        None,
    )
    assert (sidecar.user, sidecar.groups, sidecar.capabilities, sidecar.network_of) == ("10003:10003", (), (), None)
    assert (trial.user, trial.capabilities, trial.network_of) == ("0:0", ("SETUID", "SETGID", "KILL", "SETPCAP"), None)
    assert [(mount.destination, mount.read_only) for mount in trial.mounts] == [
        ("/in", True),
        ("/workspace", True),
        ("/pod", False),
    ]
    assert [(mount.destination, mount.read_only) for mount in sidecar.mounts] == [("/index", True)]
    assert [(mount.destination, mount.read_only) for mount in gateway.mounts] == [
        ("/in", False),
        ("/trial-in", False),
        ("/pod", False),
    ]
    assert [(item.destination, item.uid, item.mode) for item in trial.tmpfs] == [
        ("/home/agent", 10002, "0700"),
        ("/tmp", 0, "1777"),
    ]
    assert (trial.memory_bytes, trial.pids, trial.cpus) == (LIMITS.memory_bytes, 256, 2)
    assert (sidecar.memory_bytes, gateway.memory_bytes) == (1024 * MIB, 512 * MIB)
    assert {item.destination: item.size_bytes for item in sidecar.tmpfs}["/qdrant/storage"] == 512 * MIB
    pod = life.volume("pod").tmpfs
    assert (pod.size_bytes, pod.uid, pod.gid, pod.mode) == (128 * MIB, 10004, 10001, "1770")
    life.pod.dispose()


def test_everything_of_a_pod_is_labelled() -> None:
    """Run, trial, attempt and role: the reaper and whoever looks know what it is."""
    life = Life()
    life.pod.prepare()
    labels = [item.labels for item in life.engine.owned()]
    assert len(labels) == 6
    assert {label["pairbench.run"] for label in labels} == {"demo-1"}
    assert {label["pairbench.trial"] for label in labels} == {"first.r1.off"}
    assert {label["pairbench.attempt"] for label in labels} == {"1"}
    assert sorted(label["pairbench.role"] for label in labels) == [
        "gateway",
        "gateway-in",
        "pod",
        "sidecar",
        "trial",
        "trial-in",
    ]
    life.pod.dispose()


def test_an_arm_with_the_memory_joins_its_sidecar() -> None:
    """And meets it: the sidecar's log has the supervisor's question."""
    life = Life(joins_sidecar=True)
    collected = life.collect()
    facts = life.facts(collected)
    assert facts.trial is not None
    assert facts.sidecar is not None
    assert facts.trial.network_mode == f"container:{facts.sidecar.id}"
    assert [json.loads(line)["event"] for line in collected.files["sidecar.jsonl"].splitlines()] == ["ready", "request"]


def test_an_arm_without_the_memory_leaves_the_log_empty() -> None:
    """The host asks the sidecar nothing itself."""
    collected = Life().collect()
    assert [json.loads(line)["event"] for line in collected.files["sidecar.jsonl"].splitlines()] == ["ready"]


def test_the_gateway_is_told_its_tokens_and_the_trial_is_not_told_those_of_others() -> None:
    """The memory's token stands in no file of a client without a memory."""
    life = Life()
    life.pod.prepare()
    gateway = life.volume("gateway-in").nodes["gateway.json"].data
    assert json.loads(gateway)["tokens"] == {"client": "client-first.r1.off-1", "memory": "memory-first.r1.off-1"}
    inside = life.volume("trial-in").nodes
    assert sorted(inside) == ["launch.json", "prompt.txt"]
    assert all(b"memory-first" not in node.data for node in inside.values())
    life.pod.dispose()


def never_ready(box: Box) -> Script:
    box.say(b"starting\n")
    yield Pause(31_000)
    box.tell("ready")
    yield Hang()
    return 0


def dies(box: Box) -> int:
    box.say(b"no model\n")
    return 7


@pytest.mark.parametrize("behaviour", [never_ready, dies])
def test_a_gateway_that_is_not_ready(behaviour: Behaviour) -> None:
    """Too late or dead: no trial is made for it."""
    life = Life(gateway=behaviour)
    collected = life.collect()
    facts = life.facts(collected)
    assert facts.outcome_hint is OutcomeHint.GATEWAY_NOT_READY
    assert facts.detail == "the gateway did not say that it is ready"
    assert facts.trial is None
    assert sorted(collected.files) == [*GIVEN, "sidecar.jsonl"]
    life.pod.dispose()
    assert life.left() == []


@pytest.mark.parametrize("behaviour", [never_ready, dies])
def test_a_sidecar_that_is_not_ready(behaviour: Behaviour) -> None:
    """What it said is kept; no trial is made."""
    life = Life(sidecar=behaviour)
    collected = life.collect()
    facts = life.facts(collected)
    assert facts.outcome_hint is OutcomeHint.SIDECAR_NOT_READY
    assert facts.trial is None
    assert collected.files["sidecar.jsonl"].startswith((b"starting\n", b"no model\n"))
    life.pod.dispose()
    assert life.left() == []


def hangs(box: Box) -> Script:
    box.write("/pod/out/stdout.jsonl", b"half an ans")
    yield Hang()
    return 0


def test_a_supervisor_that_does_not_end_is_ended_by_the_host() -> None:
    """Beyond its own deadlines and ten seconds; what it had written is kept."""
    life = Life(trial=hangs)
    collected = life.collect()
    facts = life.facts(collected)
    assert facts.outcome_hint is OutcomeHint.HOST_DEADLINE
    assert facts.gone_proven
    assert facts.trial is not None
    assert facts.trial.exit_code == 137
    assert life.engine.clock.monotonic_ms() == 1000 * (15 + 20 + 2) + 10_000
    assert facts.pod_ms == 47_000
    assert collected.files["stdout.jsonl"] == b"half an ans"
    assert "exit.json" not in collected.files


def late_but_done(box: Box) -> Script:
    yield Pause(46_000)
    leave(box, b"done\n")
    return 0


def test_a_supervisor_that_ends_within_its_deadlines_is_left_alone() -> None:
    """Waiting for readiness, the client's time and its grace add up."""
    life = Life(trial=late_but_done)
    facts = life.facts(life.collect())
    assert (facts.outcome_hint, facts.pod_ms) == (OutcomeHint.NONE, 46_000)


class Immortal(FakeEngine):
    """An engine that can't kill."""

    def kill(self, container: str) -> None:
        self._enter("kill", container)


def test_evidence_of_a_trial_that_cannot_be_ended_is_not_read() -> None:
    """It could still be written."""
    life = Life(trial=hangs)
    life.engine.__class__ = Immortal
    collected = life.collect()
    facts = life.facts(collected)
    assert not facts.gone_proven
    assert facts.pod_ms is None
    assert sorted(collected.files) == GIVEN


def out_of_memory(box: Box) -> Exit:
    box.write("/pod/out/stdout.jsonl", b"")
    return Exit(137, oom_killed=True)


def test_what_the_engine_says_of_the_end_is_kept() -> None:
    """Out of memory, with the exit code that the kernel left."""
    life = Life(trial=out_of_memory)
    trial = life.facts(life.collect()).trial
    assert trial is not None
    assert (trial.oom_killed, trial.exit_code) == (True, 137)


def deaf_gateway(box: Box) -> Script:
    box.write("/pod/gateway/exchanges.jsonl", b"")
    box.tell("ready")
    while True:
        yield Hang()


def test_a_gateway_that_does_not_seal() -> None:
    """It is told, and what was recorded is read all the same."""
    life = Life(gateway=deaf_gateway)
    collected = life.collect()
    facts = life.facts(collected)
    assert facts.outcome_hint is OutcomeHint.ENGINE_ERROR
    assert facts.detail == "the gateway did not seal its evidence"
    assert "exchanges.jsonl" in collected.files
    assert "exit.json" in collected.files


def mortal_gateway(box: Box) -> Script:
    box.tell("ready")
    yield Pause(5_000)
    return 3


def outlives_the_gateway(box: Box) -> Script:
    gateway = Box(box.engine, box.engine.named("-gateway"))
    yield Pause(10_000)
    box.engine._end(gateway.container, Exit(3))
    leave(box, b"an answer\n")
    return 0


def test_a_gateway_that_dies_takes_the_evidence_along() -> None:
    """The volume in memory goes with its last container; the engine's facts say that it was over before."""
    life = Life(trial=outlives_the_gateway)
    collected = life.collect()
    facts = life.facts(collected)
    assert facts.gateway is not None
    assert facts.trial is not None
    assert facts.gateway.exit_code == 3
    assert facts.gateway.finished_at < facts.trial.finished_at
    assert sorted(collected.files) == [*GIVEN, "sidecar.jsonl"]


def untidy(box: Box) -> int:
    leave(box, b"an answer\n")
    box.write("/pod/gateway/exchanges.jsonl", b"")
    box.write("/pod/out/notes.txt", b"x")
    box.make_link("/pod/out/link")
    box.make_link("/pod/gateway/bodies.jsonl.zst")
    return 0


def test_what_the_contract_does_not_know_is_refused_by_name() -> None:
    """Other files, and links in place of evidence."""
    collected = Life(trial=untidy).collect()
    assert collected.refused == (
        "pod/gateway/bodies.jsonl.zst: a link",
        "pod/out/link: a link",
        "pod/out/notes.txt: not a file that the pod's contract knows, or one that stands twice",
    )
    assert "bodies.jsonl.zst" not in collected.files


def test_a_pod_that_is_cancelled_before_it_runs() -> None:
    """Its trial never starts."""
    life = Life()
    life.pod.prepare()
    life.pod.cancel()
    life.pod.run()
    facts = life.facts(life.pod.collect())
    assert facts.outcome_hint is OutcomeHint.CANCELLED
    assert facts.trial is not None
    assert not facts.trial.was_started()
    life.pod.dispose()
    assert life.left() == []


def test_a_pod_that_is_cancelled_while_it_runs() -> None:
    """The trial is killed at once, and what it had left is collected."""
    gate = Gate()

    def works(box: Box) -> Script:
        box.write("/pod/out/stdout.jsonl", b"half")
        yield gate
        return 0

    life = Life(trial=works)
    life.pod.prepare()
    running = threading.Thread(target=life.pod.run)
    running.start()
    assert gate.reached.wait(30)
    life.pod.cancel()
    running.join(30)
    assert not running.is_alive()
    collected = life.pod.collect()
    facts = life.facts(collected)
    assert facts.outcome_hint is OutcomeHint.CANCELLED
    assert facts.gone_proven
    assert collected.files["stdout.jsonl"] == b"half"


class Slow(FakeEngine):
    """An engine during whose start of the trial somebody cancels."""

    cancel: Pod

    def start(self, container: str) -> None:
        if container in self.containers and self.containers[container].spec.name.endswith("-trial"):
            self.cancel.cancel()
        super().start(container)


def test_a_pod_that_is_cancelled_while_it_starts() -> None:
    """Whoever cancelled found nothing to kill: the trial is killed as soon as it runs."""
    life = Life(trial=hangs)
    life.engine.__class__ = Slow
    assert isinstance(life.engine, Slow)
    life.engine.cancel = life.pod
    facts = life.facts(life.collect())
    assert facts.outcome_hint is OutcomeHint.CANCELLED
    assert facts.gone_proven
    assert life.engine.clock.monotonic_ms() == 0


def test_disposing_twice_is_disposing_once() -> None:
    """Whoever isn't sure may."""
    life = Life()
    life.collect()
    life.pod.dispose()
    calls = len(life.engine.calls)
    life.pod.dispose()
    assert len(life.engine.calls) == calls


@pytest.mark.parametrize(
    ("call", "of"),
    [
        ("remove", "-trial"),
        ("remove", "-sidecar"),
        ("remove", "-gateway"),
        ("remove_volume", volume_name("pairbench-demo-1-0-1", "pod")),
    ],
)
def test_what_could_not_be_removed_is_removed_the_next_time(call: str, of: str) -> None:
    """The error is told, and nothing is forgotten."""
    life = Life()
    life.collect()
    life.engine.faults.append(Fault(call, of))
    with pytest.raises(EngineError):
        life.pod.dispose()
    assert life.left() != []
    life.pod.dispose()
    assert life.left() == []


def test_the_guest_of_a_network_goes_before_its_host() -> None:
    """An engine may refuse to take a network away that is in use."""
    life = Life(joins_sidecar=True)
    life.collect()
    life.engine.calls.clear()
    life.pod.dispose()
    assert [name.rpartition("-")[2] for call, name in life.engine.calls if call == "remove"] == [
        "trial",
        "sidecar",
        "gateway",
    ]


CALLS = 18
"""How often a whole life asks the engine for something, before its end."""


@pytest.mark.parametrize("number", range(CALLS))
@pytest.mark.parametrize("dies", [False, True])
def test_an_engine_that_fails_at_any_call(number: int, dies: bool) -> None:  # noqa: FBT001 - two kinds of failure
    """Once, or from then on: no exception, a document that says so, and nothing left when the engine is back."""
    whole = Life(joins_sidecar=True)
    whole.collect()
    assert len(whole.engine.calls) == CALLS
    life = Life(joins_sidecar=True)
    setattr(life.engine, "dies_at" if dies else "fails_at", number)
    collected = life.collect()
    facts = life.facts(collected)
    assert facts.outcome_hint is OutcomeHint.ENGINE_ERROR
    assert "the engine does not answer" in facts.detail
    life.engine.revive()
    life.pod.dispose()
    assert life.left() == []


def test_evidence_beyond_its_limit_is_no_evidence() -> None:
    """Twice the size of the volume is more than it can hold, but for holes: what comes beyond is missing, and said."""
    life = Life(trial=client(b"x" * (3 * MIB)))
    life.pod.order = replace(life.pod.order, limits=LIMITS.model_copy(update={"pod_bytes": 4 * MIB}))
    life.pod.prepare()
    life.pod.run()
    life.pod.order = replace(life.pod.order, limits=LIMITS.model_copy(update={"pod_bytes": MIB}))
    collected = life.pod.collect()
    assert "stdout.jsonl" not in collected.files
    assert collected.refused == ("/pod: more than 2097152 bytes: nothing further was read",)
    assert life.facts(collected).outcome_hint is OutcomeHint.NONE


def test_two_attempts_do_not_share_a_name() -> None:
    """Both may be there at once: the second is prepared while the first is removed."""
    life = Life()
    second = Pod(life.engine, life.engine.clock, order(planned("off"), 2))
    life.pod.prepare()
    second.prepare()
    assert (life.pod.hint, second.hint) == (OutcomeHint.NONE, OutcomeHint.NONE)
    life.pod.dispose()
    second.dispose()
    assert life.left() == []


def test_a_pod_without_an_image() -> None:
    """The engine's own words are told."""
    life = Life()
    del life.engine.images["trial"]
    facts = life.facts(life.collect())
    assert facts.outcome_hint is OutcomeHint.ENGINE_ERROR
    assert facts.detail == "fake engine: no such image: trial"
