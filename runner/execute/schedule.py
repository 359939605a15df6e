"""A plan is run: blocks in their order, the arms of a block back to back, pods prepared ahead where the study says so.

Knows pods and the ledger; what an outcome is, is told by whoever hands in `judge`.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.core.canonical import sha256_digest
from runner.core.errors import EngineError
from runner.core.evidence import OutcomeHint
from runner.core.layout import attempt_folder
from runner.core.outcomes import Outcome
from runner.core.owner import RUN
from runner.core.spending import UNCAPPED_MICROUSD
from runner.execute.pod import Pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.core.plan import PlannedTrial
    from runner.core.study import Schedule
    from runner.execute.journal import Journal
    from runner.execute.order import PodOrder
    from runner.execute.pod import Collected
    from runner.ports.clock import Clock
    from runner.ports.engine import Engine, Owned
    from runner.ports.files import Files
    from runner.ports.progress import Progress

_THREADS_A_SLOT: Final = 3
NEVER_RUN: Final = "its pod was prepared, and the run ended before it"
"""Why an attempt was cancelled that never began."""
# A full disk, a damaged image: an engine that fails so many attempts in a row fails all of them.
_MOST_ENGINE_FAILURES: Final = 3


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


@dataclass(frozen=True)
class Standing:
    """What was there of a trial before: which number its next attempt gets, and how many attempts count as used."""

    next_attempt: int = 1
    used: int = 0


@dataclass
class Execution:
    """One run of `trials`, whole blocks in their order, in `folder`."""

    crew: Crew
    folder: Path
    trials: tuple[PlannedTrial, ...]
    schedule: Schedule
    order: Callable[[PlannedTrial, int], PodOrder]
    judge: Callable[[PlannedTrial, Mapping[str, bytes]], Verdict]
    slots: int = 1
    embedding_arms: frozenset[str] = frozenset()
    """Arms whose trials count against `schedule.embedders`."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """By trial; one that isn't named was never tried."""
    settle: Callable[[PlannedTrial, int, Mapping[str, bytes] | None], None] = lambda *_: None
    """Told what each attempt left, once it ended; None: nobody knows. It may be told twice."""
    give_up: Callable[[], None] = lambda: None
    """Told that nothing further is to be waited for."""
    _draining: threading.Event = field(default_factory=threading.Event)
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pods: dict[int, Pod] = field(default_factory=dict)
    _engine_failures: int = 0
    """Attempts in a row that the engine failed."""
    _done: int = 0
    _embedders: threading.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Nobody embeds yet."""
        self._embedders = threading.Semaphore(self.schedule.embedders)

    def run(self) -> bool:
        """Every trial ran and nothing of its pods is left; False when `drain` or `cancel` cut it short.

        Raises:
            EngineError: the engine keeps something of a pod, or stopped answering.
            EnvironmentNotReady: evidence can't be written.
        """
        blocks = _Blocks(self.trials)
        slots = self.slots
        # The slots end first: until then they hand over pods that are to be removed.
        with ThreadPoolExecutor(_THREADS_A_SLOT * slots) as side, ThreadPoolExecutor(slots) as workers:
            running = [workers.submit(self._slot, blocks, side) for _ in range(slots)]
            try:
                wait(running, return_when=FIRST_EXCEPTION)
                for future in running:
                    if future.done():
                        future.result()
            except BaseException:
                self.cancel()
                raise
        for future in running:
            future.result()
        return self._done == len(self.trials)

    def drain(self) -> None:
        """No further trial starts; the ones that run go on to their end."""
        self._draining.set()

    def cancel(self) -> None:
        """No further trial starts, and the clients that run are ended."""
        self._draining.set()
        self._cancelled.set()
        with self._lock:
            pods = list(self._pods.values())
        self.give_up()
        for pod in pods:
            pod.cancel()

    def _slot(self, blocks: _Blocks, side: ThreadPoolExecutor) -> None:
        disposals: list[Future[None]] = []
        trials = blocks.trials()
        ahead = self._prepare_next(trials, side)
        try:
            while ahead is not None and not self._draining.is_set():
                planned, prepared = ahead
                pod = prepared.result()
                ahead = self._prepare_next(trials, side) if self.schedule.preparation == "overlap" else None
                self._trial(planned, pod, disposals, side)
                if self.schedule.preparation == "exclusive":
                    _settle(disposals)
                    ahead = self._prepare_next(trials, side)
        finally:
            if ahead is not None:
                disposals.append(side.submit(self._discard, *ahead))
            _settle(disposals)

    def _trial(self, planned: PlannedTrial, pod: Pod, disposals: list[Future[None]], side: ThreadPoolExecutor) -> None:
        standing = self.standings.get(planned.trial, Standing())
        attempt, used = standing.next_attempt, standing.used + 1
        while True:
            try:
                verdict = self._attempt(planned, attempt, pod, may_retry=used < self.schedule.attempts)
            finally:
                # After whatever happened: somebody may wait for what this attempt didn't use.
                self.settle(planned, attempt, None)
                disposals.append(side.submit(self._dispose, pod))
            if not verdict.retry or self._draining.is_set():
                with self._lock:
                    self._done += not verdict.retry and verdict.outcome is not Outcome.CANCELLED
                return
            attempt, used = attempt + 1, used + 1
            pod = self._prepare(planned, attempt)

    def _prepare_next(
        self, trials: Iterator[PlannedTrial], side: ThreadPoolExecutor
    ) -> tuple[PlannedTrial, Future[Pod]] | None:
        planned = None if self._draining.is_set() else next(trials, None)
        if planned is None:
            return None
        standing = self.standings.get(planned.trial, Standing())
        return planned, side.submit(self._prepare, planned, standing.next_attempt)

    def _prepare(self, planned: PlannedTrial, attempt: int) -> Pod:
        self.crew.journal.attempt_started(planned.trial, attempt)
        pod = Pod(self.crew.engine, self.crew.clock, self.order(planned, attempt))
        with self._lock:
            self._pods[id(pod)] = pod
        pod.prepare()
        return pod

    def _attempt(self, planned: PlannedTrial, attempt: int, pod: Pod, *, may_retry: bool) -> Verdict:
        self.crew.progress.trial_started(planned, attempt)
        with self._embedders if planned.arm in self.embedding_arms else contextlib.nullcontext():
            if self._cancelled.is_set():
                pod.cancel()
            self._announce_grant(planned, attempt, pod)
            pod.run()
        collected = pod.collect()
        self.settle(planned, attempt, collected.files)
        hopeless = self._engine_fault(pod)
        verdict = self._keep(planned, attempt, collected, may_retry=may_retry or hopeless is not None)
        if hopeless is not None:
            # Whatever is tried next would fail the same way: trials that could still be run would be used up.
            raise hopeless
        self.crew.progress.trial_ended(planned, attempt, verdict.outcome, verdict.reason)
        return verdict

    def _announce_grant(self, planned: PlannedTrial, attempt: int, pod: Pod) -> None:
        """If the attempt's client is about to start, and its spending is capped, the ledger says what it may spend.

        Nobody but the client can spend anything: an attempt that was broken off without this line spent nothing.
        """
        spending = pod.order.gateway.spending
        if spending is not None and spending.grant_microusd != UNCAPPED_MICROUSD and pod.hint is OutcomeHint.NONE:
            self.crew.journal.attempt_granted(planned.trial, attempt, spending.grant_microusd)

    def _engine_fault(self, pod: Pod) -> EngineError | None:
        """Why nothing further can be tried on the engine; None while it works, or fails now and then."""
        with self._lock:
            self._engine_failures = self._engine_failures + 1 if pod.hint is OutcomeHint.ENGINE_ERROR else 0
            failures = self._engine_failures
        if pod.engine_gone is not None or failures < _MOST_ENGINE_FAILURES:
            return pod.engine_gone
        return EngineError(
            f"it failed {failures} attempts one after the other, the last one so: {pod.detail}",
            document="container engine",
            hint="mend it, and go on with: pairbench resume",
        )

    def _keep(self, planned: PlannedTrial, attempt: int, collected: Collected, *, may_retry: bool) -> Verdict:
        place = attempt_folder(planned.trial, attempt)
        digests: dict[str, str] = {}
        for name, data in sorted(collected.files.items()):
            self.crew.files.write(self.folder / place / name, data)
            digests[f"{place}/{name}"] = sha256_digest(data)
        found = self.judge(planned, collected.files)
        verdict = Verdict(found.outcome, found.reason, found.retry and may_retry)
        detail = end_detail(verdict.outcome, verdict.reason, final=not verdict.retry)
        detail |= {f"refused {number}": text for number, text in enumerate(collected.refused, 1)}
        self.crew.journal.attempt_ended(planned.trial, attempt, digests, detail)
        return verdict

    def _discard(self, planned: PlannedTrial, prepared: Future[Pod]) -> None:
        """A pod that was prepared and never ran is gone, and the ledger says so."""
        pod = prepared.result()
        self.settle(planned, pod.order.attempt, {})
        self._dispose(pod)
        detail = end_detail(Outcome.CANCELLED, NEVER_RUN, final=False)
        self.crew.journal.attempt_ended(planned.trial, pod.order.attempt, {}, detail)

    def _dispose(self, pod: Pod) -> None:
        try:
            try:
                pod.dispose()
            except EngineError:
                # A busy engine refuses now and then; what it refuses twice is told.
                pod.dispose()
        finally:
            with self._lock:
                self._pods.pop(id(pod), None)


def end_detail(outcome: Outcome, reason: str, *, final: bool) -> dict[str, str]:
    """What the ledger says of an attempt's end; a trial is done when its last attempt was final."""
    # What was cancelled says nothing about the trial: it is always run again.
    return {
        "outcome": outcome.value,
        "reason": reason,
        "final": "yes" if final and outcome is not Outcome.CANCELLED else "no",
    }


