"""Does a run survive the restart of its engine? On an engine of its own, never on the user's.

The engine is the one that `make engine` starts, in a checkout that holds nothing else: it needs root and dockerd.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.adapters.engine_address import find_engine_address
from runner.core import layout
from runner.core.errors import EnvironmentNotReady, ExitCode
from scripts.faults.expected import Row
from scripts.faults.killing import ROOT, finish, latest, none_of, ran_twice, started, unverified
from scripts.faults.surroundings import differences, surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.owner import Owner

_ENDED_BEFORE: Final = 4
_PATIENCE_S: Final = 240.0
_PAUSE_S: Final = 0.02
_MADE_OF: Final = ("scripts/engine.sh", "runner/adapters/engine_address.py")


def why_not() -> str:
    """Why no engine can be started here; "" where one can."""
    if os.geteuid() != 0:
        return "needs root"
    return "" if shutil.which("dockerd") else "needs dockerd"


def rows(study: Path, runs: Path) -> tuple[Row, ...]:
    """The study ran on an engine that was killed and started again in the middle, and was resumed."""
    began = time.monotonic()
    with _private_engine() as engine:
        address = engine.start()
        before = surroundings(address, _nobody)
        folder = runs / "restarted"
        with started(["run", str(study)], folder, address) as process:
            _await_trials(folder, process)
            engine.kill()
            engine.start()
            code = process.wait(_PATIENCE_S)
        broken_off = () if code == ExitCode.NOT_READY else (f"the run ended with exit code {code}",)
        resumed = finish(["resume", str(latest(folder))], folder, address)
        faults = () if resumed == ExitCode.DONE else (f"the resume ended with exit code {resumed}",)
        left = differences(address, _nobody, before)
    took = f"{time.monotonic() - began:.0f} s"
    return (
        Row("engine killed and restarted", "", "exit 3", f"exit {code}", took, "the engine", broken_off),
        Row("resume after the restart", "", "exit 0", f"exit {resumed}", "", "", faults),
        none_of("completed trials that ran twice, over the restart", tuple(ran_twice(latest(folder)))),
        none_of("verification of the run over the restart", tuple(unverified(latest(folder)))),
        none_of("what is left in the restarted engine", left),
    )


def _nobody(_owner: Owner) -> bool:
    return False


class _Engine:
    """The private engine of a checkout."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        self._environment = {**os.environ, "PAIRBENCH_ENGINE": "private"}

    def start(self) -> str:
        """It answers at the address that is returned."""
        self._script("start")
        address = find_engine_address(self._environment, self._checkout / ".cache")
        if address is None:
            raise EnvironmentNotReady("the private engine doesn't answer", document=str(self._checkout))
        return address

    def kill(self) -> None:
        """It is gone without a chance to tidy up."""
        address = (self._checkout / ".cache" / "engine" / "docker-host").read_text("ascii").strip()
        pidfile = Path(address.removeprefix("unix://")).with_name("dockerd.pid")
        os.kill(int(pidfile.read_text("ascii")), signal.SIGKILL)

    def remove(self) -> None:
        """Nothing of it is left."""
        self._script("remove")

    def _script(self, verb: str) -> None:
        script = str(self._checkout / "scripts" / "engine.sh")
        done = subprocess.run([script, verb], env=self._environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentNotReady(done.stderr.strip(), document=f"engine.sh {verb}")


@contextlib.contextmanager
def _private_engine() -> Iterator[_Engine]:
    with tempfile.TemporaryDirectory(prefix="pairbench-faults-") as name:
        checkout = Path(name)
        for part in _MADE_OF:
            (checkout / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, checkout / part)
        engine = _Engine(checkout)
        try:
            yield engine
        finally:
            engine.remove()


def _await_trials(folder: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    ledger = folder / "runs" / "latest" / layout.LEDGER
    while not ledger.exists() or ledger.read_bytes().count(b'"kind":"attempt_ended"') < _ENDED_BEFORE:
        if process.poll() is not None or time.monotonic() > deadline:
            raise EnvironmentNotReady("the run came to no trials", document=str(folder / "log"))
        time.sleep(_PAUSE_S)
