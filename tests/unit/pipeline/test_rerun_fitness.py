"""What can't be honoured on this machine is said at once, before anything starts; what only differs is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.errors import EnvironmentNotReady, Problem, StudyError
from runner.core.secret import Secret
from runner.pipeline.fitness import Asked, Shelf, fit_of, own_code
from runner.pipeline.image_fitness import unfit_problems
from runner.pipeline.originals import Original, read_original
from runner.pipeline.rerunning import rerun
from tests.fakes.recorded import keyed_gateway, recorded
from tests.fakes.surroundings import COMMAND_STUDY, RUNS
from tests.unit.pipeline.test_rerunning import LIVE, RECORDED, again, lock, original
from tests.unit.pipeline.test_running import ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.fakes.surroundings import Surroundings

FOREIGN = "registry.example/agent@sha256:" + "a" * 64


def elsewhere(outside: Surroundings, **changes: Any) -> None:
    """From now on the engine says other things of itself."""
    info = replace(outside.engine.info(), **changes)
    outside.engine.info = lambda: info  # type: ignore[method-assign]  # another machine


def other_code(outside: Surroundings) -> None:
    """From now on the code at hand is another one."""
    code = outside.world.harness.model_copy(update={"version": "0.2.0", "source_sha256": "sha256:" + "c" * 64})
    kept = replace(outside.world.code(), pin=code)
    outside.world = replace(outside.world, harness=code, code=lambda: kept)


def refused(outside: Surroundings, before: Original, shelf: Shelf | None = None, **asked: Any) -> tuple[Problem, ...]:
    """What stands against a rerun, which changed nothing."""
    files, calls, said = dict(outside.files.held), len(outside.engine.calls), len(outside.watcher.steps)
    with pytest.raises(EnvironmentNotReady) as caught:
        rerun(outside.world, before, Asked(**asked), shelf)
    assert outside.files.held == files
    assert outside.watcher.steps[said:] == []
    assert {call for call, _ in outside.engine.calls[calls:]} <= {"info", "image"}
    return caught.value.problems


def changed_lock(before: Original, **changes: Any) -> Original:
    """The original, as if its lock said something else."""
    return replace(before, run=replace(before.run, lock=before.run.lock.model_copy(update=changes)))


def test_all_that_stands_against_it_is_said_at_once(outside: Surroundings) -> None:
    """Disk, another architecture, limits, memory, CPUs, code and images; nothing was touched."""
    before = original(outside)
    outside.engine.images.clear()
    outside.files.free = 1 << 20
    other_code(outside)
    elsewhere(outside, architecture="aarch64", cpus=1, memory_bytes=1 << 30, limits={"memory": True, "pids": False})
    found = refused(outside, before)
    assert [(problem.document, problem.key) for problem in found] == [
        (str(RUNS), ""),
        ("inputs/study.json", "limits.cpus"),
        ("container engine", ""),
        ("lock.json", "harness.version"),
        ("lock.json", "harness.source_sha256"),
        ("lock.json", "engine.architecture"),
        ("inputs/study.json", "schedule.slots"),
        ("lock.json", "images.gateway"),
        ("lock.json", "images.qdrant"),
        ("lock.json", "images.trial"),
    ]
    assert found[2].message == "it can't limit pids"
    assert found[5].message == "the engine runs on aarch64, and the run's images are for x86_64"


def test_what_is_wrong_with_the_wish_is_said_with_the_rest(outside: Surroundings) -> None:
    """A measurement that nobody recorded, on an engine without its images: wrong usage, and both are told."""
    outside.world = replace(outside.world, provider_key=lambda: Secret("sk-a-key"))
    outside.pods.roles["gateway"] = keyed_gateway
    before = original(outside, LIVE)
    outside.engine.images.clear()
    with pytest.raises(StudyError) as caught:
        rerun(outside.world, before, Asked())
    assert [problem.key for problem in caught.value.problems] == [
        *("model.mode", "images.gateway", "images.qdrant", "images.trial")
    ]


def test_without_an_engine_all_else_is_said_too(outside: Surroundings) -> None:
    """Which images it would have can't be known."""
    before = original(outside)
    other_code(outside)
    outside.no_engine.append("no container engine answers")
    found = refused(outside, before)
    assert [problem.document for problem in found] == ["container engine", "lock.json", "lock.json"]


