"""`pairbench verify` where the code at hand isn't the run's: what it does, what it says, and what it must be asked for."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

from runner.adapters.harness import package_sources, this_installation
from runner.archives.harness import harness_of
from runner.archives.writing import Contents, write_archive
from runner.cli import main
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from tests.fakes.archives import code, image, lay, run_files
from tests.fakes.surroundings import CODE, surroundings

if TYPE_CHECKING:
    from pathlib import Path

    from runner.archives.harness import HarnessFiles
    from tests.fakes.surroundings import Surroundings


@dataclass(frozen=True)
class Done:
    """How the command ended."""

    returncode: int
    stdout: str
    stderr: str


class Verify(Protocol):
    """`pairbench verify` in a folder, where no engine answers."""

    def __call__(self, folder: Path, *arguments: str) -> Done: ...


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Verify:
    def run(folder: Path, *arguments: str) -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["pairbench", "verify", *arguments])
        monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-x")
        monkeypatch.setenv("PAIRBENCH_CACHE", str(tmp_path / "cache"))
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return run


def on_disk(outside: Surroundings, folder: Path, code: HarnessFiles) -> None:
    """A run of `code` that ended lies in `folder`, and is the latest."""
    object.__setattr__(outside.world, "harness", code.pin)
    object.__setattr__(outside.world, "code", lambda: code)
    ran = run_study(outside.world, outside.study())
    conclude(outside.files, ran.folder)
    for path, data in outside.files.held.items():
        if path.is_relative_to("/here") and path.name != ".folder":
            place = folder / path.relative_to("/here")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    (folder / "runs/latest").symlink_to(ran.folder.name)


@pytest.fixture(scope="module")
def home(tiny_images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of other code than this."""
    folder = tmp_path_factory.mktemp("home")
    on_disk(surroundings(tiny_images), folder, CODE)
    return folder


def test_other_code_compares_every_figure_and_says_so(verify: Verify, home: Path) -> None:
    """And how the run's own code is had to recompute it; it isn't run."""
    done = verify(home)
    assert done.returncode == 0
    assert " verifies: " in done.stdout
    assert "was recomputed by other code than its own: figures were compared, not bytes" in done.stderr
    assert "--archived-code" in done.stderr
    found = json.loads(verify(home, "--json").stdout)
    assert (found["holds"], found["same_code"], found["compared"], found["fields_added"]) == (True, False, "figures", 0)


def test_archived_code_needs_an_engine_or_trust(verify: Verify, home: Path) -> None:
    """Without an engine it isn't run, and what running it here grants is said."""
    done = verify(home, "--archived-code")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "let it run right here, where it may do whatever you may: --trust-archived-code" in done.stderr


def test_trusted_code_runs_here_and_its_verdict_is_passed_on(verify: Verify, home: Path) -> None:
    """Whose code it is and what differs of what it needs is said first; it gets no key."""
    done = verify(home, "--trust-archived-code", "--json")
    assert done.returncode == 4
    run = (home / "runs/latest").resolve()
    assert done.stdout == f"old ['pairbench', 'verify', '--json', '{run}'] pairbench-code- ['PATH']\n"
    first, versions, last = done.stderr.splitlines()[-3:]
    assert versions.startswith("  click is ")
    assert versions.endswith(" here, and was 8.0.1")
    assert first.endswith(f"recomputed right here by the run's own code: pairbench 0.1.0, {CODE.pin.source_sha256}")
    assert last == "what it says from here on is the word of that code:"


@pytest.fixture(scope="module")
def archived(home: Path) -> str:
    """The name of that run, which `runs.pairbench` in the same folder holds beside another."""
    run = (home / "runs/latest").resolve()
    held = {run.name: run, "other": lay(home / "laid" / "other", run_files("other"))}
    images = [image("runner", b"a layer", role="runner")]
    made = Contents(created_by=CODE.pin, images=images, runs=held, harnesses=[CODE, code()])
    write_archive(made, home / "runs.pairbench", cache=home / "packed")
    return run.name


def test_one_run_of_an_archive_is_verified(verify: Verify, home: Path, archived: str) -> None:
    """The archive is whole, and nothing is said of its other runs; without a name it is of all of them."""
    done = verify(home, f"runs.pairbench#{archived}")
    assert done.returncode == 0
    whole, runner, verdict = done.stdout.splitlines()
    assert whole.startswith("runs.pairbench is whole: sha256:")
    assert runner == f"image runner {image('runner', b'a layer').pin.config_digest}"
    assert verdict.startswith(f"{archived} verifies: ")
    found = json.loads(verify(home, f"runs.pairbench#{archived}", "--json").stdout)
    assert (found["archive"], found["holds"]) == ("runs.pairbench", True)
    assert [run["run"] for run in found["runs"]] == [archived]
    both = json.loads(verify(home, "runs.pairbench", "--json").stdout)
    assert (both["holds"], [run["run"] for run in both["runs"]]) == (False, [archived, "other"])
    missing = verify(home, "runs.pairbench#nothing")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "the archive has no run 'nothing'" in missing.stderr


def test_code_of_an_archived_run_is_given_the_run_by_its_name(verify: Verify, home: Path, archived: str) -> None:
    """What the archive is and holds is said besides; with `--json` standard output is that code's alone."""
    done = verify(home, f"runs.pairbench#{archived}", "--trust-archived-code")
    whole, runner, said = done.stdout.splitlines()
    assert whole.startswith("runs.pairbench is whole: sha256:")
    assert runner.startswith("image runner sha256:")
    assert f"/{archived}'] pairbench-code-" in said
    done = verify(home, f"runs.pairbench#{archived}", "--trust-archived-code", "--json")
    assert done.stdout.startswith("old ['pairbench', 'verify', '--json', ")
    assert "runs.pairbench is whole: sha256:" in done.stderr


def test_nothing_is_said_for_code_that_never_begins(verify: Verify, home: Path) -> None:
    """There is no engine: nothing that follows is its word."""
    assert "is the word of that code" not in verify(home, "--archived-code").stderr


def test_evidence_that_is_damaged_is_named_before_its_code_runs(verify: Verify, home: Path) -> None:
    """A wheel that isn't what the ledger says is not run, whoever is trusted."""
    path = home / "runs/latest/inputs/harness" / CODE.wheel_name
    before = path.read_bytes()
    path.write_bytes(before.replace(b"old", b"new"))
    try:
        done = verify(home, "--trust-archived-code")
        assert done.returncode == 4
        assert done.stdout == ""
        assert f"inputs/harness/{CODE.wheel_name}: its digest is sha256:" in done.stderr
    finally:
        path.write_bytes(before)


def test_the_code_at_hand_needs_no_other(verify: Verify, tiny_images: Path, tmp_path: Path) -> None:
    """Where it is the run's own, bytes are compared, whatever was asked for."""
    on_disk(surroundings(tiny_images), tmp_path, harness_of(package_sources(), this_installation()))
    done = verify(tmp_path, "--archived-code", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["holds"], found["same_code"], found["compared"]) == (0, True, True, "bytes")
    assert "the code at hand is the run's own" in done.stderr
