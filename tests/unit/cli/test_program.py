"""The command line: exit codes are a contract, JSON parses, and no input of a stranger shows a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from runner.archives.writing import write_archive
from runner.cli import main
from runner.core.layout import SUMMARY
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from tests.fakes.archives import contents
from tests.fakes.pods import asking_client
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY, surroundings

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = ("doctor", "images", "corpora", "plan", "run", "resume", "status", "verify", "summary", "report", "gc")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Pairbench(Protocol):
    """The program in a folder, without an engine, in this process."""

    def __call__(self, folder: Path, *arguments: str | bytes) -> Done: ...


@pytest.fixture
def pairbench(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Pairbench:
    def run(folder: Path, *arguments: str | bytes) -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["pairbench", *(os.fsdecode(word) for word in arguments)])
        monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        monkeypatch.setenv("PAIRBENCH_CACHE", str(tmp_path / "cache"))
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return run


@pytest.fixture(scope="module")
def home(tiny_images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on disk with a study, and a run that ended and was concluded."""
    outside = surroundings(tiny_images)
    outside.pods.roles["trial"] = asking_client
    ran = run_study(outside.world, outside.study(CLAUDE_STUDY.replace("repetitions = 2", "repetitions = 1")))
    conclude(outside.files, ran.folder)
    folder = tmp_path_factory.mktemp("home")
    for path, data in outside.files.held.items():
        if path.parts[1] in {"here", "studies"} and path.name != ".folder":
            place = folder / path.relative_to("/here" if path.parts[1] == "here" else "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    (folder / "runs/latest").symlink_to(ran.folder.name)
    return folder


def test_help_is_there_for_every_command(pairbench: Pairbench, tmp_path: Path) -> None:
    """And ends with 0."""
    done = pairbench(tmp_path, "--help")
    assert done.returncode == 0
    assert [name for name in COMMANDS if f"  {name} " not in done.stdout] == []
    assert pairbench(tmp_path, "--version").stdout.startswith("pairbench, version ")


@pytest.mark.parametrize(
    "arguments", [(), ("plann",), ("plan",), ("plan", "a", "b"), ("status", "--jason"), ("run", "--json")]
)
def test_wrong_usage_ends_2(pairbench: Pairbench, tmp_path: Path, arguments: Sequence[str]) -> None:
    """On standard error, with how it is meant."""
    done = pairbench(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage: " in done.stderr


def test_a_plan_is_shown(pairbench: Pairbench, home: Path) -> None:
    """Arms, their difference, the schedule, and the bounds of money and time; as tables, and as JSON."""
    done = pairbench(home, "plan", "studies/demo/study.toml")
    assert done.returncode == 0, done.stderr
    assert "demo: 2 tasks x 1 repetition x 2 arms = 4 trials" in done.stdout
    assert "nothing is billed" in done.stdout
    assert "caps: none\n" in done.stdout
    assert "+ pod: within reach of the sidecar" in done.stdout
    found = json.loads(pairbench(home, "plan", "studies/demo/study.toml", "--json").stdout)
    assert (found["plan"]["format"], len(found["plan"]["trials"])) == ("pairbench/plan", 4)
    assert sorted(found) == ["forecast", "plan"]
    assert found["forecast"]["time"] == {"at_once": 1, "study_s": 560, "trial_s": 140}


def test_a_plan_says_all_that_was_asked_in_one_document(pairbench: Pairbench, home: Path) -> None:
    """Power stands beside the plan and its bounds, not in their place."""
    spreads = ("--task-sd", "0.6", "--effect-sd", "0.1", "--repetition-sd", "0.2")
    found = json.loads(pairbench(home, "plan", "studies/demo/study.toml", *spreads, "--json").stdout)
    assert sorted(found) == ["forecast", "plan", "power"]
    assert found["power"]["tasks"] == 2


CAPS = """
[caps]
request_microusd = {request}
trial_microusd = 1000000
study_microusd = 2500000
output_tokens = 1000
"""


def test_a_plan_shows_caps_and_what_they_allow(pairbench: Pairbench, home: Path) -> None:
    """At list price, although nothing of a scripted study is billed."""
    text = CLAUDE_STUDY.replace("repetitions = 2", "repetitions = 1") + CAPS.format(request=400_000)
    (home / "studies/demo/capped.toml").write_text(text, "utf-8")
    done = pairbench(home, "plan", "studies/demo/capped.toml")
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "1,000 tokens a request; max_tokens of each request, told to claude-code by CLAUDE_CODE_MAX_OUTPUT" in words
    assert "caps, at list price of claude-sonnet-4-5" in words
    assert "nothing of it is billed" in words
    assert "in all 256 requests" in words
    assert "request $0.4000 $0.4000 at most 512, second attempts included" in words
    assert "trial $1.000 $1.000 4" in words
    assert "block \N{EM DASH} $2.000 2" in words
    assert "study $2.500 $2.500" in words
    assert "2 of 4 trials can spend all of their cap" in words


def test_a_plan_refuses_caps_that_no_request_fits_into(pairbench: Pairbench, home: Path) -> None:
    """With the key, and the least that would do."""
    text = CLAUDE_STUDY + CAPS.format(request=100_000)
    (home / "studies/demo/low.toml").write_text(text, "utf-8")
    done = pairbench(home, "plan", "studies/demo/low.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "caps.request_microusd: not even one request of this study fits" in done.stderr
    assert "is the least that would do" in done.stderr


def test_a_wrong_study_ends_2_with_every_problem_on_a_line(pairbench: Pairbench, home: Path) -> None:
    """And nothing on standard output."""
    text = COMMAND_STUDY.replace('control = "off"', 'control = "of"\ncolour = 1')
    (home / "studies/demo/wrong.toml").write_text(text, "utf-8")
    done = pairbench(home, "run", "studies/demo/wrong.toml")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "pairbench: studies/demo/wrong.toml: colour: unknown key",
        "pairbench: studies/demo/wrong.toml: control: 'of' is not the name of an arm",
    ]


def test_no_engine_ends_3(pairbench: Pairbench, home: Path) -> None:
    """With what to do; nothing was started, and no folder was made."""
    before = sorted((home / "runs").iterdir())
    done = pairbench(home, "run", "studies/demo/study.toml")
    assert done.returncode == 3
    assert "container engine" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted((home / "runs").iterdir()) == before
    assert pairbench(home, "gc").returncode == 3


def test_doctor_says_what_is_missing(pairbench: Pairbench, tmp_path: Path) -> None:
    """Exit 3, as a table and as JSON."""
    done = pairbench(tmp_path, "doctor", "--json")
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert "missing" in {finding["state"] for finding in found["findings"]}
    assert pairbench(tmp_path, "doctor").returncode == 3


def test_a_run_is_watched_verified_and_read(pairbench: Pairbench, home: Path) -> None:
    """By its name, by its path, and as the latest."""
    name = (home / "runs/latest").readlink().name
    for run in ("latest", name, f"runs/{name}"):
        found = json.loads(pairbench(home, "status", run, "--json").stdout)
        assert (found["run"], found["finished"], found["breaches"]) == (name, 4, 0)
    done = pairbench(home, "status")
    assert done.stdout.startswith(f"{name}: 4 of 4 trials, ended")
    done = pairbench(home, "verify", "--json")
    assert (done.returncode, json.loads(done.stdout)["holds"]) == (0, True)
    assert f"{name} verifies: " in pairbench(home, "verify").stdout
    assert json.loads(pairbench(home, "summary", "--json").stdout)["format"] == "pairbench/summary"
    assert "Reference passages" in pairbench(home, "summary").stdout


def test_a_changed_run_ends_4_and_the_file_is_named(pairbench: Pairbench, home: Path) -> None:
    """As lines, and as JSON; by other code than the run's, figure by figure."""
    path = home / "runs/latest" / SUMMARY
    before = path.read_bytes()
    path.write_bytes(before.replace(b"demo", b"dema", 1))
    try:
        done = pairbench(home, "verify")
        assert done.returncode == 4
        differs = (
            'summary.json: resampling.seed: "dema 1\\nbootstrap" in the run, and "demo 1\\nbootstrap" by this code'
        )
        assert differs in done.stdout
        assert "figures were compared, not bytes" in done.stderr
        found = json.loads(pairbench(home, "verify", "--json").stdout)
        assert [(item["document"], item["key"]) for item in found["differences"]] == [
            ("summary.json", "resampling.seed"),
            ("summary.json.sha256", ""),
        ]
        assert (found["same_code"], found["compared"]) == (False, "figures")
        assert pairbench(home, "summary").returncode == 4
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("command", ["status", "verify", "summary", "report", "resume"])
def test_a_run_that_is_not_there_ends_2(pairbench: Pairbench, tmp_path: Path, command: str) -> None:
    """With where it was looked for."""
    done = pairbench(tmp_path, command, "nothing")
    assert done.returncode == 2
    assert "pairbench: there is no run 'nothing'" in done.stderr


@pytest.mark.parametrize("command", ["status", "verify", "summary", "report", "resume", "archive", "rerun"])
@pytest.mark.parametrize("name", ["", ".", "/", "/dev/null", "x" * 300, "pipe"])
def test_odd_names_of_runs_end_2_without_a_trace(pairbench: Pairbench, tmp_path: Path, command: str, name: str) -> None:
    """No name, a folder, a device, one that is too long, a pipe; also beside the parts of an archive."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.part001").write_bytes(b"")
    done = pairbench(tmp_path, command, name)
    assert done.returncode == 2
    assert "internal error" not in done.stderr
    assert done.stderr.startswith("pairbench: ")


@pytest.mark.parametrize("command", ["status", "summary", "report", "resume", "archive"])
def test_a_file_is_no_run(pairbench: Pairbench, tmp_path: Path, command: str) -> None:
    """Of an archive, whole or in parts, it is said that it is one, and what takes it."""
    (tmp_path / "empty").write_bytes(b"")
    write_archive(contents({}, []), tmp_path / "a.pairbench", cache=tmp_path / "c")
    write_archive(contents({}, []), tmp_path / "b.pairbench", cache=tmp_path / "c", split_bytes=1000)
    done = pairbench(tmp_path, command, "empty")
    assert (done.returncode, done.stderr.split(" (")[0]) == (2, "pairbench: 'empty' is a file, and no run")
    for name in ("a.pairbench", "b.pairbench", "b.pairbench.part001"):
        done = pairbench(tmp_path, command, name)
        told = (
            f"pairbench: {name!r} is an archive, and no run (`pairbench verify`, `compare` and `rerun` take an archive)"
        )
        assert (done.returncode, done.stderr.strip()) == (2, told)


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe\x00",
    "brackets": b"a = " + b"[" * 20_000,
    "digits": b"a = " + b"9" * 20_000,
    "dates": b"format = 2020-01-01\nseed = 00:00:00\n",
    "not a number": b"repetitions = nan\n",
    "escapes": b'name = "\\u001b[31mred\\n\\u0000"\n',
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_study_ends_2_without_a_trace(pairbench: Pairbench, tmp_path: Path, data: bytes) -> None:
    """Whatever is in it."""
    (tmp_path / "study.toml").write_bytes(data)
    done = pairbench(tmp_path, "plan", "study.toml")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert "\x1b" not in done.stderr


def test_odd_paths_end_2_without_a_trace(pairbench: Pairbench, tmp_path: Path) -> None:
    """A folder, a pipe, a name that is too long, one that isn't UTF-8, nothing at all."""
    os.mkfifo(tmp_path / "pipe")
    for name in (".", "pipe", "x" * 300, b"\xff\xfe.toml", ""):
        done = pairbench(tmp_path, "plan", name)
        assert done.returncode == 2, name
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr


DAMAGE = {
    "no ledger": ("ledger.jsonl", None),
    "torn ledger": ("ledger.jsonl", b'{"format"'),
    "ledger of nothing": ("ledger.jsonl", b"[]\n"),
    "deep ledger": ("ledger.jsonl", b"[" * 100_000 + b"\n"),
    "other lock": ("lock.json", b'{"format": "pairbench/lock", "version": 99}'),
    "no tar": ("inputs/corpora/notes.tar", b"tar"),
    "half a plan": ("plan.json", b'{"format": "pairbench/plan", "version": 1}'),
}


@pytest.mark.parametrize(("name", "data"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_run_ends_4_without_a_trace(pairbench: Pairbench, home: Path, name: str, data: bytes | None) -> None:
    """The file is named, whatever asks."""
    path = home / "runs/latest" / name
    before = path.read_bytes()
    try:
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        done = pairbench(home, "verify", "--json")
        assert done.returncode == 4
        assert name in {
            difference["document"].partition(" line ")[0] for difference in json.loads(done.stdout)["differences"]
        }
        assert "Traceback" not in done.stderr
    finally:
        path.write_bytes(before)


def test_a_reader_that_goes_away_is_no_fault(home: Path) -> None:
    """As in `pairbench status --json | head -1`: exit 1, and silence."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "runner", "status", "--json"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == ""


def test_a_full_disk_behind_standard_output(home: Path) -> None:
    """What can't be written wasn't told: exit 1."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "runner", "summary", "--json"],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
