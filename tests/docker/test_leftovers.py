"""The session's own proof that nothing with a label of ours is left on the engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import docker

ROOT = Path(__file__).resolve().parents[2]
LEAVES_A_VOLUME = """
import pytest

@pytest.mark.docker
def test_it(engine):
    engine.volumes.create({name!r}, labels={labels!r})
"""


def session(folder: Path, name: str, labels: dict[str, str]) -> subprocess.CompletedProcess[str]:
    source = (
        (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8").replace("VANISH_S: Final = 20.0", "VANISH_S = 0")
    )
    (folder / "conftest.py").write_text(source, encoding="utf-8")
    (folder / "test_it.py").write_text(LEAVES_A_VOLUME.format(name=name, labels=labels), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  docker: d\n", encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.docker
def test_a_labelled_volume_that_is_left_fails_the_session(engine: docker.DockerClient, tmp_path: Path) -> None:
    """All tests pass, and still the session fails and names what it left."""
    name = f"pairbench-left-{os.getpid()}"
    try:
        done = session(tmp_path, name, {"pairbench.test": "leftovers"})
    finally:
        engine.volumes.get(name).remove()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert f"left behind by the tests: volume {name}" in done.stdout


@pytest.mark.docker
def test_what_others_leave_is_not_ours(engine: docker.DockerClient, tmp_path: Path) -> None:
    """Volumes without a label of ours belong to someone else on this engine."""
    name = f"pairbench-foreign-{os.getpid()}"
    try:
        done = session(tmp_path, name, {"someone.else": "1"})
    finally:
        engine.volumes.get(name).remove()
    assert done.returncode == 0, done.stdout + done.stderr