def test_images_that_are_gone_are_named_with_what_to_do(outside: Surroundings) -> None:
    """Nothing is built for a rerun, although it could be."""
    before = original(outside)
    pin = next(pin for pin in before.run.lock.images if pin.name == "trial")
    for reference in [name for name, facts in outside.engine.images.items() if facts.identity == pin.config_digest]:
        del outside.engine.images[reference]
    (found,) = refused(outside, before)
    assert found.message == f"the engine hasn't got the image trial, {pin.config_digest}, and nothing is built here"
    assert "pairbench images load FILE" in found.hint
    assert "pairbench images build trial" in found.hint


def test_an_image_with_other_layers_is_no_such_image(outside: Surroundings) -> None:
    """Its id alone says nothing."""
    before = original(outside)
    pin = before.run.lock.images[0]
    facts = outside.engine.images[pin.tag]
    for reference in (pin.tag, pin.config_digest, pin.manifest_digest):
        outside.engine.images[reference] = replace(facts, diff_ids=("sha256:" + "0" * 64,))
    assert [problem.key for problem in refused(outside, before)] == [f"images.{pin.name}"]


def test_a_shelf_brings_what_it_holds(outside: Surroundings) -> None:
    """An image of another digest under the same name isn't the image."""
    before = original(outside)
    outside.engine.images.clear()
    gateway, qdrant, trial = before.run.lock.images
    other = qdrant.model_copy(update={"config_digest": "sha256:" + "0" * 64})
    found = refused(outside, before, Shelf((gateway, other, trial)))
    assert [problem.key for problem in found] == ["images.qdrant"]


def test_too_little_memory_says_how_many_pods_fit(outside: Surroundings) -> None:
    """And as many are run when they are asked for; the ledger tells it."""
    text = COMMAND_STUDY.replace("arms = [{ name", "schedule = { slots = 3 }\narms = [{ name", 1)
    outside.engine.memory_bytes = 16 << 30
    before = original(outside, text)
    outside.engine.memory_bytes = 8 << 30
    (found,) = refused(outside, before)
    assert found.message == "3 pods at once may take 11274289152 bytes, and the engine has 8589934592"
    assert found.hint == "rerun it with --slots 2"
    made = again(outside, before, slots=2)
    assert ledger(outside, made.ran.folder)[0].detail["study.schedule.slots"] == "3 -> 2"
    assert lock(outside, made.ran.folder).study_sha256 != before.run.lock.study_sha256


def test_too_little_memory_for_one_pod_is_no_matter_of_slots(outside: Surroundings) -> None:
    """Fewer slots wouldn't help."""
    before = original(outside)
    outside.engine.memory_bytes = 1 << 30
    (found,) = refused(outside, before)
    assert found.hint == "rerun it on an engine with more memory"


def test_another_engine_is_told_and_goes_on(outside: Surroundings) -> None:
    """On the terminal before the first trial, and in the ledger; the new lock names the new engine."""
    before = original(outside)
    elsewhere(outside, version="2.0", kernel="6.9.0", storage_driver="vfs", cgroup_version="1", memory_bytes=8 << 30)
    said = len(outside.watcher.steps)
    made = again(outside, before)
    expected: Mapping[str, str] = {
        "engine.version": "1.0 -> 2.0",
        "engine.kernel": "6.1.0 -> 6.9.0",
        "engine.storage_driver": "overlay2 -> vfs",
        "engine.cgroup_version": "2 -> 1",
        "engine.memory_bytes": "4294967296 -> 8589934592",
    }
    detail = ledger(outside, made.ran.folder)[0].detail
    assert {key: value for key, value in detail.items() if key.startswith("engine.")} == expected
    assert sorted(outside.watcher.steps[said + 1 : said + 6]) == sorted(
        f"{key} was {value.replace(' -> ', ', and is ')}" for key, value in expected.items()
    )
    assert lock(outside, made.ran.folder).engine.storage_driver == "vfs"


def test_an_architecture_has_two_names(outside: Surroundings) -> None:
    """What the one engine calls x86_64, another one calls amd64: it is told, and no hindrance."""
    before = original(outside)
    elsewhere(outside, architecture="amd64")
    fit = fit_of(outside.world, before, Asked(), Shelf())
    assert fit.notices == ("engine.architecture was x86_64, and is amd64",)


def test_fewer_cpus_than_the_slots_use_are_told(outside: Surroundings) -> None:
    """Trials will share them, which times show; nothing else depends on it."""
    text = COMMAND_STUDY.replace("arms = [{ name", "schedule = { slots = 2 }\narms = [{ name", 1)
    outside.engine.memory_bytes = 16 << 30
    outside.engine.cpus = 4
    before = original(outside, text)
    outside.engine.cpus = 3
    fit = fit_of(outside.world, before, Asked(), Shelf())
    assert fit.notices == (
        "engine.cpus was 4, and is 3",
        "2 trials at once may use 4 CPUs, and the engine has 3: they will wait more",
    )


