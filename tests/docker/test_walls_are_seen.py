"""The probes of the fault scenarios find a hole where there is one: what they report as nothing means something.

The image under test is named by PAIRBENCH_TRIAL_IMAGE; it holds Python.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker

IMAGE = os.environ.get("PAIRBENCH_TRIAL_IMAGE", "")
PROGRAMS = Path(__file__).resolve().parents[2] / "corpora" / "faults" / "files"
pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not IMAGE, reason="PAIRBENCH_TRIAL_IMAGE names no image to test"),
]
# PID 1 that survives what it is sent, and whose child plays.
FIRST = """
import signal, subprocess, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
sys.exit(subprocess.call(['python3', '-B', '-c', sys.argv[1]]))
"""
PLAY = "import sys; sys.path.insert(0, '/workspace/faults'); import walls; sys.exit(walls.{probe}())"
FILES = (
    "in/launch.json",
    "mnt/labels.toml",
    "pod/gateway/exchanges.jsonl",
    "pod/out/exit.json",
    "pod/out/stdout.jsonl",
)
ENVIRONMENT = {"ANTHROPIC_API_KEY": "token", "SOME_SECRET": "a secret"}


class Room:
    """Makes containers without walls: root, default capabilities, writable volumes, the host's network if asked for."""

    def __init__(self, engine: docker.DockerClient, cleanup: ExitStack) -> None:
        self._engine, self._cleanup = engine, cleanup

    def found(self, probe: str, **options: Any) -> dict[str, Any]:
        """What the probe finds there."""
        labels = {"pairbench.test": uuid.uuid4().hex}
        volumes = {}
        for place in ("/workspace", "/in", "/pod"):
            volume = self._engine.volumes.create(f"pairbench-test-{uuid.uuid4().hex}", labels=labels)
            self._cleanup.callback(volume.remove)
            volumes[str(volume.name)] = {"bind": place}
        container = self._engine.containers.create(
            IMAGE,
            command=[],
            entrypoint=["python3", "-c", FIRST, PLAY.format(probe=probe)],
            user="0",
            labels=labels,
            environment=ENVIRONMENT,
            volumes=volumes,
            **{"network_mode": "none", **options},
        )
        self._cleanup.callback(container.remove, force=True)
        container.put_archive("/", programs())
        container.start()
        code = container.wait(timeout=60)["StatusCode"]
        said = container.logs(stderr=False)
        assert code == 1, container.logs()
        return dict(json.loads(said))


def programs() -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted(PROGRAMS.glob("*.py")):
            tar.add(path, f"workspace/faults/{path.name}")
        for name in FILES:
            tar.addfile(tarfile.TarInfo(name))
        folder = tarfile.TarInfo("pod/run")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
    return archive.getvalue()


@pytest.fixture
def room(engine: docker.DockerClient) -> Iterator[Room]:
    with ExitStack() as cleanup:
        yield Room(engine, cleanup)


def test_a_network_is_seen(room: Room) -> None:
    """Interfaces that are up, and sockets that need a capability."""
    assert {"interfaces", "raw socket"} <= room.found("network", network_mode="host").keys()


def test_surroundings_are_seen(room: Room) -> None:
    """A labels file, a key in the environment, and the process that started this one."""
    found = room.found("surroundings", hostname="faults-1")
    assert found["secrets"] == ["SOME_SECRET"]
    assert found["words"] == ["faults-"]
    assert found["files"] == ["/mnt/labels.toml"]


def test_a_writable_workspace_is_seen(room: Room) -> None:
    """In every way in which it can be written."""
    found = room.found("workspace")
    expected = {"new file", "old file", "appending", "removal", "launch", "input", "root", "programs", "device"}
    assert expected <= found.keys()


def test_writable_evidence_is_seen(room: Room) -> None:
    """Everything that could be left in it, in each of its folders."""
    found = room.found("evidence")
    everywhere = ["/pod", "/pod/out", "/pod/gateway", "/pod/run"]
    assert found["file"] == found["reading"] == everywhere
    assert {"events", "exit.json", "usage", "many files"} <= found.keys()


def test_a_supervisor_within_reach_is_seen(room: Room) -> None:
    """PID 1 of the same user: its environment, its descriptors, and signals that reach it."""
    found = room.found("supervisor")
    assert {"signals", "trace", "environment", "descriptors", "root", "priority"} <= found.keys()
    assert "SIGKILL" in found["signals"]
