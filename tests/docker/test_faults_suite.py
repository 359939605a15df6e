"""`python -m scripts.faults` on a real engine: what ends as expected, what doesn't, and good pairs beside faulty ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = ROOT / "corpora" / "faults"
pytestmark = [pytest.mark.docker, pytest.mark.slow]

TASKS = """format = "pairbench/tasks"
version = 1

[[tasks]]
id = "asks-once"
corpus = "faults"
prompt = "asking.once"

[[tasks]]
id = "fails-itself"
corpus = "faults"
prompt = "processes.fail"
"""
EXPECTED = """format = "pairbench/expected-faults"
version = 1
studies = ["clients"]
again = ["clients"]

[[scenarios]]
study = "clients"
task = "asks-once"
what = "It behaves."
expected = { attempts = ["completed"], answer = "1 answers" }

[[scenarios]]
study = "clients"
task = "fails-itself"
what = "It doesn't."
expected = { attempts = ["OUTCOME"] }
"""


def faults(folder: Path, outcome: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the answer of a suite of two tasks, of which the faulty one is expected to end so."""
    shutil.copytree(FAULTS, folder / "faults")
    shutil.rmtree(folder / "faults" / "tasks")
    (folder / "faults" / "tasks").mkdir()
    study = (FAULTS / "clients.toml").read_text(encoding="utf-8").replace('"tasks/good.toml", ', "")
    (folder / "faults" / "clients.toml").write_text(study, encoding="utf-8")
    (folder / "faults" / "tasks" / "clients.toml").write_text(TASKS, encoding="utf-8")
    (folder / "faults" / "expected.toml").write_text(EXPECTED.replace("OUTCOME", outcome), encoding="utf-8")
    command = [sys.executable, "-m", "scripts.faults", "clients", "--json"]
    done = subprocess.run(
        [*command, "--folder", str(folder / "faults"), "--runs", str(folder / "runs")],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_scenarios_that_end_as_expected(tmp_path: Path) -> None:
    """Every arm of every task, totals of the good pairs that don't move, a run that verifies, and nothing left."""
    code, answer = faults(tmp_path, "client_error")
    assert (code, answer["wrong"]) == (0, 0)
    assert [(row["scenario"], row["arm"], row["got"]) for row in answer["rows"]] == [
        ("asks-once", "joined", "completed"),
        ("asks-once", "off", "completed"),
        ("fails-itself", "joined", "client_error"),
        ("fails-itself", "off", "client_error"),
        ("faults-clients", "", "verifies"),
        ("totals of the good pairs of clients", "", "equal"),
        ("what is left in the engine", "", "nothing"),
    ]


def test_a_scenario_that_ends_otherwise_is_told(tmp_path: Path) -> None:
    """In each arm, with the reason; and the exit code says so."""
    code, answer = faults(tmp_path, "timeout")
    assert (code, answer["wrong"]) == (1, 2)
    assert {tuple(row["faults"]) for row in answer["rows"] if row["scenario"] == "fails-itself"} == {
        ("client_error: the client ended with exit code 3: the client gives up",)
    }
