"""A study whose arm runs in an image of its own: built by the engine from a Dockerfile, pinned, and run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.canonical import sha256_digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import docker

    from tests.docker.conftest import Program

pytestmark = [pytest.mark.docker, pytest.mark.slow]

STUDY = """
format = "pairbench/study"
version = 1
name = "own-image"
seed = "1"
repetitions = 1
control = "off"
corpora = { notes = "%s/notes/corpus.toml" }
client = { kind = "command", command = ["sh", "-c", "cat /opt/mine/answer 2>/dev/null || echo nothing"] }
model = { mode = "scripted", policy = "plain-agent" }
arms = [{ name = "off" }, { name = "on", image = "mine" }]
tasks = [{ id = "asked", corpus = "notes", prompt = "What is there?" }]

[images.mine]
dockerfile = "image/Dockerfile"
"""
DOCKERFILE = """\
ARG PAIRBENCH_TRIAL
FROM ${PAIRBENCH_TRIAL}
USER 0
COPY answer /opt/mine/answer
RUN echo built >> /opt/mine/answer
"""


@pytest.fixture
def study(pairbench: Program, corpora: str, engine: docker.DockerClient) -> Iterator[Path]:
    """The study, in a folder of its own; what was built for it is gone at the end."""
    folder = pairbench.folder / "own"
    (folder / "image").mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(STUDY % f"../{corpora}", "utf-8")
    (folder / "image/Dockerfile").write_text(DOCKERFILE, "utf-8")
    (folder / "image/answer").write_text("something\n", "utf-8")
    (folder / "image/.dockerignore").write_text("*.md\n", "utf-8")
    (folder / "image/notes.md").write_text("not for the image\n", "utf-8")
    before = {tag for image in engine.images.list("pairbench/user") for tag in image.tags}
    yield folder / "study.toml"
    for image in engine.images.list("pairbench/user"):
        for tag in set(image.tags) - before:
            engine.images.remove(tag, force=True)


def lock_of(pairbench: Program) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((pairbench.run / "lock.json").read_bytes())
    return found


def test_an_arm_runs_in_what_its_dockerfile_gives(pairbench: Program, study: Path, engine: docker.DockerClient) -> None:
    """The other arm doesn't; the lock pins what ran; the run verifies, and an archive holds the image."""
    done = pairbench("run", study, "--json")
    assert done.returncode == 0, done.stderr
    said = {arm: pairbench.evidence(f"asked.r1.{arm}", "stdout.jsonl") for arm in ("off", "on")}
    assert said == {"off": "nothing\n", "on": "something\nbuilt\n"}
    pins = {pin["name"]: pin for pin in lock_of(pairbench)["images"]}
    mine, trial = pins["mine"], pins["trial"]
    ours = engine.images.get(mine["tag"])
    assert ours.id in {mine["config_digest"], mine["manifest_digest"]}
    assert mine["tag"] == f"pairbench/user:{mine['config_digest'].removeprefix('sha256:')}"
    assert mine["diff_ids"][: len(trial["diff_ids"])] == trial["diff_ids"]
    assert mine["context_sha256"] == sha256_digest((pairbench.run / "inputs/images/mine.tar").read_bytes())
    assert pairbench.json("verify", "latest")["holds"]
    archive = pairbench.folder / "own.tar"
    kept = pairbench("archive", "latest", "--no-runner", "--out", archive)
    assert kept.returncode == 0, kept.stderr
    held = pairbench.json("verify", archive)
    assert {image["name"]: image["role"] for image in held["images"]}["mine"] == "user"


def test_a_step_that_fails_is_told_with_its_last_lines(pairbench: Program, study: Path) -> None:
    """Exit 2, one message, no run."""
    path = study.parent / "image/Dockerfile"
    path.write_text(DOCKERFILE + "RUN echo this is why && exit 3\n", "utf-8")
    done = pairbench("run", study)
    assert done.returncode == 2
    assert "images.mine: Dockerfile can't be built" in done.stderr
    assert "this is why" in done.stderr


def test_an_image_that_starts_something_else_is_refused(pairbench: Program, study: Path) -> None:
    """Before anything is spent."""
    path = study.parent / "image/Dockerfile"
    more = "VOLUME /scratch\nENV PYTHONPATH=/opt/mine\nSTOPSIGNAL SIGKILL\n"
    path.write_text(DOCKERFILE + more + 'ENTRYPOINT ["sh"]\nRUN rm /opt/pairbench/supervisor/main.py\n', "utf-8")
    done = pairbench("run", study)
    assert done.returncode == 2
    assert "arms.on.image: mine: it must be started by" in done.stderr
    assert "its VOLUME would give trials room on the host's disk: /scratch" in done.stderr
    assert "leave PYTHONPATH as the trial image has it" in done.stderr
    assert "its configuration sets StopSignal" in done.stderr
    assert "its /opt/pairbench/supervisor isn't that of this version" in done.stderr


def test_what_changes_nothing_in_a_trial_may_stand_in_a_dockerfile(pairbench: Program, study: Path) -> None:
    """As builders write it down; no pod has a hole in its isolation."""
    path = study.parent / "image/Dockerfile"
    more = 'WORKDIR /opt\nLABEL a=b\nEXPOSE 80\nSHELL ["/bin/sh", "-ec"]\nONBUILD RUN true\n'
    path.write_text(DOCKERFILE + more, "utf-8")
    done = pairbench("run", study)
    assert done.returncode == 0, done.stderr
    assert "holes in the isolation: 0" in pairbench("status", "latest").stdout
