"""`make bench` and `make test` do all of their own set-up, stop at the first failure, and say what took how long."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
STUB = '#!/bin/sh\necho "${0##*/} $*" >>calls\nif [ "$*" = "${FAIL:-nothing}" ]; then exit 4; fi\nexit 0\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose set-up and programs only write down that they were called."""
    for script in ("bench.sh", "test.sh", "lint.sh", "steps.sh"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
    for name in (
        "scripts/setup.sh",
        "scripts/engine.sh",
        ".venv/bin/pairbench",
        ".venv/bin/python",
        ".venv/bin/lint-imports",
    ):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(STUB, encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_text("true\n", encoding="utf-8")
    return tmp_path


def call(checkout: Path, script: str, *arguments: str, **environ: str) -> tuple[int, list[str], str]:
    done = subprocess.run(
        [str(checkout / "scripts" / script), *arguments],
        env={"PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (checkout / "calls").read_text(encoding="utf-8").splitlines(), done.stderr


def test_bench_runs_verifies_and_reports_each_study(checkout: Path) -> None:
    """Set-up, engine and images come first, then every study on the list."""
    code, calls, said = call(checkout, "bench.sh", "a.toml", "b.toml")
    assert code == 0
    assert calls == [
        "setup.sh ",
        "engine.sh start",
        "pairbench images build gateway qdrant trial",
        "pairbench run a.toml",
        "pairbench verify latest",
        "pairbench report latest",
        "pairbench run b.toml",
        "pairbench verify latest",
        "pairbench report latest",
    ]
    assert re.findall(r"^ +\d+\.\d s  (.*)$", said, re.MULTILINE)[-4:] == [
        "run b.toml",
        "verify b.toml",
        "report b.toml",
        "in all",
    ]


def test_a_study_that_does_not_verify_ends_the_bench(checkout: Path) -> None:
    """The exit code of the step that failed is the exit code of make's recipe, and no report is written."""
    code, calls, said = call(checkout, "bench.sh", "a.toml", FAIL="verify latest")
    assert code == 4
    assert calls[-1] == "pairbench verify latest"
    assert "failed: verify a.toml (exit 4)" in said


def test_tests_learn_of_the_images_and_may_not_skip(checkout: Path) -> None:
    """Images are built before the tests, and a missing engine is a failure."""
    code, calls, _ = call(checkout, "test.sh", "tests/docker", "-k", "pod")
    assert code == 0
    assert calls[:3] == ["setup.sh ", "engine.sh start", "pairbench images build"]
    # A pipe: its ends start in any order.
    assert sorted(calls[3:5]) == ["pairbench images list --json", "python scripts/images_env.py"]
    assert calls[-1].startswith("python -m pytest --require docker ")
    assert calls[-1].endswith(" tests/docker -k pod")


def test_failing_tests_fail(checkout: Path) -> None:
    """A pipeline or a trap must not swallow what pytest says."""
    _, calls, _ = call(checkout, "test.sh")
    code, _, said = call(checkout, "test.sh", FAIL=calls[-1].removeprefix("python "))
    assert code == 4
    assert "failed: tests (exit 4)" in said


def test_lint_says_everything_that_is_wrong_at_once(checkout: Path) -> None:
    """A failure of one check doesn't hide those of the others."""
    code, calls, said = call(checkout, "lint.sh", FAIL="-m mypy")
    assert code == 1
    assert calls[-1] == "lint-imports --no-logo"
    assert said.splitlines()[-1] == "failed: types"
    assert call(checkout, "lint.sh")[0] == 0
