"""A Docker gate that skips in silence is worse than none: what `--require` names is there, or the session fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS_ENGINE = "import pytest\n@pytest.mark.docker\ndef test_it():\n    pass\n"
NO_ENGINE = "docker: No such file or directory"


def session(folder: Path, test: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A session of its own in `folder`, under the conftest of this project."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  docker: d\n  chromium: c\n", encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rsf", "-p", "no:cacheprovider", *arguments, str(folder)],
        cwd=folder,
        env={**os.environ, "DOCKER_HOST": "unix:///nowhere/docker.sock", "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_without_its_engine_is_skipped_with_the_reason(tmp_path: Path) -> None:
    """Someone without an engine can run the other tests, and reads why these didn't run."""
    done = session(tmp_path, NEEDS_ENGINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped" in done.stdout
    assert NO_ENGINE in done.stdout


def test_a_required_engine_that_is_missing_fails(tmp_path: Path) -> None:
    """`--require docker` turns the same skip into a failure that keeps the reason."""
    done = session(tmp_path, NEEDS_ENGINE, "--require", "docker")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "skipped although docker is required" in done.stdout
    assert NO_ENGINE in done.stdout


def test_a_choice_of_engine_does_not_reach_the_tests(tmp_path: Path) -> None:
    """`PAIRBENCH_ENGINE=private make test` tests with that engine, and tests that name another still get the other."""
    test = "import os\n\ndef test_it():\n    assert 'PAIRBENCH_ENGINE' not in os.environ\n"
    done = session(tmp_path, test, PAIRBENCH_ENGINE="private")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "test",
    [
        "import pytest\n@pytest.mark.chromium\ndef test_it():\n    pytest.skip('no mood')\n",
        "import pytest\n@pytest.mark.chromium\n@pytest.mark.skipif(True, reason='no mood')\ndef test_it():\n    pass\n",
        "import pytest\npytest.skip('no mood', allow_module_level=True)\n",
    ],
    ids=["in the body", "by a mark", "the module"],
)
def test_every_way_to_skip_is_covered(tmp_path: Path, test: str) -> None:
    """A test may not get round the requirement by skipping itself."""
    (tmp_path / "chromium").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "chromium").chmod(0o755)
    done = session(tmp_path, test, "--require", "chromium", PATH=str(tmp_path))
    assert done.returncode != 0, done.stdout + done.stderr
    assert "no mood" in done.stdout


def test_other_skips_stay_skips(tmp_path: Path) -> None:
    """Requiring Docker says nothing about tests that don't need it."""
    test = "import pytest\ndef test_it():\n    pytest.skip('no mood')\n"
    done = session(tmp_path, test, "--require", "docker")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped" in done.stdout