@dataclass
class _Blocks:
    """Blocks in their order, each handed to one slot."""

    planned: tuple[PlannedTrial, ...]
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def trials(self) -> Iterator[PlannedTrial]:
        """The trials of one block after the other, as blocks are left to be taken."""
        while True:
            with self._lock:
                first = self._next
                if first >= len(self.planned):
                    return
                block = self.planned[first].block
                last = first
                while last < len(self.planned) and self.planned[last].block == block:
                    last += 1
                self._next = last
            yield from self.planned[first:last]


def _settle(disposals: list[Future[None]]) -> None:
    """Every disposal is done; the first failure is raised after the last."""
    failures = [error for error in (future.exception() for future in disposals) if error is not None]
    disposals.clear()
    if failures:
        raise failures[0]


def remove_owned(engine: Engine, item: Owned) -> None:
    """What carries a label of ours is gone."""
    match item.kind:
        case "container":
            engine.remove(item.identity)
        case "volume":
            engine.remove_volume(item.identity)
        case "network":
            engine.remove_network(item.identity)


def remove_run(engine: Engine, run: str) -> None:
    """Nothing in the engine carries the label of `run`.

    Raises:
        EngineError: something can't be removed.
    """
    left = [item for item in engine.owned() if item.labels.get(RUN) == run]
    for item in sorted(left, key=lambda item: item.kind != "container"):
        remove_owned(engine, item)
    if any(item.labels.get(RUN) == run for item in engine.owned()):
        raise EngineError(f"something of the run {run} can't be removed", hint="pairbench gc")
