"""Planning and locking: everything that is wrong is told at once, and nothing was started when something is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.core.errors import EnvironmentNotReady, ExitCode, StudyError
from runner.pipeline.executing import run_study
from runner.pipeline.locking import lock_study, plan_study
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY, CORPUS, LABELS, RUNS, STUDY

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings


def refused(outside: Surroundings) -> list[str]:
    """Why the study isn't run; nothing was made in the engine, and no run's folder."""
    with pytest.raises((StudyError, EnvironmentNotReady)) as caught:
        run_study(outside.world, STUDY)
    assert {call for call, _ in outside.engine.calls} <= {"info", "image"}
    assert [path for path in outside.files.held if path.is_relative_to(RUNS)] == []
    expected = ExitCode.USAGE if isinstance(caught.value, StudyError) else ExitCode.NOT_READY
    assert caught.value.exit_code is expected
    return [f"{caught.value.exit_code}: {problem}" for problem in caught.value.problems]


def test_a_plan_costs_nothing(outside: Surroundings) -> None:
    """No engine is asked, nothing is built, nothing is written."""
    path = outside.study()
    before = dict(outside.files.held)
    planned = plan_study(outside.world, path)
    assert [trial.trial for trial in planned.plan.trials] == [
        "first.r1.joined",
        "first.r1.off",
        "second.r1.off",
        "second.r1.joined",
    ]
    assert sorted(planned.corpora["notes"].files) == ["notes/deep/other.md", "notes/plan.md"]
    assert outside.engine.calls == []
    assert outside.files.held == before


def test_a_corpus_that_differs_is_told_beside_other_faults(outside: Surroundings) -> None:
    """Its files are laid out whatever else is wrong with the study."""
    outside.study(COMMAND_STUDY + 'colour = "red"\n')
    outside.files.put(Path("/studies/notes/files/plan.md"), "We stay.\n")
    found = refused(outside)
    assert found[0] == f"2: {STUDY}: colour: unknown key"
    assert [line.partition(": it is ")[0] for line in found[1:]] == [
        "2: /studies/demo/../notes/corpus.toml: tree_sha256",
        "2: /studies/demo/../notes/corpus.toml: passages_sha256",
        "2: /studies/demo/../notes/corpus.toml: bytes",
    ]
    assert found[3].endswith("it is 23, and was frozen as 58 (run `pairbench corpora lock` if the change is meant)")


def test_arms_that_do_not_differ(outside: Surroundings) -> None:
    """Two arms of the same treatment measure nothing but noise."""
    outside.study(COMMAND_STUDY.replace('{ name = "joined", sidecar = true }', '{ name = "joined" }'))
    assert refused(outside) == [f"2: {STUDY}: arms.joined: does not differ from off (declare a treatment)"]


def test_an_arm_of_an_unknown_image(outside: Surroundings) -> None:
    """Known before anything is built: ours by name, others by digest."""
    outside.study(COMMAND_STUDY.replace("sidecar = true", 'image = "trail"'))
    assert refused(outside) == [
        (
            f"2: {STUDY}: arms.joined.image: there is no image 'trail' "
            "(ours are gateway, qdrant, retrieval, trial; others are named <repository>@sha256:<digest>)"
        )
    ]


def test_an_arm_of_an_image_that_the_engine_has_not_got(outside: Surroundings) -> None:
    """Nothing is pulled in silence, and no trial finds out by failing."""
    image = f"me/agent@sha256:{'a' * 64}"
    outside.study(COMMAND_STUDY.replace("sidecar = true", f'image = "{image}"'))
    assert refused(outside) == [f"3: {STUDY}: arms.joined.image: the engine hasn't got {image} (docker pull {image})"]
    started = {"Entrypoint": ["python3", "/opt/pairbench/main.py"]}
    outside.engine.add_image(image, {"architecture": "amd64", "os": "linux", "config": started}, [b"a layer"])
    assert run_study(outside.world, STUDY).complete


def test_a_client_that_cannot_be_launched(outside: Surroundings) -> None:
    """What the client's adapter refuses is told with the study and the arm."""
    outside.study(COMMAND_STUDY.replace('["/bin/answer"]', '["/bin/answer\\u0000"]'))
    assert refused(outside) == [
        f"2: {STUDY}: arms.{arm}: argv: an argument or variable holds a NUL character" for arm in ("off", "joined")
    ]


def test_labels_that_do_not_fit_their_corpus(outside: Surroundings) -> None:
    """The path of the labels file, and which source of which label."""
    outside.study(CLAUDE_STUDY)
    outside.files.put(
        STUDY.parent / "labels.toml", LABELS.replace('Lisbon"', 'Porto."').replace("start = 0", "start = 3")
    )
    assert refused(outside) == [
        (
            "2: /studies/demo/labels.toml: labels[0].sources[0]: the anchor 'We move to Porto.' doesn't stand there "
            "(it isn't in the file at all)"
        )
    ]


