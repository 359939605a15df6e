"""Which code ran: one digest over every file of the package, whoever imported it before."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import runner
from runner.adapters.harness import this_code

CODE = "from runner.adapters.harness import this_code; print(this_code().source_sha256)"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package, somewhere else."""
    shutil.copytree(Path(runner.__file__).parent, tmp_path / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def digest(folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_pin_says_version_digest_and_python() -> None:
    """What a lock holds of us."""
    pin = this_code()
    assert pin.version == runner.__version__
    assert pin.source_sha256.startswith("sha256:")
    assert pin.python == ".".join(map(str, sys.version_info[:3]))


def test_the_digest_follows_the_files_alone(copied: Path) -> None:
    """Neither the place nor what was compiled counts; a changed byte, a new file and a renamed one do."""
    first = digest(copied)
    (copied / "runner/core/__pycache__").mkdir(exist_ok=True)
    (copied / "runner/core/__pycache__/more.pyc").write_bytes(b"x")
    assert digest(copied) == first
    page = copied / "runner" / "publish" / "templates" / "report.css"
    page.write_bytes(page.read_bytes() + b" ")
    second = digest(copied)
    page.rename(page.with_name("report2.css"))
    third = digest(copied)
    assert len({first, second, third}) == 3
