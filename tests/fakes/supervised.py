"""A client under the real supervisor, without a container: what the supervisor's tests start and what they find.

Run by root, the supervisor gives root up as it does in a container; run by anyone else, it keeps the identity it has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SUPERVISOR = Path(__file__).resolve().parents[2] / "images" / "trial" / "supervisor" / "main.py"
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
# What every user of the machine can run; the tests' own interpreter may lie in somebody's home.
PYTHON = shutil.which("python3", path=SEARCH_PATH) or sys.executable
_PATIENCE_S = 60


def launch_document(argv: list[str], **changes: Any) -> dict[str, Any]:
    """A launch specification of `argv` with generous limits; `changes` replaces keys."""
    return {
        "format": "pairbench/launch",
        "version": 1,
        "argv": argv,
        "env": {"PATH": SEARCH_PATH, "LANG": "C.UTF-8"},
        "cwd": "/",
        "uid": 10002,
        "gid": 10002,
        "deadline_ms": 30_000,
        "grace_ms": 10_000,
        "stdout_limit_bytes": 1_000_000,
        "stderr_limit_bytes": 1_000_000,
        "forward": None,
        "ready": {"timeout_ms": 10_000, "http": []},
        **changes,
    }


@dataclass(frozen=True)
class Finished:
    """What a supervisor left behind."""

    code: int
    log: str
    report: dict[str, Any]
    stdout: bytes
    stderr: bytes


class Running:
    """A supervisor that has been started."""

    def __init__(self, folder: Path, document: object) -> None:
        """It runs."""
        self.out = folder / "out"
        path = folder / "launch.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        path.chmod(0o644)
        self.process = subprocess.Popen(
            [sys.executable, str(SUPERVISOR), str(path), str(self.out)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_until_ready(self) -> None:
        """The client has been started."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b'{"event":"ready","program":"supervisor"}\n'

    def finish(self) -> Finished:
        """It has ended; what it left is read."""
        _, log = self.process.communicate(timeout=_PATIENCE_S)
        contents = {path.name: path.read_bytes() for path in self.out.iterdir()} if self.out.is_dir() else {}
        return Finished(
            self.process.returncode,
            log.decode(),
            json.loads(contents.get("exit.json", b"{}")),
            contents.get("stdout.jsonl", b""),
            contents.get("stderr.txt", b""),
        )


@contextmanager
def public_folder() -> Iterator[Path]:
    """A folder that every user of the machine can enter and write."""
    with tempfile.TemporaryDirectory(prefix="pairbench-test-") as name:
        folder = Path(name)
        folder.chmod(0o1777)
        yield folder


@contextmanager
def supervised(document: object) -> Iterator[Running]:
    """A supervisor obeying `document`, a launch specification or the text of a broken one; gone afterwards."""
    with public_folder() as folder:
        running = Running(folder, document)
        try:
            yield running
        finally:
            if running.process.poll() is None:
                running.process.kill()
            running.process.communicate()


def run(argv: list[str], **changes: Any) -> Finished:
    """What is left after a client `argv` has run under a supervisor."""
    with supervised(launch_document(argv, **changes)) as running:
        return running.finish()


def shell(script: str, **changes: Any) -> Finished:
    """What is left after a shell script has run under a supervisor."""
    return run(["/bin/sh", "-c", script], **changes)


def python(script: str, *arguments: str, **changes: Any) -> Finished:
    """What is left after a Python program has run under a supervisor."""
    return run([PYTHON, "-c", script, *arguments], **changes)


def exists(pid: int) -> bool:
    """Whether a process with this number lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
