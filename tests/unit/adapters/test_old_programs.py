"""Another version of this program: in a process of its own, by its own files alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from runner.adapters.programs import ThisInterpreter

if TYPE_CHECKING:
    import pytest

MAIN = b"""
import sys, runner
def main():
    print(sys.argv, runner.MARK, sys.dont_write_bytecode, flush=True)
    print(sorted(__import__("os").environ), file=sys.stderr)
    sys.exit(int(sys.argv[1]))
"""
CODE = {"runner/__init__.py": b"MARK = 'old'\n", "runner/cli/__init__.py": MAIN}


def test_it_runs_its_own_code_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither a package of that name in the working folder nor one that a variable names is taken for it."""
    for place in ("here", "path"):
        (tmp_path / place / "runner").mkdir(parents=True)
        (tmp_path / place / "runner" / "__init__.py").write_text("raise SystemExit(99)\n", "utf-8")
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert ThisInterpreter().run(CODE, ("3", "x")) == 3
    assert capfd.readouterr().out == "['pairbench', '3', 'x'] old True\n"
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not list(Path(tmp_path / "here").rglob("*.pyc"))


def test_it_gets_no_key_and_no_engine(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """What it needs to speak and to write temporary files, and nothing more."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DOCKER_HOST", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    assert ThisInterpreter().run(CODE, ("0",)) == 0
    said = capfd.readouterr().err
    assert "'LANG'" in said
    assert not any(name in said for name in ("API_KEY", "DOCKER_HOST", "AWS"))


def test_one_that_is_killed_ends_as_a_shell_would_say_it() -> None:
    """128 and the number of the signal."""
    killed = {**CODE, "runner/cli/__init__.py": b"import os\ndef main():\n    os.kill(os.getpid(), 9)\n"}
    assert ThisInterpreter().run(killed, ()) == 137


def test_versions_are_those_that_are_imported() -> None:
    """Names as indexes compare them."""
    found = ThisInterpreter().versions()
    assert {"pydantic-core", "pytest", "pairbench"} <= set(found)
