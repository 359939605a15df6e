"""Does a run whose runner is killed again and again come to what an uninterrupted one comes to?"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.errors import EnvironmentNotReady
from runner.core.ledger import read_ledger, without_torn_end
from scripts.faults.expected import Row
from scripts.faults.summaries import summaries_differ

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parents[2]
KILLS: Final = 10
# How long a process lives from its start, so that its own start is hit, or from its first trial, so that trials are:
# short enough to leave some of them for the next.
_FROM_ITS_START_S: Final = (0.2, 3.0)
_FROM_ITS_WORK_S: Final = (0.0, 2.5)
_PATIENCE_S: Final = 300.0
_PAUSE_S: Final = 0.005


def rows(study: Path, runs: Path, seed: int) -> tuple[Row, ...]:
    """The study ran whole, and again under kills; a row for the kills and one for each thing that must hold."""
    finish(["run", str(study)], runs / "whole")
    began = time.monotonic()
    moments = _under_kills(study, runs / "killed", seed)
    took = f"{time.monotonic() - began:.0f} s"
    whole, resumed = latest(runs / "whole"), latest(runs / "killed")
    few = () if len(moments) == KILLS else (f"it ended after {len(moments)} kills: {', '.join(moments)}",)
    got = f"{len(moments)} kills"
    return (
        Row("runner killed and resumed", "", f"{KILLS} kills", got, took, f"the runner, {len(moments)} times", few),
        none_of("completed trials that ran twice", tuple(ran_twice(resumed))),
        none_of("differences from the uninterrupted run", tuple(_differ(whole, resumed))),
        none_of("verification of the resumed run", tuple(unverified(resumed))),
    )


def none_of(name: str, faults: tuple[str, ...]) -> Row:
    """A row that expects nothing to be found."""
    return Row(name, "", "none", str(len(faults)) if faults else "none", "", "", faults)


def finish(arguments: Sequence[str], folder: Path, address: str = "") -> int:
    """The program ran to its end in `folder`, on the engine at `address` or the usual one; its exit code."""
    with started(arguments, folder, address) as process:
        return process.wait()


@contextlib.contextmanager
def started(arguments: Sequence[str], folder: Path, address: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """The program runs in `folder`, and has ended when the block has."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            _command(*arguments),
            cwd=folder,
            env=_environment(address),
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "runner", *arguments]


def _environment(address: str = "") -> dict[str, str]:
    """The environment of the program, started in any folder: this checkout's code and cache."""
    cache = os.environ.get("PAIRBENCH_CACHE", str(ROOT / ".cache"))
    own = {"PYTHONPATH": str(ROOT), "PAIRBENCH_CACHE": cache}
    return {**os.environ, **own, **({"DOCKER_HOST": address} if address else {})}


def latest(folder: Path) -> Path:
    """The newest run that was started in `folder`."""
    return (folder / "runs" / "latest").resolve()


def _under_kills(study: Path, folder: Path, seed: int) -> list[str]:
    """The moments at which the runner was killed; the run has ended."""
    chance = random.Random(seed)  # noqa: S311 - moments that can be had again
    moments: list[str] = []
    arguments = ["run", str(study)]
    while len(moments) < KILLS:
        # The first one has to come to a lock: before that there is no run yet that could go on.
        at_work = not moments or chance.random() < 0.5
        moment_s = round(chance.uniform(*(_FROM_ITS_WORK_S if at_work else _FROM_ITS_START_S)), 3)
        with started(arguments, folder) as process:
            if at_work and not _came_to_trials(folder, process):
                return moments
            try:
                process.wait(moment_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                moments.append(f"{moment_s} s {'into its work' if at_work else 'after its start'}")
            else:
                return moments
        arguments = ["resume", str(latest(folder))]
    finish(arguments, folder)
    return moments


def _came_to_trials(folder: Path, process: subprocess.Popen[bytes]) -> bool:
    """Whether another attempt was started before the process ended."""
    before, deadline = _attempts(folder), time.monotonic() + _PATIENCE_S
    while _attempts(folder) == before:
        if process.poll() is not None:
            return False
        if time.monotonic() > deadline:
            raise EnvironmentNotReady("the run comes to no trials", document=str(folder / "log"))
        time.sleep(_PAUSE_S)
    return True


def _attempts(folder: Path) -> int:
    ledger = latest(folder) / layout.LEDGER
    return ledger.read_bytes().count(b'"kind":"attempt_started"') if ledger.exists() else 0


def ran_twice(folder: Path) -> Iterator[str]:
    """Trials that were tried again after an attempt that was final, and trials without exactly one final attempt."""
    whole, torn = without_torn_end((folder / layout.LEDGER).read_bytes())
    if torn:
        yield "the ledger's end is torn"
    lines, _ = read_ledger(whole, layout.LEDGER)
    final: Counter[str] = Counter()
    for line in lines:
        if line.kind == "attempt_started":
            if final[line.trial]:
                yield f"{line.trial} was started again as attempt {line.attempt}"
            final.setdefault(line.trial, 0)
        elif line.kind == "attempt_ended":
            final[line.trial] += line.detail.get("final") == "yes"
    yield from (f"{trial} has {count} final attempts" for trial, count in final.items() if count != 1)


def _differ(whole: Path, resumed: Path) -> Iterator[str]:
    documents = [folder / layout.SUMMARY for folder in (whole, resumed)]
    missing = [str(path) for path in documents if not path.exists()]
    if missing:
        yield f"there is no {missing[0]}"
        return
    yield from summaries_differ(*(path.read_bytes() for path in documents))


def unverified(folder: Path) -> Iterator[str]:
    """What `pairbench verify` finds wrong with the run."""
    done = subprocess.run(
        _command("verify", str(folder)), cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        yield from (done.stdout + done.stderr).splitlines()