def test_other_code_goes_on_only_when_it_is_meant(outside: Surroundings) -> None:
    """How the run's own code is started stands with it; the new lock names the code that ran."""
    before = original(outside)
    other_code(outside)
    version, source = refused(outside, before, Shelf(own_code="docker run old"))
    assert (version.key, version.message) == ("harness.version", "it was 0.1.0, and is 0.2.0")
    assert version.hint == (
        "rerun it with its own code: docker run old; or with this code, whose figures may be others: --this-code"
    )
    assert (source.key, source.hint) == ("harness.source_sha256", "")
    made = rerun(outside.world, before, Asked(this_code=True))
    assert lock(outside, made.ran.folder).harness == outside.world.harness
    assert "harness.source_sha256" in ledger(outside, made.ran.folder)[0].detail


def test_a_run_says_how_the_code_that_it_keeps_is_installed(outside: Surroundings) -> None:
    """With what else it needs, in the versions that it had."""
    before = original(outside)
    place = RUNS / before.run.folder.name
    assert own_code(before.run) == (
        f"python3 -m venv CODE && CODE/bin/pip install -r {place}/inputs/harness/requirements.txt && "
        f"CODE/bin/pip install --no-deps {place}/inputs/harness/pairbench-0.1.0-py3-none-any.whl && "
        f"CODE/bin/pairbench rerun {place}"
    )
    other_code(outside)
    assert own_code(before.run) in refused(outside, before)[0].hint


def test_arms_that_this_code_launches_otherwise_are_named(outside: Surroundings) -> None:
    """Whatever says that the code is the same: what differs is the treatment itself."""
    before = original(outside)
    off, joined = before.run.lock.arms
    changed = changed_lock(
        before,
        arms=(
            off.model_copy(update={"launch_sha256": "sha256:" + "0" * 64}),
            joined.model_copy(update={"difference": ("+ argv: --fast",)}),
        ),
    )
    launch, difference = refused(outside, changed)
    assert (launch.key, difference.key) == ("arms.off.launch_sha256", "arms.joined.difference")
    assert launch.message == f"it was sha256:{'0' * 64}, and is {off.launch_sha256}"
    assert difference.message.startswith("it was + argv: --fast, and is ")
    assert rerun(outside.world, changed, Asked(this_code=True)).ran.complete


def test_another_python_is_told_only(outside: Surroundings) -> None:
    """The same sources are the same code."""
    before = original(outside)
    outside.world = replace(outside.world, harness=outside.world.harness.model_copy(update={"python": "3.13.1"}))
    assert fit_of(outside.world, before, Asked(), Shelf()).notices == ("harness.python was 3.11.7, and is 3.13.1",)


def test_trials_that_were_not_recorded_whole_are_told(outside: Surroundings) -> None:
    """They may end otherwise."""
    outside.pods.roles["trial"] = recorded()
    outside.pods.attempts["second.r1.off", 1] = {"trial": recorded(recording_lost=True)}
    before = original(outside, RECORDED)
    fit = fit_of(outside.world, before, Asked(), Shelf())
    assert fit.notices == ("not every exchange of 1 trial was recorded; what they come to may differ: second.r1.off",)


def test_an_arms_own_image_is_brought_or_named(outside: Surroundings) -> None:
    """By the digest that the study names; an engine that was given it without that name finds it by its id."""
    text = COMMAND_STUDY.replace('{ name = "joined", sidecar = true }', f'{{ name = "joined", image = "{FOREIGN}" }}')
    started = {"Entrypoint": ["python3", "/opt/pairbench/main.py"]}
    config = {"architecture": "amd64", "os": "linux", "config": started}
    facts = outside.engine.images[outside.engine.add_image(FOREIGN, config, [b"a layer"])]
    before = original(outside, text)
    outside.engine.images = {name: known for name, known in outside.engine.images.items() if known != facts}
    (found,) = refused(outside, before)
    assert (found.key, found.document) == (f"images.{FOREIGN}", "lock.json")
    pin = next(pin for pin in before.run.lock.images if pin.name == FOREIGN)
    known = set(outside.engine.specs)

    def chunks(_pins: object) -> tuple[bytes, ...]:
        outside.engine.images[facts.identity] = facts
        return ()

    outside.engine.load_images = list  # type: ignore[method-assign,assignment]  # no tar
    made = rerun(outside.world, before, Asked(), Shelf((pin,), chunks))
    assert made.ran.complete
    used = {spec.image for name, spec in outside.engine.specs.items() if name not in known and name.endswith("-trial")}
    assert facts.identity in used


