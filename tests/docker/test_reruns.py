"""Runs are made once more through the command line: again, by replay, and to their end after they were broken off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from runner.core.owner import RUN
from scripts.faults.summaries import summaries_differ
from tests.docker.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import docker

    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

RECORDED: Final = """format = "pairbench/study"
version = 1
name = "recorded"
seed = "recorded 1"
repetitions = 1
control = "off"

[corpora]
notes = "{corpora}/notes/corpus.toml"

[client]
kind = "claude-code"
model = "claude-sonnet-4-5"

[model]
mode = "scripted"
policy = "plain-agent"
record = true

[[arms]]
name = "off"

[[arms]]
name = "memory"
sidecar = true

[[arms.mcp_servers]]
name = "memory"
command = ["python3", "/opt/pairbench/memory/server.py"]
tools = ["memory_search", "memory_get"]

[[tasks]]
id = "first"
corpus = "notes"
prompt = "To what was `max_incomplete_event_size` raised, and where?"
"""
PATIENCE_S: Final = 120


def write_recorded(folder: Path) -> Path:
    """The path of a study whose scripted model is recorded, with a memory in one of its arms."""
    path = folder / "recorded.toml"
    path.write_text(RECORDED.format(corpora=os.path.relpath(ROOT / "corpora", folder)), "utf-8")
    return path


def finished(pairbench: Program, study: Path) -> Path:
    """The folder of a run of `study` that ended well."""
    done = pairbench("run", study, "--json")
    assert done.returncode == 0, done.stderr
    return pairbench.run


def reran(pairbench: Program, *arguments: str | Path) -> dict[str, Any]:
    """What a rerun said as JSON, which ended well."""
    done = pairbench("rerun", *arguments, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def summaries(*folders: Path) -> list[bytes]:
    return [(folder / "summary.json").read_bytes() for folder in folders]


def test_a_scripted_run_runs_again(pairbench: Program, engine: docker.DockerClient) -> None:
    """It equals the first one and verifies; nothing of it stays in the engine."""
    first = finished(pairbench, ROOT / "corpora" / "smoke" / "study.toml")
    found = reran(pairbench, "latest")
    second = pairbench.run
    assert first != second
    assert (found["run"], found["original"], found["complete"]) == (str(second), str(first), True)
    assert (found["rerun_of"]["run"], found["rerun_of"]["how"]) == (first.name, "again")
    assert found["comparison"]["equal"]
    assert [*summaries_differ(*summaries(first, second))] == []
    assert pairbench.json("verify", "latest")["holds"]
    filters = {"label": f"{RUN}={second.name}"}
    assert engine.containers.list(all=True, filters=filters) == []
    assert engine.volumes.list(filters=filters) == []


def test_a_recorded_run_is_replayed(pairbench: Program) -> None:
    """What a model said is what was recorded; a replay of the replay is the same again."""
    first = finished(pairbench, write_recorded(pairbench.folder))
    once = reran(pairbench, first.name)
    assert once["rerun_of"]["how"] == "replay"
    assert once["comparison"]["equal"]
    folder = pairbench.run
    assert (folder / "inputs" / "cassette.jsonl").read_bytes() == (first / "cassette.jsonl").read_bytes()
    for config in folder.glob("trials/*/attempt-1/replayed.json"):
        assert json.loads(config.read_bytes())["unasked"] == 0
    twice = reran(pairbench, folder)
    assert twice["rerun_of"]["how"] == "replay"
    assert twice["comparison"]["equal"]
    assert pairbench("compare", first.name, pairbench.run.name).returncode == 0


def test_a_rerun_that_was_killed_is_resumed(pairbench: Program) -> None:
    """By the command that resumes any run; it comes to what it would have come to."""
    first = finished(pairbench, ROOT / "corpora" / "smoke" / "study.toml")
    running = subprocess.Popen(
        [sys.executable, "-m", "runner", "rerun", first.name],
        cwd=pairbench.folder,
        env={**os.environ, "DOCKER_HOST": pairbench.address, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE_S
    while pairbench.run == first or b'"attempt_ended"' not in (pairbench.run / "ledger.jsonl").read_bytes():
        assert running.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    broken = pairbench.run
    done = pairbench("resume", "latest", "--json")
    assert done.returncode == 0, done.stderr
    assert pairbench.run == broken != first
    assert json.loads((broken / "lock.json").read_bytes())["rerun_of"]["run"] == first.name
    assert [*summaries_differ(*summaries(first, broken))] == []
    assert pairbench.json("verify", "latest")["holds"]


def test_what_stands_against_a_rerun_is_said_before_anything_starts(pairbench: Program) -> None:
    """Exit 2 where it was asked for wrongly; no folder is made."""
    first = finished(pairbench, ROOT / "corpora" / "smoke" / "study.toml")
    before = sorted(path.name for path in (pairbench.folder / "runs").iterdir())
    done = pairbench("rerun", first.name, "--live")
    assert done.returncode == 2
    assert "rerun it without --live" in done.stderr
    lacking = pairbench("rerun", first.name, "--slots", "64")
    assert lacking.returncode == 3
    assert "64 pods at once may take" in lacking.stderr
    assert sorted(path.name for path in (pairbench.folder / "runs").iterdir()) == before