def test_a_wheel_that_cannot_be_fetched(outside: Surroundings) -> None:
    """This machine lacks something; a study that is wrong too is told first, with the rest."""
    wheel = (
        f'{{ kind = "wheel", name = "odd", version = "1.0", filename = "odd-1.0.whl", sha256 = "sha256:{"0" * 64}" }}'
    )
    outside.study()
    corpus = CORPUS.replace("parts = [", f"parts = [{wheel}, ")
    outside.files.put(Path("/studies/notes/corpus.toml"), corpus)
    assert [line[:70] for line in refused(outside)] == [
        "2: /studies/demo/../notes/corpus.toml: it changed after it was frozen ",
        f"2: no wheel odd with sha256:{'0' * 64}"[:70],
    ]


def test_no_engine_and_no_room_are_told_together(outside: Surroundings) -> None:
    """One trip to the machine's owner is enough."""
    outside.study()
    outside.no_engine.append("no container engine answers")
    outside.files.free = 1000
    assert refused(outside) == [
        "3: /here/runs: 1000 bytes are free, and about 541065216 are needed for 4 trials (make room, or run elsewhere)",
        "3: container engine: no container engine answers (run `make engine`)",
    ]


def test_a_machine_that_is_too_small(outside: Surroundings) -> None:
    """Processors, memory and disk, each with the key that asks for them."""
    outside.study(COMMAND_STUDY + "limits = { cpus = 4 }\nschedule = { slots = 2 }\n")
    outside.engine.memory_bytes = 1 << 30
    outside.files.free = 1000
    assert [line.partition(", and")[0].partition(" (")[0] for line in refused(outside)] == [
        "3: /here/runs: 1000 bytes are free",
        f"3: {STUDY}: limits.cpus: the engine has 2 CPUs, not 4",
        f"3: {STUDY}: limits.memory_bytes: 2 pods may take 7516192768 bytes",
    ]


def test_a_disk_that_cannot_be_asked(outside: Surroundings) -> None:
    """It is one problem among the others."""
    outside.study()
    outside.no_engine.append("no container engine answers")
    outside.files.refuse = lambda call, _path: "Input/output error" if call == "free_bytes" else ""
    assert [line.rpartition(": ")[2] for line in refused(outside)] == [
        "Input/output error",
        "no container engine answers (run `make engine`)",
    ]


def test_an_engine_that_stops_answering(outside: Surroundings) -> None:
    """Between two questions."""
    outside.study()
    outside.engine.fails_at = 0
    assert refused(outside) == ["3: fake engine: info: the engine does not answer"]


def test_slots_are_chosen_from_the_machine(outside: Surroundings) -> None:
    """Two processors have room for one pod of two; the lock says the number."""
    path = outside.study(COMMAND_STUDY + 'schedule = { slots = "auto" }\n')
    locked = lock_study(outside.world, plan_study(outside.world, path), "demo-1", outside.world.owner.labels("demo-1"))
    assert locked.planned.study.schedule.slots == 1


def test_a_lock_pins_everything(outside: Surroundings) -> None:
    """Study, labels, plan, prompts, arms, images, corpora, indexes, engine and code, by digest."""
    path = outside.study(CLAUDE_STUDY)
    planned = plan_study(outside.world, path)
    lock = lock_study(outside.world, planned, "demo-1", outside.world.owner.labels("demo-1")).lock
    assert lock.run == "demo-1"
    assert (lock.evidence, lock.model_shown, lock.client_version) == ("fixture", "scripted-policy (fixture)", "2.1.332")
    assert lock.study_sha256 == planned.study.digest()
    assert lock.plan_sha256 == planned.plan.digest()
    assert lock.labels_sha256.startswith("sha256:")
    assert sorted(lock.prompts) == ["first", "second"]
    assert [image.name for image in lock.images] == ["gateway", "qdrant", "trial"]
    assert lock.corpora["notes"].files == 2
    assert lock.corpora["notes"].index.points == 2
    assert lock.harness == outside.world.harness
    assert (lock.engine.name, lock.engine.cpus) == ("Fake Engine", 2)
    control, treatment = lock.arms
    assert control.difference == ()
    assert treatment.difference[0] == '+ argv: "--allowedTools=mcp__memory__memory_search"'
    assert treatment.difference[-1] == "+ pod: within reach of the sidecar"
    assert outside.engine.owned() == ()


def test_nothing_of_a_lock_that_failed_is_left(outside: Surroundings) -> None:
    """A client that doesn't say its version: the container that was asked is gone."""
    path = outside.study(CLAUDE_STUDY)
    outside.pods.roles["version"] = lambda _box: 1
    with pytest.raises(EnvironmentNotReady, match="/opt/claude/claude --version ended with 1"):
        run_study(outside.world, path)
    assert outside.engine.owned() == ()
