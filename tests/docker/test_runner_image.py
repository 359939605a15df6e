"""The program in its own image, with the engine's socket: as CI runs it, and as whoever has an engine and no Python does."""

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

import runner
from runner import wiring
from runner.images.harness_layer import RUNNER_IMAGE
from runner.pipeline import imaging
from tests.docker.conftest import ROOT
from tests.fakes.surroundings import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.docker

ANSWER_S = 600


@dataclass(frozen=True)
class Container:
    """The image with the program in it, and a folder that is its working folder."""

    engine: docker.DockerClient
    image: str
    bare: str
    """The same without the program."""
    socket: str
    folder: Path

    def __call__(self, *arguments: str, image: str = "", **environment: str) -> tuple[int, str, str]:
        """Exit code, output and talk of the program, which has no network."""
        container = self.engine.containers.create(
            image or self.image,
            list(arguments),
            network_mode="none",
            environment=environment,
            volumes={
                self.socket: {"bind": "/var/run/docker.sock", "mode": "rw"},
                str(self.folder): {"bind": "/study", "mode": "rw"},
                # So that nothing is downloaded: what was built on this machine is what would be built there.
                str(ROOT / ".cache" / "images"): {"bind": "/study/.cache/images", "mode": "rw"},
            },
        )
        try:
            container.start()
            code = container.wait(timeout=ANSWER_S)["StatusCode"]
            said = [container.logs(stdout=out, stderr=not out).decode() for out in (True, False)]
        finally:
            container.remove(force=True)
        return code, said[0], said[1]


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory, engine_address: str) -> Iterator[Container]:
    """The image is built, and the working folder holds what a checkout has and a run needs."""
    folder = tmp_path_factory.mktemp("study")
    shutil.copytree(ROOT / "images", folder / "images", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "corpora", folder / "corpora")
    world = wiring.make_world(Watcher())
    (bare,) = imaging.build(world, [RUNNER_IMAGE])
    image = imaging.runner_image(world)
    imaging.load(world, world.engine(), [bare, image])
    with closing(docker.DockerClient(base_url=engine_address)) as engine:
        yield Container(engine, image.tag, bare.tag, engine_address.removeprefix("unix://"), folder)
        engine.images.remove(image.tag)


@pytest.fixture(scope="module")
def ran(inside: Container) -> Path:
    """The folder of a fixture run that the program made in its container."""
    code, said, talk = inside("run", "corpora/smoke/study.toml", "--json")
    assert code == 0, talk
    assert json.loads(said)["study"]["name"] == "smoke"
    return (inside.folder / "runs/latest").resolve()


def test_a_fixture_scenario_runs_with_the_mounted_socket(inside: Container, ran: Path) -> None:
    """And verifies, inside and on the machine itself: the same code, byte for byte."""
    code, said, talk = inside("verify", "--json")
    assert code == 0, talk
    found = json.loads(said)
    assert (found["holds"], found["compared"]) == (True, "bytes")
    assert inside("status", "--json")[0] == 0
    assert inside("compare", "latest", f"runs/{ran.name}")[0] == 0
    assert on_the_host(ran)["holds"]


def test_it_tells_what_it_was_installed_by(ran: Path) -> None:
    """Requirements with their hashes travel with the code, also where no checkout is at hand."""
    kept = (ran / "inputs/harness/requirements.txt").read_text("utf-8")
    assert kept.count("--hash=sha256:") >= kept.count("==") > 20


def test_nothing_but_the_image_decides_what_runs(inside: Container) -> None:
    """The working folder may be a checkout of another version, and a variable may name one."""
    (inside.folder / "runner").mkdir()
    (inside.folder / "runner" / "__init__.py").write_text("raise SystemExit('taken from the folder')\n", "utf-8")
    try:
        expected = (0, f"pairbench, version {runner.__version__}\n", "")
        assert inside("--version", PYTHONPATH="/study", PYTHONSTARTUP="/study/runner/__init__.py") == expected
    finally:
        shutil.rmtree(inside.folder / "runner")


def test_without_code_it_says_so(inside: Container) -> None:
    """Its code comes with an archive, and isn't part of the locked image."""
    code, said, talk = inside("verify", image=inside.bare)
    assert (code, said) == (3, "")
    assert talk.startswith("pairbench: this image holds no code in /opt/pairbench/harness")


def test_a_runs_own_code_recomputes_it(ran: Path, tmp_path: Path) -> None:
    """Where the code at hand is another: in a container, byte for byte; and right here for those who trust it."""
    shutil.copytree(ROOT / "runner", tmp_path / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "runner" / "__init__.py").open("a") as stream:
        stream.write("# another version\n")
    (tmp_path / "images").symlink_to(ROOT / "images")
    assert on_the_host(ran, code=tmp_path)["compared"] == "figures"
    for asked in ("--archived-code", "--trust-archived-code"):
        found = on_the_host(ran, asked, code=tmp_path)
        assert (found["run"], found["holds"], found["compared"]) == (ran.name, True, "bytes")


def on_the_host(run: Path, *arguments: str, code: Path = ROOT) -> Any:
    """What `pairbench verify` says of a run as JSON, by the code in a folder."""
    command = [sys.executable, "-P", "-m", "runner", "verify", str(run), "--json", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(code), "PAIRBENCH_CACHE": str(ROOT / ".cache")}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=ANSWER_S, check=False, cwd=run
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