@pytest.mark.parametrize("on_shelf", [False, True])
def test_an_arms_own_image_is_fit_in_a_rerun_too(outside: Surroundings, *, on_shelf: bool) -> None:
    """As in the first run, whoever says that it ran there: held by the engine, or brought with an archive."""
    text = COMMAND_STUDY.replace('{ name = "joined", sidecar = true }', f'{{ name = "joined", image = "{FOREIGN}" }}')
    started: dict[str, Any] = {"Entrypoint": ["python3", "/opt/pairbench/main.py"]}
    config = {"architecture": "amd64", "os": "linux", "config": started}
    facts = outside.engine.images[outside.engine.add_image(FOREIGN, config, [b"a layer"])]
    before = original(outside, text)
    unfit = replace(facts, started={**started, "Volumes": {"/scratch": {}}, "Env": ["PYTHONPATH=/opt/mine"]})
    outside.engine.images |= {name: unfit for name, known in outside.engine.images.items() if known == facts}
    held = dict(outside.engine.images)
    shelf = Shelf()
    if on_shelf:

        def chunks(_pins: object) -> tuple[bytes, ...]:
            outside.engine.images |= held
            return ()

        outside.engine.load_images = list  # type: ignore[method-assign,assignment]  # no tar
        outside.engine.images = {name: known for name, known in held.items() if known != facts}
        shelf = Shelf(before.run.lock.images, chunks)
    files, calls = dict(outside.files.held), len(outside.engine.calls)
    with pytest.raises(StudyError) as caught:
        rerun(outside.world, before, Asked(), shelf)
    assert [(problem.document, problem.key, problem.message) for problem in caught.value.problems] == [
        (
            "inputs/study.json",
            "arms.joined.image",
            f"{FOREIGN}: its VOLUME would give trials room on the host's disk: /scratch",
        ),
        (
            "inputs/study.json",
            "arms.joined.image",
            f"{FOREIGN}: its ENV would reach the supervisor, which is root: leave PYTHONPATH as the trial image has it",
        ),
    ]
    assert outside.files.held == files
    assert not {call for call, _ in outside.engine.calls[calls:]} & {"start", "start_until_ready"}


def test_an_arms_own_image_needs_a_trial_image_to_be_held_against(outside: Surroundings) -> None:
    """A lock that names none would leave it unlooked at."""
    text = COMMAND_STUDY.replace('{ name = "joined", sidecar = true }', f'{{ name = "joined", image = "{FOREIGN}" }}')
    started = {"Entrypoint": ["python3", "/opt/pairbench/main.py"]}
    outside.engine.add_image(FOREIGN, {"architecture": "amd64", "os": "linux", "config": started}, [b"a layer"])
    run = original(outside, text).run
    (found,) = unfit_problems(outside.engine, run, {FOREIGN: FOREIGN}, {})
    assert (found.document, found.key) == ("lock.json", "images")
    assert found.message == "the lock names no trial image to hold images of arms against"


@pytest.mark.parametrize("name", ["gateway", "qdrant", "trial"])
def test_an_image_that_only_says_to_be_ours_gets_no_more_room(outside: Surroundings, name: str) -> None:
    """A lock may pin anybody's image under a name of ours: no container of it gets a volume on the host's disk."""
    before = original(outside)
    pin = next(pin for pin in before.run.lock.images if pin.name == name)
    for reference, facts in [*outside.engine.images.items()]:
        if facts.identity == pin.config_digest:
            started = {**facts.started, "Volumes": {"/scratch": {}}}
            outside.engine.images[reference] = replace(facts, identity=pin.manifest_digest, started=started)
    calls = len(outside.engine.calls)
    with pytest.raises(StudyError) as caught:
        rerun(outside.world, before, Asked())
    assert [(problem.document, problem.key, problem.message) for problem in caught.value.problems] == [
        ("lock.json", f"images.{name}", "its VOLUME would give trials room on the host's disk: /scratch")
    ]
    assert {call for call, _ in outside.engine.calls[calls:]} <= {"info", "image"}


def test_a_rerun_is_an_original_too(outside: Surroundings) -> None:
    """A rerun of a rerun names the rerun."""
    before = original(outside)
    once = read_original(outside.files, again(outside, before).ran.folder)
    twice = again(outside, once)
    assert twice.pin.run == once.run.folder.name
    assert outside.files.held[twice.ran.folder / layout.PLAN] == outside.files.held[before.run.folder / layout.PLAN]
