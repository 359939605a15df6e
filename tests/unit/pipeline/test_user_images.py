"""Images that a study brings along are built or taken, held against what a trial needs, and pinned like ours."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.core.canonical import sha256_digest
from runner.core.errors import EnvironmentNotReady, StudyError
from runner.images.oci import manifest_of
from runner.images.store import Blob
from runner.pipeline.concluding import conclude, verify_run
from runner.pipeline.executing import run_study
from runner.pipeline.folder import read_run
from runner.pipeline.resuming import resume_run
from runner.ports.engine import ImageFacts
from tests.fakes.engine import FakeEngine
from tests.fakes.surroundings import COMMAND_STUDY, STUDY
from tests.unit.pipeline.test_running import interrupted

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.lock import ImagePin, Lock
    from runner.ports.engine import ImageBuild
    from tests.fakes.surroundings import Surroundings

BUILT = COMMAND_STUDY.replace("sidecar = true", 'image = "mine"') + '[images.mine]\ndockerfile = "image/Dockerfile"\n'
DOCKERFILE = "ARG PAIRBENCH_TRIAL\nFROM ${PAIRBENCH_TRIAL}\nCOPY tool /opt/tool\n"
FOREIGN = f"me/agent@sha256:{'a' * 64}"
ENTRYPOINT = ["python3", "/opt/pairbench/main.py"]


def study(outside: Surroundings, text: str = BUILT, dockerfile: str = DOCKERFILE) -> Path:
    outside.files.put(STUDY.parent / "image/Dockerfile", dockerfile)
    outside.files.put(STUDY.parent / "image/tool", "a tool")
    return outside.study(text)


def lock_of(outside: Surroundings, folder: Path) -> Lock:
    return read_run(outside.files, folder).lock


def pin_of(lock: Lock, name: str) -> ImagePin:
    return next(pin for pin in lock.images if pin.name == name)


def refused(outside: Surroundings, path: Path) -> str:
    with pytest.raises(StudyError) as caught:
        run_study(outside.world, path)
    return str(caught.value)


def foreign(outside: Surroundings, **config: object) -> None:
    started: dict[str, object] = {"Entrypoint": ENTRYPOINT, **config}
    outside.engine.add_image(
        FOREIGN, {"architecture": "amd64", "os": "linux", "config": started}, [b"one layer", b"another"]
    )


def test_a_dockerfile_is_built_on_our_image_and_its_trials_run_in_it(outside: Surroundings) -> None:
    """The tag of our trial image reaches it as an argument; only the arm that names it runs in what came out."""
    ran = run_study(outside.world, study(outside))
    assert ran.complete
    (build,) = outside.engine.builds
    trial = pin_of(lock_of(outside, ran.folder), "trial")
    assert (build.dockerfile, build.arguments) == ("Dockerfile", {"PAIRBENCH_TRIAL": trial.tag})
    pin = pin_of(lock_of(outside, ran.folder), "mine")
    used = {spec.image for name, spec in outside.engine.specs.items() if name.endswith("-trial")}
    assert used == {trial.tag, pin.tag}
    conclude(outside.files, ran.folder)
    assert verify_run(outside.files, ran.folder, outside.world.harness).differences == ()


def test_it_is_pinned_by_all_its_digests_and_by_what_it_was_built_from(outside: Surroundings) -> None:
    """Configuration, manifest of its plain layers, layers, context; its tag is its id."""
    ran = run_study(outside.world, study(outside))
    lock = lock_of(outside, ran.folder)
    pin = pin_of(lock, "mine")
    context = outside.files.read(ran.folder / "inputs/images/mine.tar")
    assert context == outside.engine.builds[0].context
    config, *layers = outside.engine.contents[pin.config_digest]
    blobs = [Blob(sha256_digest(layer), len(layer)) for layer in layers]
    assert pin.tag == f"pairbench/user:{pin.config_digest.removeprefix('sha256:')}"
    assert pin.manifest_digest == sha256_digest(manifest_of(config, blobs))
    assert pin.diff_ids == (*pin_of(lock, "trial").diff_ids, sha256_digest(context))
    assert pin.context_sha256 == sha256_digest(context)
    assert (pin.is_users, pin_of(lock, "trial").is_users) == (True, False)
    resolved = json.loads(outside.files.read(ran.folder / "inputs/study.json") or b"")
    assert resolved["images"] == {
        "mine": {
            "bases": ["trial"],
            "context_sha256": pin.context_sha256,
            "dockerfile": "Dockerfile",
            "files": 2,
        }
    }


def test_an_image_by_digest_is_pinned_too(outside: Surroundings) -> None:
    """Under the arm's own name for it, and the engine has it by a tag that outlives its registry."""
    foreign(outside)
    ran = run_study(outside.world, study(outside, COMMAND_STUDY.replace("sidecar = true", f'image = "{FOREIGN}"')))
    assert ran.complete
    pin = pin_of(lock_of(outside, ran.folder), FOREIGN)
    facts = outside.engine.image(pin.tag)
    assert facts is not None
    assert (pin.config_digest, pin.diff_ids) == (facts.identity, facts.diff_ids)
    assert pin.context_sha256 == ""
    assert outside.engine.builds == []
    assert {spec.image for name, spec in outside.engine.specs.items() if name.endswith("-trial")} >= {pin.tag}


