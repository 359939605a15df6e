"""`make engine` without an engine: a private daemon of this checkout, which survives, is found, and goes without a trace."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from runner.adapters.engine_address import find_engine_address

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PRIVATE = {**os.environ, "PAIRBENCH_ENGINE": "private"}

pytestmark = [pytest.mark.daemon, pytest.mark.slow]


def engine_script(checkout: Path, verb: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout / "scripts" / "engine.sh"), verb], env=PRIVATE, capture_output=True, text=True, check=False
    )


@pytest.fixture(params=["short", "deep and odd"])
def checkout(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A checkout that holds just the engine script; one of them where no Unix socket fits below the checkout."""
    folder = tmp_path / "c" if request.param == "short" else tmp_path / "a folder with spaces, and a comma" / ("x" * 60)
    for name in ("scripts/engine.sh", "runner/adapters/engine_address.py"):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, folder / name)
    yield folder
    engine_script(folder, "remove")


def mounted_below(folder: Path) -> list[str]:
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").replace("\\040", " ")
    return [line for line in mounts.splitlines() if str(folder) in line]


def started(checkout: Path) -> str:
    done = engine_script(checkout, "start")
    assert done.returncode == 0, done.stderr
    address = find_engine_address(PRIVATE, checkout / ".cache")
    assert address is not None
    return address


def test_it_starts_once_and_goes_without_a_trace(checkout: Path) -> None:
    """A second start finds the first; after `remove` no process, mount, socket or file of it is left."""
    address = started(checkout)
    assert f"answers at {address}" in engine_script(checkout, "start").stderr
    with closing(docker.DockerClient(base_url=address)) as engine:
        assert engine.ping()
        assert (checkout / ".cache" / "engine" / "data" / "overlay2").is_dir() == (
            engine.info()["Driver"] == "overlay2"
        )
        assert [network.name for network in engine.networks.list()].count("bridge") == 0
    assert engine_script(checkout, "remove").returncode == 0
    assert find_engine_address(PRIVATE, checkout / ".cache") is None
    assert not Path(address.removeprefix("unix://")).exists()
    assert not (checkout / ".cache" / "engine").exists()
    assert mounted_below(checkout) == []


def test_a_daemon_that_was_killed_is_started_again(checkout: Path) -> None:
    """Its pid file, socket and containerd are left behind by SIGKILL; the next start clears them away and keeps its data."""
    address = started(checkout)
    with closing(docker.DockerClient(base_url=address)) as engine:
        engine.volumes.create("kept")
    pidfile = Path(address.removeprefix("unix://")).with_name("dockerd.pid")
    os.kill(int(pidfile.read_text(encoding="utf-8")), signal.SIGKILL)
    assert started(checkout) == address
    with closing(docker.DockerClient(base_url=address)) as engine:
        assert [volume.name for volume in engine.volumes.list()] == ["kept"]


def test_three_at_once_start_one(checkout: Path) -> None:
    """Concurrent callers wait for the one that starts it."""
    calls = [
        subprocess.Popen(
            [str(checkout / "scripts" / "engine.sh"), "start"], env=PRIVATE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    said = [call.communicate()[1] for call in calls]
    assert [call.returncode for call in calls] == [0, 0, 0]
    assert sum("started at" in text for text in said) == 1
    assert sum("answers at" in text for text in said) == 2


def test_a_daemon_that_does_not_start_is_reported(checkout: Path, tmp_path: Path) -> None:
    """The last lines of its log are shown, the exit code says that the machine isn't ready, and no address is left."""
    broken = tmp_path / "bin" / "dockerd"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho no such driver\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    done = subprocess.run(
        [str(checkout / "scripts" / "engine.sh"), "start"],
        env={**PRIVATE, "PATH": f"{broken.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "no such driver" in done.stderr
    assert "the daemon did not start" in done.stderr
    assert find_engine_address(PRIVATE, checkout / ".cache") is None
