"""Strikes containers of a pod from outside, through the engine, once their client runs."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

import docker
import docker.errors

from runner.core.owner import ATTEMPT, ROLE, TRIAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.outcomes import Outcome
    from runner.core.plan import PlannedTrial
    from scripts.faults.expected import Injection, Scenario

_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.02
_PROCESS: Final = "pairbench.process"
_STARTED: Final = b'"event":"ready"'


class Injector:
    """A watcher of a run that strikes where a scenario says so; `close` waits for the last blow."""

    def __init__(self, address: str, scenarios: Mapping[str, Scenario]) -> None:
        """Nothing was struck yet."""
        self._address = address
        self._scenarios = scenarios
        self._threads: list[threading.Thread] = []
        self.struck: list[str] = []
        """What was struck, a line each."""

    def step(self, text: str) -> None:
        """A person sees what is going on."""
        sys.stderr.write(f"  {text}\n")

    def planned(self, trials: int) -> None:
        """A person sees how many trials there are."""
        sys.stderr.write(f"  {trials} trials\n")

    def trial_started(self, planned: PlannedTrial, attempt: int) -> None:
        """A blow is on its way, if the scenario says so."""
        scenario = self._scenarios.get(planned.task)
        injection = scenario.inject if scenario else None
        if injection is None or attempt not in injection.attempts:
            return
        thread = threading.Thread(target=self._strike, args=(planned.trial, attempt, injection), daemon=True)
        self._threads.append(thread)
        thread.start()

    def trial_ended(self, planned: PlannedTrial, attempt: int, outcome: Outcome, reason: str) -> None:
        """A person sees how it ended."""
        sys.stderr.write(f"  {planned.trial} {attempt}: {outcome} {reason}\n")

    def close(self) -> None:
        """Every blow was struck."""
        for thread in self._threads:
            thread.join()

    def _strike(self, trial: str, attempt: int, injection: Injection) -> None:
        labels = {TRIAL: trial, ATTEMPT: str(attempt), _PROCESS: str(os.getpid())}
        deadline = time.monotonic() + _PATIENCE_S
        with closing(docker.APIClient(base_url=self._address, version="auto")) as engine:
            while time.monotonic() < deadline:
                # What isn't there yet, or no longer, is looked for again until the patience is over.
                with contextlib.suppress(docker.errors.APIError):
                    client = _container(engine, {**labels, ROLE: "trial"})
                    if client and _STARTED in engine.logs(client):
                        engine.kill(_container(engine, {**labels, ROLE: injection.role}), signal=injection.signal)
                        self.struck.append(f"{injection.signal} to the {injection.role} of {trial}, attempt {attempt}")
                        return
                time.sleep(_PAUSE_S)


def _container(engine: docker.APIClient, labels: Mapping[str, str]) -> str:
    found = engine.containers(filters={"label": [f"{name}={value}" for name, value in labels.items()]})
    return str(found[0]["Id"]) if found else ""