def test_what_was_taken_once_is_not_saved_again(outside: Surroundings) -> None:
    """A second run of the same image asks the engine for its facts only."""
    path = study(outside)
    run_study(outside.world, path)
    saved = [call for call, _ in outside.engine.calls].count("save_image")
    run_study(outside.world, path)
    assert [call for call, _ in outside.engine.calls].count("save_image") == saved


class ByManifest(FakeEngine):
    """An engine that calls what it built by a manifest of its own."""

    def build_image(self, build: ImageBuild) -> str:
        identity = super().build_image(build)
        named = "sha256:" + "e" * 64
        self.contents[named] = self.contents[identity]
        facts = replace(self.images.pop(identity), identity=named)
        self.images |= dict.fromkeys((named, build.tag), facts)
        return named


def test_an_engine_that_names_images_by_their_manifest_gets_ours(outside: Surroundings) -> None:
    """So that the pinned digests find the image there, in a resumption too."""
    outside.engine.__class__ = ByManifest
    ran = run_study(outside.world, study(outside))
    assert ran.complete
    pin = pin_of(lock_of(outside, ran.folder), "mine")
    facts = outside.engine.image(pin.tag)
    assert facts is not None
    assert facts.identity in {pin.config_digest, pin.manifest_digest}


def test_a_build_that_fails_is_one_error_with_the_builder_s_words(outside: Surroundings) -> None:
    """And nothing was run."""
    assert refused(outside, study(outside, dockerfile="FROM scratch\nRUN FAIL\n")) == (
        f"{STUDY}: images.mine: Dockerfile can't be built: a step failed; it printed last: it said why"
    )
    assert not any(name.endswith("-trial") for name in outside.engine.specs)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"Entrypoint": ["bash"]}, "it must be started by ['python3', '/opt/pairbench/main.py'] alone"),
        ({"Entrypoint": None}, "it must be started by ['python3', '/opt/pairbench/main.py'] alone"),
        ({"Cmd": ["more"]}, "leave ENTRYPOINT and CMD as the trial image has them"),
        ({"Healthcheck": {"Test": ["CMD", "true"]}}, "its HEALTHCHECK would run beside the client"),
        (
            {"Volumes": {"/scratch": {}, "/data": {}}},
            "its VOLUME would give trials room on the host's disk: /data, /scratch",
        ),
        (
            {"Env": ["PYTHONPATH=/opt/mine", "LD_PRELOAD=/opt/mine.so"]},
            "its ENV would reach the supervisor, which is root: leave LD_PRELOAD, PYTHONPATH as the trial image has it",
        ),
        ({"StopSignal": "SIGKILL"}, "its configuration sets StopSignal, which a trial's image must leave alone"),
        ({"volumes": {"/scratch": {}}}, "its configuration sets volumes, which a trial's image must leave alone"),
    ],
)
def test_an_image_that_a_trial_cannot_run_in_is_refused(
    outside: Surroundings, config: dict[str, object], message: str
) -> None:
    """Before anything is spent, with the arm that names it."""
    foreign(outside, **config)
    path = study(outside, COMMAND_STUDY.replace("sidecar = true", f'image = "{FOREIGN}"'))
    said = refused(outside, path)
    assert said.startswith(f"{STUDY}: arms.joined.image: {FOREIGN}: ")
    assert message in said
    assert said.endswith("(see docs/howto/own-image.md)")


