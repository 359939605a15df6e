"""The pod of one attempt: made, run, proven gone, collected, removed.

Knows containers and volumes, by the contract of `docs/reference/pod.md`; not what a client says or an outcome is.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.core.errors import EngineError, EngineGoneError
from runner.core.events import plain_text
from runner.core.evidence import (
    BODIES,
    COMPOSE,
    ENGINE,
    EXCHANGES,
    EXIT,
    GATEWAY_CONFIG,
    IN_FILES,
    LAUNCH,
    RECORDING,
    REPLAYED,
    SIDECAR,
    STDERR,
    STDOUT,
    EngineFacts,
    OutcomeHint,
)
from runner.core.gateway import KEY_FOLDER, KEY_NAME
from runner.core.in_files import in_files
from runner.core.owner import volume_name
from runner.core.tars import TreeFile, tar_of
from runner.execute.by_hand import compose_file
from runner.execute.containers import STORE_BYTES, gateway_spec, labels, sidecar_spec, trial_spec, volumes
from runner.execute.last_words import last_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.evidence import ContainerFacts
    from runner.execute.order import PodOrder
    from runner.ports.clock import Clock
    from runner.ports.engine import ContainerSpec, Engine, Entry

_MIB: Final = 1 << 20
_READY_MS: Final = 30_000
_SEAL_MS: Final = 10_000
# What the host grants the supervisor beyond its own deadlines before it ends the container itself.
_HOST_SLACK_MS: Final = 10_000
_SIDECAR_LOG_BYTES: Final = 16 * _MIB
_STORE_MS: Final = 30_000
# What the contract of the pod doesn't know is named up to a number: the ledger keeps it.
_MOST_REFUSED: Final = 20
_NAME_CHARACTERS: Final = 200
_KNOWN_OTHERS: Final = frozenset({"pod/run/gateway.sock"})
_OUT = {"stdout.jsonl": STDOUT, "stderr.txt": STDERR, "exit.json": EXIT}
_GATEWAY_OUT = {name: name for name in (EXCHANGES, BODIES, RECORDING, REPLAYED)}


@dataclass(frozen=True)
class Collected:
    """What an attempt left behind: raw files by name, and entries that were refused."""

    files: Mapping[str, bytes]
    refused: tuple[str, ...]


@dataclass
class Pod:
    """One attempt's containers and volumes, in the order of their life: `prepare`, `run`, `collect`, `dispose`."""

    engine: Engine
    clock: Clock
    order: PodOrder
    hint: OutcomeHint = OutcomeHint.NONE
    detail: str = ""
    engine_gone: EngineGoneError | None = None
    """Set when the engine stopped answering: then `hint` says nothing of the trial."""
    _began_ms: int = 0
    _pod_ms: int | None = None
    _gone: bool = False
    _cancelled: bool = False
    _containers: dict[str, str] = field(default_factory=dict)
    _volumes: list[str] = field(default_factory=list)
    _facts: dict[str, ContainerFacts] = field(default_factory=dict)

    def prepare(self) -> None:
        """Gateway and sidecar are ready and the trial container is made; or `hint` says what failed."""
        self._began_ms = self.clock.monotonic_ms()
        try:
            self._make_volumes()
            # Neither needs the other, and each spends most of its start waiting for the engine.
            with ThreadPoolExecutor(1) as beside:
                sidecar = beside.submit(self._start_sidecar)
                gateway_ready = self._start_gateway()
                sidecar_ready = sidecar.result()
            if not gateway_ready:
                why = last_words(self.engine, self._containers["gateway"])
                self._fail(OutcomeHint.GATEWAY_NOT_READY, f"the gateway did not say that it is ready{why}")
            elif not self._hand_over_key():
                self._fail(OutcomeHint.GATEWAY_NOT_READY, "the gateway did not take the provider's key")
            elif not sidecar_ready:
                self._fail(OutcomeHint.SIDECAR_NOT_READY, "the sidecar did not say that it is ready")
            else:
                self._make("trial", trial_spec(self.order, self._containers["sidecar"]))
        except EngineError as error:
            self._fail_with(error)

    def run(self) -> None:
        """The client ran and the trial container is proven gone; or `hint` says what failed."""
        if self.hint is not OutcomeHint.NONE:
            return
        limits, trial = self.order.limits, self._containers["trial"]
        patience_ms = 1000 * (limits.ready_s + limits.wall_s + limits.grace_s) + _HOST_SLACK_MS
        try:
            self.engine.start(trial)
            if self._cancelled:
                # Cancelled between the question above and the start: whoever cancelled found nothing to end.
                self.engine.kill(trial)
            if self.engine.wait(trial, patience_ms) is None:
                self._fail(
                    OutcomeHint.HOST_DEADLINE, "the supervisor did not end in time; the host ended the container"
                )
                self.engine.kill(trial)
                self.engine.wait(trial, _HOST_SLACK_MS)
            self._prove_gone(trial)
        except EngineError as error:
            self._fail_with(error)

    def cancel(self) -> None:
        """The trial's end was asked for by the host."""
        self._cancelled = True
        self._fail(OutcomeHint.CANCELLED, "the run was interrupted")
        trial = self._containers.get("trial")
        if trial is not None:
            with contextlib.suppress(EngineError):
                self.engine.kill(trial)

    def collect(self) -> Collected:
        """What the attempt left behind; whatever can't be read is left out, and `engine.json` says why."""
        files: dict[str, bytes] = {
            LAUNCH: self.order.launch.spec.to_bytes(),
            IN_FILES: in_files(self.order.launch).to_bytes(),
            GATEWAY_CONFIG: self.order.gateway.to_bytes(),
        }
        refused: list[str] = []
        try:
            self._prove_gone(self._containers.get("trial"))
            self._read_pod(files, refused)
            self._read_sidecar(files)
        except EngineError as error:
            self._fail_with(error)
        files[ENGINE] = self._engine_facts().to_bytes()
        identities = {role: facts.image for role, facts in self._facts.items()}
        files[COMPOSE] = compose_file(self.order, identities, recorded=RECORDING in files)
        return Collected(files, tuple(refused))

    def dispose(self) -> None:
        """Nothing of the pod is left; raises `EngineError` when the engine keeps something."""
        # The trial may share the sidecar's network: it goes first.
        self._remove("trial")
        with ThreadPoolExecutor(1) as beside:
            sidecar = beside.submit(self._remove, "sidecar")
            self._remove("gateway")
            sidecar.result()
        while self._volumes:
            self.engine.remove_volume(self._volumes[-1])
            self._volumes.pop()

    def _remove(self, role: str) -> None:
        if role in self._containers:
            self.engine.remove(self._containers[role])
            del self._containers[role]

    def _fail(self, hint: OutcomeHint, detail: str) -> None:
        if self.hint is OutcomeHint.NONE:
            self.hint, self.detail = hint, detail

    def _fail_with(self, error: EngineError) -> None:
        self._fail(OutcomeHint.ENGINE_ERROR, error.diagnostics())
        if isinstance(error, EngineGoneError):
            self.engine_gone = error

    def _make_volumes(self) -> None:
        for role, tmpfs in volumes(self.order).items():
            name = volume_name(self.order.prefix, role)
            self._volumes.append(name)
            self.engine.create_volume(name, labels(self.order, role), tmpfs)

    def _make(self, role: str, spec: ContainerSpec) -> str:
        container = self.engine.create(spec)
        self._containers[role] = container
        return container

    def _start_gateway(self) -> bool:
        gateway = self._make("gateway", gateway_spec(self.order))
        files = {"gateway.json": self.order.gateway.to_bytes(), **self.order.gateway_files}
        self.engine.put_tar(gateway, "/in", tar_of({name: TreeFile(data) for name, data in files.items()}))
        inside = {file.name: TreeFile(file.data) for file in self.order.launch.in_files()}
        self.engine.put_tar(gateway, "/trial-in", tar_of(inside))
        return self.engine.start_until_ready(gateway, _READY_MS)

    def _hand_over_key(self) -> bool:
        """Whether the gateway has the key that it needs; it removes the file as soon as it has read it."""
        if self.order.key is None:
            return True
        gateway = self._containers["gateway"]
        self.engine.put_tar(gateway, KEY_FOLDER, tar_of({KEY_NAME: TreeFile(self.order.key.text.encode("ascii"))}))
        return self.engine.signal_until(gateway, "SIGUSR2", "keyed", _SEAL_MS)

    def _start_sidecar(self) -> bool:
        return self.engine.start_until_ready(self._make("sidecar", sidecar_spec(self.order)), _READY_MS)

    def _prove_gone(self, trial: str | None) -> None:
        if self._gone or trial is None:
            return
        seen = self.engine.inspect(trial)
        self._facts["trial"] = seen.facts
        if seen.running:
            self.engine.kill(trial)
            self.engine.wait(trial, _HOST_SLACK_MS)
            seen = self.engine.inspect(trial)
            self._facts["trial"] = seen.facts
        self._gone = not seen.running
        if not self._gone:
            raise EngineError("the trial container can't be ended", document=trial)
        self._pod_ms = self.clock.monotonic_ms() - self._began_ms

    def _read_pod(self, files: dict[str, bytes], refused: list[str]) -> None:
        gateway = self._containers.get("gateway")
        if gateway is None:
            return
        seen = self.engine.inspect(gateway)
        self._facts["gateway"] = seen.facts
        if not seen.running:
            return
        if not self.engine.signal_until(gateway, "SIGUSR1", "sealed", _SEAL_MS):
            self._fail(OutcomeHint.ENGINE_ERROR, "the gateway did not seal its evidence")
        wanted = {f"pod/out/{name}": kept for name, kept in _OUT.items()}
        wanted |= {f"pod/gateway/{name}": kept for name, kept in _GATEWAY_OUT.items()}
        others = 0
        for entry in self.engine.read_tree(gateway, "/pod", 2 * self.order.limits.pod_bytes):
            name = wanted.get(entry.name)
            if name is not None and entry.data is not None and name not in files:
                files[name] = entry.data
                continue
            reason = _refusal(entry)
            others += bool(reason)
            if reason and others <= _MOST_REFUSED:
                # Names are data of whoever made them: of any length, and not always text.
                refused.append(f"{plain_text(entry.name)[:_NAME_CHARACTERS]}: {reason}")
        if others > _MOST_REFUSED:
            refused.append(f"and {others - _MOST_REFUSED} further entries")

    def _read_sidecar(self, files: dict[str, bytes]) -> None:
        sidecar = self._containers.get("sidecar")
        if sidecar is None:
            return
        seen = self.engine.inspect(sidecar)
        # How it stood when the trial had ended: what it is told to do afterwards is no fact of the trial.
        self._facts["sidecar"] = seen.facts
        limit = _SIDECAR_LOG_BYTES
        if self.order.prints_store and seen.running:
            limit += STORE_BYTES
            # A store that isn't printed is missed in the evidence, and told there. The engine keeps what a container
            # printed a moment later than it passes it on: all of it is there when the container has ended.
            if self.engine.signal_until(sidecar, "SIGTERM", "dumped", _STORE_MS):
                self.engine.wait(sidecar, _STORE_MS)
        files[SIDECAR] = self.engine.output(sidecar, limit)

    def _engine_facts(self) -> EngineFacts:
        return EngineFacts(
            gateway=self._facts.get("gateway"),
            sidecar=self._facts.get("sidecar"),
            trial=self._facts.get("trial"),
            outcome_hint=self.hint,
            detail=self.detail,
            pod_ms=self._pod_ms,
            gone_proven=self._gone,
        )


def _refusal(entry: Entry) -> str:
    """Why the entry isn't taken; "" for what needs no word."""
    if entry.kind == "file":
        return "not a file that the pod's contract knows, or one that stands twice"
    return entry.detail if entry.kind == "other" and entry.name not in _KNOWN_OTHERS else ""
