"""The other machine: an engine without an image, no cache, no network, and one file. A run is made there once more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import docker
import pytest

from runner.adapters.engine_address import find_engine_address
from tests.docker.conftest import ROOT
from tests.docker.test_reruns import finished, write_recorded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.docker.conftest import Program

pytestmark = [pytest.mark.docker, pytest.mark.daemon, pytest.mark.slow]

PRIVATE = {"PAIRBENCH_ENGINE": "private"}
ANSWER_S = 600


@dataclass(frozen=True)
class Machine:
    """Another machine: its engine, and a folder that holds an archive and nothing else."""

    engine: docker.DockerClient
    address: str
    folder: Path
    archive: Path

    def images(self) -> list[str]:
        """The names of the images that its engine holds, without the digests that they end with."""
        return sorted(tag.partition(":")[0] for image in self.engine.images.list(all=True) for tag in image.tags)

    def runner(self, image: str, *arguments: str) -> tuple[int, str]:
        """Exit code and output of the archived program, without a network, as the archive's README starts it."""
        container = self.engine.containers.create(
            image,
            list(arguments),
            network_mode="none",
            volumes={
                self.address.removeprefix("unix://"): {"bind": "/var/run/docker.sock", "mode": "rw"},
                str(self.archive): {"bind": "/archive", "mode": "ro"},
                str(self.folder): {"bind": "/study", "mode": "rw"},
            },
        )
        try:
            container.start()
            code = container.wait(timeout=ANSWER_S)["StatusCode"]
            assert code in (0, 1), container.logs().decode()
            return code, container.logs(stderr=False).decode()
        finally:
            container.remove(force=True)

    def program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The program of this checkout, without a network: a Unix socket needs none."""
        return subprocess.run(
            ["unshare", "--net", sys.executable, "-m", "runner", *arguments],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "DOCKER_HOST": self.address,
                "PAIRBENCH_CACHE": str(self.folder / "cache"),
            },
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )


@pytest.fixture(scope="module")
def archived(pairbench: Program) -> Path:
    """An archive of a recorded run, which is all that is left of it."""
    run = finished(pairbench, write_recorded(pairbench.folder))
    archive = pairbench.folder / "recorded.pairbench"
    done = pairbench("archive", run.name, "--out", archive)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(pairbench.folder / "runs")
    return archive


@pytest.fixture
def machine(archived: Path, tmp_path: Path) -> Iterator[Machine]:
    """A private engine with an empty data root of its own, and a folder that nothing lies in."""
    checkout, folder = tmp_path / "engine", tmp_path / "work"
    folder.mkdir()
    for name in ("scripts/engine.sh", "runner/adapters/engine_address.py"):
        (checkout / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, checkout / name)
    environment = {**os.environ, **PRIVATE}
    script = str(checkout / "scripts" / "engine.sh")
    done = subprocess.run([script, "start"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    try:
        address = find_engine_address(PRIVATE, checkout / ".cache")
        assert address is not None
        with closing(docker.DockerClient(base_url=address, timeout=ANSWER_S)) as engine:
            yield Machine(engine, address, folder, archived)
    finally:
        removed = subprocess.run([script, "remove"], env=environment, capture_output=True, text=True, check=False)
    assert removed.returncode == 0, removed.stderr


def held_equal(found: dict[str, Any]) -> None:
    """The rerun came to its end, by replay, and equals its original."""
    assert found["complete"]
    assert found["rerun_of"]["how"] == "replay"
    assert found["comparison"]["kind"] == "equality"
    assert found["comparison"]["equal"], found["comparison"]["differences"]


def test_a_run_is_rerun_from_its_archive_alone(machine: Machine) -> None:
    """By the program that the archive holds, loaded by the engine itself; it verifies there, and so does the original."""
    assert machine.images() == []
    with machine.archive.open("rb") as stream:
        (loaded,) = machine.engine.images.load(stream)
    assert machine.images() == ["pairbench/runner"]
    (runner,) = loaded.tags
    code, said = machine.runner(runner, "rerun", "/archive", "--json")
    assert code == 0, said
    found = json.loads(said)
    held_equal(found)
    assert machine.images() == [f"pairbench/{name}" for name in ("gateway", "qdrant", "runner", "trial")]
    for name in (found["run"], found["original"]):
        code, said = machine.runner(runner, "verify", name, "--json")
        assert json.loads(said)["differences"] == []
        assert code == 0
    assert machine.runner(runner, "compare", "/archive", found["run"])[0] == 0
    assert machine.engine.volumes.list() == []
    assert machine.engine.containers.list(all=True) == []


def test_this_program_needs_no_more_than_the_archive(machine: Machine) -> None:
    """Neither cache nor network: images are those of the archive, and the engine holds no other."""
    done = machine.program("rerun", str(machine.archive), "--json")
    assert done.returncode == 0, done.stderr
    held_equal(json.loads(done.stdout))
    assert machine.images() == [f"pairbench/{name}" for name in ("gateway", "qdrant", "trial")]
    for name in ("verify", "status"):
        assert machine.program(name, "latest").returncode == 0
    # What a first rerun laid down is taken as it is by a second one, which needs no image any more.
    again = machine.program("rerun", str(machine.archive), "--json")
    assert again.returncode == 0, again.stderr
    assert "is there already" in again.stderr
    assert "loading" not in again.stderr
