"""`pairbench rerun` at a terminal: what is wrong is said with the exit code that belongs to it, before anything starts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from runner.adapters.harness import package_sources, this_installation
from runner.archives.harness import harness_of
from runner.cli import main
from tests.fakes.surroundings import CODE, surroundings
from tests.unit.cli.test_verify_command import on_disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def home(tiny_images: Path, tmp_path: Path) -> Path:
    """A folder with a run of this code that ended."""
    folder = tmp_path / "home"
    on_disk(surroundings(tiny_images), folder, harness_of(package_sources(), this_installation()))
    return folder


@pytest.fixture
def rerun(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], home: Path) -> Callable[..., Any]:
    """`pairbench rerun` in that folder, where no engine answers: its exit code, and what it said."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(home)
        monkeypatch.setattr(sys, "argv", ["pairbench", "rerun", *arguments])
        monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        monkeypatch.setenv("PAIRBENCH_CACHE", str(home / "cache"))
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        assert said.out == ""
        return int(ended.value.code or 0), said.err

    return run


def test_without_an_engine_the_machine_is_not_ready(rerun: Callable[..., Any], home: Path) -> None:
    """Exit 3; no folder was made."""
    before = sorted(path.name for path in (home / "runs").iterdir())
    code, said = rerun("latest")
    assert code == 3
    assert "container engine" in said
    assert sorted(path.name for path in (home / "runs").iterdir()) == before


def test_a_wish_that_cannot_be_is_wrong_usage(rerun: Callable[..., Any]) -> None:
    """Exit 2, and the missing engine is told with it."""
    code, said = rerun("latest", "--live")
    assert code == 2
    assert "rerun it without --live" in said
    assert "container engine" in said


def test_a_run_of_an_archive_is_named_of_archives_only(rerun: Callable[..., Any]) -> None:
    """Exit 2."""
    code, said = rerun("latest", "--run", "demo")
    assert code == 2
    assert "--run names a run of an archive" in said


def test_there_must_be_such_a_run(rerun: Callable[..., Any]) -> None:
    """Exit 2; a file that is no archive is none either."""
    code, said = rerun("nowhere")
    assert code == 2
    assert "there is no run 'nowhere'" in said


def test_a_file_that_is_no_archive_is_refused(rerun: Callable[..., Any], home: Path) -> None:
    """Exit 4: whoever says that it is one is wrong, and nothing of it is used."""
    (home / "file.pairbench").write_bytes(b"not a tar" * 1000)
    code, said = rerun("file.pairbench")
    assert code == 4
    assert "isn't an archive of ours" in said


def test_a_damaged_run_does_not_verify(rerun: Callable[..., Any], home: Path) -> None:
    """Exit 4, and the file is named."""
    place = next((home / "runs").glob("demo-*")) / "inputs" / "prices.json"
    place.write_bytes(place.read_bytes() + b" ")
    code, said = rerun("latest")
    assert code == 4
    assert "inputs/prices.json" in said


def test_a_damaged_run_elsewhere_is_named_by_its_path(rerun: Callable[..., Any], home: Path) -> None:
    """Exit 4 before anything starts; the command that it names finds the run."""
    place = next((home / "runs").glob("demo-*"))
    moved = place.rename(home / "good")
    (moved / "records.jsonl").write_bytes((moved / "records.jsonl").read_bytes() + b"\n")
    code, said = rerun("good")
    assert code == 4
    assert f"see what is wrong with: pairbench verify {moved.resolve()})" in said
    assert "rerunning" not in said


def test_other_code_says_how_the_runs_own_is_started(rerun: Callable[..., Any], tiny_images: Path, home: Path) -> None:
    """And how to go on with this one."""
    other = home / "other"
    on_disk(surroundings(tiny_images), other, CODE)
    run = next((other / "runs").glob("demo-*"))
    assert json.loads((run / "lock.json").read_bytes())["harness"]["source_sha256"] == CODE.pin.source_sha256
    code, said = rerun(str(run))
    assert code == 3
    assert f"{run}/inputs/harness/pairbench-0.1.0-py3-none-any.whl" in said
    assert "--this-code" in said
