"""What differs between the occasion that a lock names and this one: what stops a rerun, and what is only worth knowing.

All of it is found before anything starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.clients.report import counted
from runner.core import layout
from runner.core.errors import PairbenchError, Problem
from runner.core.lock import PROTOCOL_VERSION
from runner.core.reconsolidation.contract import Contract
from runner.pipeline.pinning import arm_pins, engine_pin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.lock import HarnessPin, Lock
    from runner.core.resolved import ResolvedStudy
    from runner.pipeline.folder import Run
    from runner.pipeline.manners import Manner
    from runner.ports.engine import EngineInfo
    from runner.ports.files import Files

_SHOWN: Final = 3
_ALSO_CALLED: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Engines take the name of a platform from the kernel or from Go."""


@dataclass(frozen=True)
class Difference:
    """One thing that isn't what it was, by its key in the lock."""

    key: str
    before: str
    now: str

    def __str__(self) -> str:
        """For a person."""
        return f"{self.key} was {self.before}, and is {self.now}"


def engine_differences(lock: Lock, info: EngineInfo) -> list[Difference]:
    """What engine and machine were, and are now; nothing where they are the same."""
    before, now = lock.engine.json_value(), engine_pin(info).json_value()
    return [Difference(f"engine.{key}", str(before[key]), str(now[key])) for key in before if before[key] != now[key]]


def engine_problems(lock: Lock, info: EngineInfo) -> Iterator[Problem]:
    """What of an engine can't be honoured: images hold programs of one architecture only."""
    if _architecture(info.architecture) != _architecture(lock.engine.architecture):
        yield Problem(
            f"the engine runs on {info.architecture}, and the run's images are for {lock.engine.architecture}",
            layout.LOCK,
            "engine.architecture",
            f"rerun it on {lock.engine.architecture}",
        )


def room_problems(study: ResolvedStudy, info: EngineInfo) -> Iterator[Problem]:
    """That the engine hasn't got the memory for as many pods at once as the study runs, and how many it has it for."""
    slots, each = _slots(study), study.limits.pod_memory_bytes
    fitting = info.memory_bytes // each
    if fitting < slots:
        hint = f"rerun it with --slots {fitting}" if fitting else "rerun it on an engine with more memory"
        told = f"{slots} pods at once may take {slots * each} bytes, and the engine has {info.memory_bytes}"
        yield Problem(told, layout.STUDY, "schedule.slots", hint)


def room_notices(study: ResolvedStudy, info: EngineInfo) -> Iterator[str]:
    """That trials will share CPUs that each may use alone."""
    slots, each = _slots(study), study.limits.cpus
    if each <= info.cpus < slots * each:
        yield f"{slots} trials at once may use {slots * each} CPUs, and the engine has {info.cpus}: they will wait more"


def code_differences(lock: Lock, harness: HarnessPin) -> list[Difference]:
    """What the code was that the lock names, and is now; nothing where both are the same."""
    found: list[Difference] = []
    if lock.harness.source_sha256 != harness.source_sha256:
        pairs = (
            ("harness.version", lock.harness.version, harness.version),
            ("harness.source_sha256", lock.harness.source_sha256, harness.source_sha256),
            ("protocol_version", lock.protocol_version, PROTOCOL_VERSION),
        )
        found += [Difference(key, before, now) for key, before, now in pairs if before != now]
    if lock.harness.python != harness.python:
        found.append(Difference("harness.python", lock.harness.python, harness.python))
    return found


def launch_differences(lock: Lock, study: ResolvedStudy) -> list[Difference]:
    """The arms that the code at hand launches in another way than the run's did."""
    try:
        now = {pin.name: pin for pin in arm_pins(study)}
    except PairbenchError as error:
        return [Difference("arms", "launched", f"refused: {error.problems[0].message}")]
    found: list[Difference] = []
    for pin in lock.arms:
        other = now.get(pin.name)
        if other is None or other.launch_sha256 != pin.launch_sha256:
            found.append(
                Difference(
                    f"arms.{pin.name}.launch_sha256",
                    pin.launch_sha256,
                    "none" if other is None else other.launch_sha256,
                )
            )
        elif other.difference != pin.difference:
            found.append(Difference(f"arms.{pin.name}.difference", _lines(pin.difference), _lines(other.difference)))
    return found


def evidence_notices(files: Files, original: Run, manner: Manner) -> Iterator[str]:
    """What a rerun of `original` can't be, however it is made."""
    if manner.header is not None and manner.header.incomplete:
        names = manner.header.incomplete
        shown = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
        of = counted(len(names), "trial")
        yield f"not every exchange of {of} was recorded; what they come to may differ: {shown}"
    data = files.read(original.folder / layout.CONTRACT)
    if data is not None and not Contract.from_bytes(data, layout.CONTRACT).terms.holdout_seen_before:
        yield (
            "the contract claims a fresh holdout, which no rerun has: a review of this one will say that "
            f"{original.lock.run} came before"
        )


def as_detail(differences: list[Difference]) -> Mapping[str, str]:
    """`differences` as the ledger tells them."""
    return {one.key: f"{one.before} -> {one.now}" for one in differences}


def _architecture(name: str) -> str:
    return _ALSO_CALLED.get(name, name)


def _slots(study: ResolvedStudy) -> int:
    return 1 if study.schedule.slots == "auto" else study.schedule.slots


def _lines(difference: tuple[str, ...]) -> str:
    return "; ".join(difference) or "nothing"
