"""A plan is run: blocks in their order, the arms of a block back to back, pods prepared ahead where the study says so.

Knows pods and the ledger; what an outcome is, is told by whoever hands in `judge`.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.core.canonical import sha256_digest
from runner.core.errors import EngineError
from runner.core.layout import attempt_folder
from runner.core.owner import RUN
from runner.execute.pod import Pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.core.outcomes import Outcome
    from runner.core.plan import Plan, PlannedTrial
    from runner.core.study import Schedule
    from runner.execute.journal import Journal
    from runner.execute.pod import Collected, PodOrder
    from runner.ports.clock import Clock
    from runner.ports.engine import Engine
    from runner.ports.files import Files
    from runner.ports.progress import Progress

_THREADS_A_SLOT: Final = 3


@dataclass(frozen=True)
class Verdict:
    """What an attempt came to, and whether another one may be made."""

    outcome: Outcome
    reason: str
    retry: bool


@dataclass(frozen=True)
class Crew:
    """The outside that a run needs."""

    engine: Engine
    files: Files
    clock: Clock
    journal: Journal
    progress: Progress


@dataclass
class Execution:
    """One run of one plan in `folder`."""

    crew: Crew
    folder: Path
    plan: Plan
    schedule: Schedule
    order: Callable[[PlannedTrial, int], PodOrder]
    judge: Callable[[PlannedTrial, Mapping[str, bytes]], Verdict]
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pods: dict[int, Pod] = field(default_factory=dict)

    def run(self) -> bool:
        """Every trial of the plan ran and nothing of its pods is left; False when `stop` cut it short.

        Raises:
            EngineError: the engine keeps something of a pod, or stopped answering.
            EnvironmentNotReady: evidence can't be written.
        """
        blocks = _Blocks(self.plan)
        slots = self.schedule.slots
        with ThreadPoolExecutor(slots) as workers, ThreadPoolExecutor(_THREADS_A_SLOT * slots) as side:
            running = [workers.submit(self._slot, blocks, side) for _ in range(slots)]
            try:
                for future in running:
                    future.result()
            except BaseException:
                self.stop()
                raise
        return not self._stop.is_set()

    def stop(self) -> None:
        """No further trial starts, and the clients that run are ended."""
        self._stop.set()
        with self._lock:
            pods = list(self._pods.values())
        for pod in pods:
            pod.cancel()

    def _slot(self, blocks: _Blocks, side: ThreadPoolExecutor) -> None:
        disposals: list[Future[None]] = []
        trials = blocks.trials()
        ahead = self._prepare_next(trials, side)
        try:
            while ahead is not None and not self._stop.is_set():
                planned, prepared = ahead
                pod, attempt = prepared.result(), 1
                if self.schedule.preparation == "overlap":
                    ahead = self._prepare_next(trials, side)
                while self._attempt(planned, attempt, pod, disposals, side).retry and not self._stop.is_set():
                    attempt += 1
                    pod = self._prepare(planned, attempt)
                if self.schedule.preparation == "exclusive":
                    _settle(disposals)
                    ahead = self._prepare_next(trials, side)
        finally:
            if ahead is not None:
                disposals.append(side.submit(self._discard, ahead[1]))
            _settle(disposals)

    def _prepare_next(
        self, trials: Iterator[PlannedTrial], side: ThreadPoolExecutor
    ) -> tuple[PlannedTrial, Future[Pod]] | None:
        planned = None if self._stop.is_set() else next(trials, None)
        return None if planned is None else (planned, side.submit(self._prepare, planned, 1))

    def _prepare(self, planned: PlannedTrial, attempt: int) -> Pod:
        self.crew.journal.attempt_started(planned.trial, attempt)
        pod = Pod(self.crew.engine, self.crew.clock, self.order(planned, attempt))
        with self._lock:
            self._pods[id(pod)] = pod
        pod.prepare()
        return pod

    def _attempt(
        self, planned: PlannedTrial, attempt: int, pod: Pod, disposals: list[Future[None]], side: ThreadPoolExecutor
    ) -> Verdict:
        self.crew.progress.trial_started(planned, attempt)
        try:
            if self._stop.is_set():
                pod.cancel()
            pod.run()
            collected = pod.collect()
            verdict = self._keep(planned, attempt, collected)
        finally:
            disposals.append(side.submit(self._dispose, pod))
        self.crew.progress.trial_ended(planned, attempt, verdict.outcome, verdict.reason)
        return verdict

    def _keep(self, planned: PlannedTrial, attempt: int, collected: Collected) -> Verdict:
        place = attempt_folder(planned.trial, attempt)
        digests: dict[str, str] = {}
        for name, data in sorted(collected.files.items()):
            self.crew.files.write(self.folder / place / name, data)
            digests[f"{place}/{name}"] = sha256_digest(data)
        found = self.judge(planned, collected.files)
        verdict = Verdict(found.outcome, found.reason, found.retry and attempt < self.schedule.attempts)
        detail = {"outcome": verdict.outcome.value, "reason": verdict.reason}
        detail |= {f"refused {number}": text for number, text in enumerate(collected.refused, 1)}
        self.crew.journal.attempt_ended(planned.trial, attempt, digests, detail)
        return verdict

    def _discard(self, prepared: Future[Pod]) -> None:
        """A pod that was prepared and never ran is gone; its start stays in the ledger, without an end."""
        self._dispose(prepared.result())

    def _dispose(self, pod: Pod) -> None:
        try:
            pod.dispose()
        finally:
            with self._lock:
                self._pods.pop(id(pod), None)


@dataclass
class _Blocks:
    """The blocks of a plan, each handed to one slot."""

    plan: Plan
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def trials(self) -> Iterator[PlannedTrial]:
        """The trials of one block after the other, as blocks are left to be taken."""
        while True:
            with self._lock:
                first = self._next
                if first >= len(self.plan.trials):
                    return
                block = self.plan.trials[first].block
                last = first
                while last < len(self.plan.trials) and self.plan.trials[last].block == block:
                    last += 1
                self._next = last
            yield from self.plan.trials[first:last]


def _settle(disposals: list[Future[None]]) -> None:
    """Every disposal is done; the first failure is raised after the last."""
    failures = [error for error in (future.exception() for future in disposals) if error is not None]
    disposals.clear()
    if failures:
        raise failures[0]


def remove_run(engine: Engine, run: str) -> None:
    """Nothing in the engine carries the label of `run`.

    Raises:
        EngineError: something can't be removed.
    """
    left = [item for item in engine.owned() if item.labels.get(RUN) == run]
    for item in left:
        if item.kind == "container":
            engine.remove(item.identity)
    for item in left:
        if item.kind == "volume":
            engine.remove_volume(item.identity)
    if any(item.labels.get(RUN) == run for item in engine.owned()):
        raise EngineError(f"something of the run {run} can't be removed", hint="pairbench gc")
