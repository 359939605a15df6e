"""What set-up says on a machine where it can't go on: one message, what to type, exit code 3, nothing changed."""

from __future__ import annotations

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with just the scripts, and a folder of stand-ins that comes first on the path."""
    for name in ("scripts/engine.sh", "scripts/setup.sh", "runner/adapters/engine_address.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "bin").mkdir()
    return tmp_path


def stand_in(checkout: Path, name: str, body: str) -> None:
    program = checkout / "bin" / name
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o755)


def call(checkout: Path, script: str, *arguments: str, **environ: str) -> tuple[int, str]:
    done = subprocess.run(
        [str(checkout / "scripts" / script), *arguments],
        env={"PATH": f"{checkout / 'bin'}:/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_user_without_an_engine_reads_two_lines_to_type(checkout: Path) -> None:
    """Only root can install and start one; on Debian the lines are apt-get's."""
    stand_in(checkout, "id", "echo 1000")
    stand_in(checkout, "apt-get", "exit 1")
    assert call(checkout, "engine.sh", "start", PAIRBENCH_ENGINE="private") == (
        3,
        (
            "engine: no container engine answers, and one can be installed and started here by root only. Type:\n"
            "  sudo apt-get install -y docker.io\n"
            '  sudo usermod -aG docker "$USER" && newgrp docker\n'
        ),
    )
    assert not (checkout / ".cache").exists()


def test_a_dead_docker_host_is_named(checkout: Path) -> None:
    """Someone who set DOCKER_HOST means that engine; no other is started behind their back."""
    assert call(checkout, "engine.sh", "start", DOCKER_HOST="unix:///nowhere.sock") == (
        3,
        (
            "engine: DOCKER_HOST is unix:///nowhere.sock, and nothing answers there. Start it, or type:\n"
            "  unset DOCKER_HOST\n"
            "  make engine\n"
        ),
    )


def test_stopping_what_was_never_started_is_done(checkout: Path) -> None:
    """`make engine-stop` and `make clean` work in a fresh clone."""
    assert call(checkout, "engine.sh", "stop") == (0, "")


def test_an_unknown_verb_is_wrong_usage(checkout: Path) -> None:
    """A misspelt verb does nothing."""
    code, said = call(checkout, "engine.sh", "sotp")
    assert code == 2
    assert said.endswith("start|stop|remove\n")


@pytest.mark.parametrize("version", ["3.10", "2.7", "3.9"])
def test_an_old_python_is_refused(checkout: Path, version: str) -> None:
    """The message names the version found and the variable that names another."""
    stand_in(checkout, "python3", f"echo {version}")
    assert call(checkout, "setup.sh") == (
        3,
        (
            f"setup: python3 is Python {version}, and 3.11 or newer is needed. Name another one:\n"
            "  make PYTHON=python3.12 setup\n"
        ),
    )


def test_a_missing_python_is_named(checkout: Path) -> None:
    """PYTHON may name anything."""
    code, said = call(checkout, "setup.sh", PYTHON="python9")
    assert code == 3
    assert said.startswith("setup: python9 is missing")


def test_a_python_without_venv_is_explained_to_a_user(checkout: Path) -> None:
    """Debian keeps venv's half in another package, which only root can install."""
    stand_in(checkout, "id", "echo 1000")
    stand_in(checkout, "python3", 'case "$*" in *ensurepip*) exit 1 ;; *) echo 3.11 ;; esac')
    code, said = call(checkout, "setup.sh")
    assert code == 3
    assert said.endswith(
        "setup: python3 can't make virtual environments. Type:\n  sudo apt-get install -y python3-venv\n  make setup\n"
    )
    assert not (checkout / ".venv").exists()


def test_a_set_up_that_was_interrupted_starts_over(checkout: Path) -> None:
    """Half an environment carries no stamp, so the next call makes it afresh."""
    stand_in(checkout, "python3", 'case "$*" in *venv*) mkdir -p .venv; exit 1 ;; *) echo 3.11 ;; esac')
    code, _ = call(checkout, "setup.sh")
    assert code == 1
    assert list((checkout / ".venv").iterdir()) == []


def test_a_complete_environment_is_left_alone(checkout: Path) -> None:
    """A second `make setup` asks Python for its version and does nothing else."""
    stand_in(checkout, "python3", f'echo "$*" >>"{checkout}/calls"; echo 3.11')
    (checkout / ".venv").mkdir()
    pinned = b"".join((checkout / "requirements" / name).read_bytes() for name in ("dev.txt", "build.txt"))
    project = (checkout / "pyproject.toml").read_bytes()
    (checkout / ".venv" / "packages.stamp").write_text(f"3.11 {sha256(pinned).hexdigest()}\n", encoding="utf-8")
    (checkout / ".venv" / "project.stamp").write_text(f"{sha256(project).hexdigest()}\n", encoding="utf-8")
    assert call(checkout, "setup.sh") == (0, "")
    assert len((checkout / "calls").read_text(encoding="utf-8").splitlines()) == 1
