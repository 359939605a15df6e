"""The bytes that pass between host and supervisor: fresh, and understood by the side that reads them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from supervisor import launch

from runner.core.errors import EvidenceError
from runner.core.evidence import ExitReport

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).resolve().parents[4] / "golden" / "trial"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_golden_trial", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_what_the_script_makes() -> None:
    """Nobody edited them, and no format changed without them."""
    files: dict[str, Any] = script().FILES
    assert {name: (FOLDER / name).read_bytes() for name in files} == {name: make() for name, make in files.items()}


def test_the_supervisor_reads_what_the_host_wrote() -> None:
    """Every key arrives."""
    found = launch.parse((FOLDER / "launch.json").read_bytes())
    assert found.argv[:2] == ("/opt/claude/claude", "-p")
    assert found.forward == launch.Forward(8787, "/pod/run/gateway.sock")
    assert found.ready == launch.Ready(15000, ("http://127.0.0.1:6333/readyz",))
    assert (found.deadline_ms, found.grace_ms, found.uid) == (120000, 2000, 10002)


def test_the_host_reads_what_the_supervisor_wrote() -> None:
    """Every key arrives, hostile names included."""
    found = ExitReport.from_bytes((FOLDER / "exit.json").read_bytes(), "exit.json")
    assert (found.ended_by, found.exit_code, found.signal, found.wall_ms) == ("deadline", None, 9, 122007)
    assert [process.comm for process in found.killed] == ["python3", 'sh\n"x']
    assert found.client is not None
    assert found.client.is_powerless()
    assert not found.supervisor.is_powerless()


def test_broken_specimens_are_refused_by_both_sides() -> None:
    """A missing key and a torn document are errors, never defaults."""
    with pytest.raises(launch.LaunchError, match=r"missing keys \['stderr_limit_bytes'\]"):
        launch.parse((FOLDER / "launch-broken.json").read_bytes())
    with pytest.raises(EvidenceError):
        ExitReport.from_bytes((FOLDER / "exit-broken.json").read_bytes(), "exit.json")
