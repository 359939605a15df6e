"""Podman behind Docker's API: images go in and are held to their digests; a run is refused before anything of it starts."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.adapters.engine_address import fault_of
from tests.docker.conftest import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.podman, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
START_S = 30.0
CONFIGURATION = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The program, on a Podman that keeps everything in folders of this module."""
    folder = tmp_path_factory.mktemp("podman")
    (folder / "containers.conf").write_text(CONFIGURATION, "utf-8")
    places = [f"--{name}={folder / name}" for name in ("root", "runroot", "tmpdir")]
    address = f"unix://{folder / 'podman.sock'}"
    with (folder / "log").open("wb") as log, pytest.MonkeyPatch.context() as environment:
        environment.setenv("CONTAINERS_CONF", str(folder / "containers.conf"))
        command = ["podman", *places, "system", "service", "--time=0", address]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + START_S
            while fault := fault_of(address, {}):
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"{fault}: {(folder / 'log').read_text('utf-8')}")
            yield Program(folder, address)
        finally:
            process.terminate()
            process.wait()
            subprocess.run(["podman", *places, "rmi", "--all", "--force"], check=False, capture_output=True)
            shutil.rmtree(folder / "root", ignore_errors=True)


def test_the_doctor_says_what_it_is_for(podman: Program) -> None:
    """The architecture by the name that Docker gives it, and what is missing for runs."""
    done = podman("doctor", "--json")
    assert done.returncode == 3
    states = {finding["subject"]: finding["state"] for finding in json.loads(done.stdout)["findings"]}
    assert (states["files in memory"], states["engine API"]) == ("missing", "ok")
    assert states["engine architecture"] == states["architecture"]


def test_images_are_loaded_and_held_to_their_digests(podman: Program) -> None:
    """The engine's own ids are those of the locks, and a second time nothing is loaded."""
    for loads in (True, False):
        done = podman("images", "build", "gateway")
        assert done.returncode == 0, done.stderr
        assert ("loading gateway" in done.stderr) is loads


def test_a_run_is_refused_before_it_starts(podman: Program) -> None:
    """With the limit that it can't set; no run's folder is made."""
    done = podman("run", ROOT / "corpora/smoke/study.toml")
    assert done.returncode == 3
    assert "container engine: it can't limit the files of a tmpfs" in done.stderr
    assert not (podman.folder / "runs").exists()
