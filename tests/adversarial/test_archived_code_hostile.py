"""Threat: a run comes from a stranger, and so does the code in it, which wants this machine: its files, its network, its
engine, its terminal, and a verdict that only it has reached.

It gets none of the first four in its container. The verdict is its word, and is announced as that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runner import wiring
from runner.archives.harness import harness_of
from runner.core.harness import Installation
from runner.pipeline.old_code import contained
from runner.pipeline.rooms import room_of
from tests.fakes.surroundings import Watcher

if TYPE_CHECKING:
    from pathlib import Path

    from runner.archives.harness import HarnessFiles

pytestmark = pytest.mark.docker

PROBE = b"""
import json, os, socket, sys
def refused(act):
    try:
        act()
    except OSError as error:
        return error.strerror or str(error)
    return "done"
def connect():
    socket.create_connection(("192.0.2.1", 80), 2)
def main():
    here = sys.argv[-1]
    status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
    print(json.dumps({
        "user": [os.getuid(), os.getgid()],
        "capabilities": status["CapEff"].strip() + status["CapBnd"].strip(),
        "new privileges": status["NoNewPrivs"].strip(),
        "network": refused(connect),
        "interfaces": sorted(os.listdir("/sys/class/net")),
        "engine": os.path.exists("/var/run/docker.sock"),
        "run": refused(lambda: open(here + "/lock.json", "w")),
        "code": refused(lambda: open(__file__, "w")),
        "root": refused(lambda: open("/opt/x", "w")),
        "kept": sorted(os.listdir(here)),
        "keys": sorted(name for name in os.environ if "KEY" in name),
    }))
    print("verifies\\x1b]0;title\\x07\\x1b[2J")
    sys.exit(0)
"""


def code(main: bytes) -> HarnessFiles:
    installed = Installation("0.1.0", "3.11.7", ">=3.11", "", (), {}, b"")
    return harness_of({"runner/__init__.py": b"", "runner/cli/__init__.py": main}, installed)


def a_run(folder: Path) -> Path:
    for name in ("lock.json", "inputs/study.json", "holder.lock"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}\n", "utf-8")
    (folder / "secret").symlink_to("/etc/passwd")
    return folder


def test_a_strangers_code_reaches_nothing_but_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, no engine, no capability, no key, nothing writable, no link of the run's; and no word of it acts."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-x")
    world = wiring.make_world(Watcher())
    said = contained(world, code(PROBE), a_run(tmp_path / "demo"), (), room_of(world), lambda: None)
    first, second = said.output.splitlines()
    found: dict[str, Any] = json.loads(first)
    assert found == {
        "user": [65534, 65534],
        "capabilities": "0" * 32,
        "new privileges": "1",
        "network": "Network is unreachable",
        "interfaces": ["lo"],
        "engine": False,
        "run": "Read-only file system",
        "code": "Read-only file system",
        "root": "Read-only file system",
        "kept": ["inputs", "lock.json"],
        "keys": [],
    }
    assert (said.exit_code, second) == (0, "verifies\\x1b]0;title\\x07\\x1b[2J")