def test_a_switched_off_health_check_is_none(outside: Surroundings) -> None:
    """As an image says it that takes away its base's."""
    foreign(outside, Healthcheck={"Test": ["NONE"]}, Cmd=[])
    assert run_study(
        outside.world, study(outside, COMMAND_STUDY.replace("sidecar = true", f'image = "{FOREIGN}"'))
    ).complete


def test_another_supervisor_is_refused(outside: Surroundings) -> None:
    """Two arms under two supervisors would differ in more than the study declares."""
    dockerfile = DOCKERFILE.replace("COPY tool /opt/tool", "COPY . /")
    outside.files.put(STUDY.parent / "image/opt/pairbench/supervisor/main.py", "another")
    assert "its /opt/pairbench/supervisor isn't that of this version: build it on the trial image" in refused(
        outside, study(outside, dockerfile=dockerfile)
    )


def test_an_image_for_another_machine_is_refused(outside: Surroundings) -> None:
    """By the engine's own word."""
    foreign(outside)
    facts = outside.engine.images[FOREIGN]
    outside.engine.images |= dict.fromkeys((FOREIGN, facts.identity), replace(facts, architecture="arm64"))
    path = study(outside, COMMAND_STUDY.replace("sidecar = true", f'image = "{FOREIGN}"'))
    assert "it is for arm64, and the pod's other images are for amd64" in refused(outside, path)


@pytest.mark.parametrize(
    ("text", "dockerfile", "message"),
    [
        (BUILT.replace('"mine"', '"other"'), DOCKERFILE, "images.mine: no arm's image"),
        (BUILT.replace("mine", "trial"), DOCKERFILE, "images.trial: the name of an image of ours"),
        (BUILT, "ARG PAIRBENCH_TRAIL\nFROM x\n", "images.mine.dockerfile: there is no image 'trail' to build on"),
        (BUILT.replace("image/Dockerfile", "image/None"), DOCKERFILE, "there is no file /studies/demo/image/None"),
        (BUILT.replace("dockerfile", "file"), DOCKERFILE, "images.mine.file"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_told_at_once(
    outside: Surroundings, text: str, dockerfile: str, message: str
) -> None:
    """No engine is needed to see it."""
    outside.no_engine.append("none here")
    assert message in refused(outside, study(outside, text, dockerfile))


def test_an_image_that_is_lost_is_not_built_anew(outside: Surroundings) -> None:
    """A resumption goes on in the image that the run began in, or not at all."""
    study(outside)
    ran = interrupted(outside, presses=1, text=BUILT)
    pin = pin_of(lock_of(outside, ran.folder), "mine")
    outside.engine.images = {
        name: facts for name, facts in outside.engine.images.items() if facts.identity != pin.config_digest
    }
    with pytest.raises(EnvironmentNotReady, match=f"hasn't got the image mine, {pin.config_digest}"):
        resume_run(outside.world, ran.folder)
    assert len(outside.engine.builds) == 1


def test_a_resumption_holds_it_against_what_a_trial_needs_too(outside: Surroundings) -> None:
    """Whoever began the run, and wherever: nothing of it was changed, and nothing started."""
    study(outside)
    ran = interrupted(outside, presses=1, text=BUILT)
    pin = pin_of(lock_of(outside, ran.folder), "mine")
    for name, facts in [*outside.engine.images.items()]:
        if facts.identity == pin.config_digest:
            outside.engine.images[name] = replace(facts, started={**facts.started, "Volumes": {"/scratch": {}}})
    files, calls = dict(outside.files.held), len(outside.engine.calls)
    with pytest.raises(StudyError, match="mine: its VOLUME would give trials room on the host's disk: /scratch"):
        resume_run(outside.world, ran.folder)
    assert outside.files.held == files
    assert not {call for call, _ in outside.engine.calls[calls:]} & {"start", "start_until_ready"}


def test_facts_without_contents_are_no_image(outside: Surroundings) -> None:
    """An engine that lost an image between two questions is told, not believed."""
    foreign(outside)
    facts = outside.engine.images[FOREIGN]
    del outside.engine.images[facts.identity]
    path = study(outside, COMMAND_STUDY.replace("sidecar = true", f'image = "{FOREIGN}"'))
    assert isinstance(facts, ImageFacts)
    with pytest.raises(EnvironmentNotReady, match="the engine hasn't got it any more"):
        run_study(outside.world, path)
