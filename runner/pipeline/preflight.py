"""Is this machine fit to run a study? Everything that is missing is said at once, before anything starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.errors import EnvironmentNotReady, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.core.resolved import ResolvedStudy
    from runner.pipeline.world import World
    from runner.ports.engine import Engine, EngineInfo

_MIB: Final = 1 << 20
_DISK_RESERVE_BYTES: Final = 512 * _MIB
# Before this the program didn't exist: a clock that says so is wrong, and every time that a run keeps would be.
_EARLIEST: Final = "2026-01-01"


def ready_engine(
    world: World, study: ResolvedStudy, document: str, trials: int, pinned: Collection[str] = ()
) -> Engine:
    """The engine, which can run `trials` trials of `study`, as the rest of the machine can; `document` is its path.

    Images of arms that are `pinned` aren't looked for by the names that the study gives them.

    Raises:
        EnvironmentNotReady: with everything that is missing.
    """
    machine = looked_at(world, study, document, trials)
    problems = list(machine.problems)
    if machine.answers is None:
        raise EnvironmentNotReady.of(problems)
    engine, info = machine.answers
    problems += [*_room_problems(info, study, document), *foreign_image_problems(engine, study, document, pinned)]
    if problems:
        raise EnvironmentNotReady.of(problems)
    return engine


@dataclass(frozen=True)
class Machine:
    """This machine, as it was found."""

    answers: tuple[Engine, EngineInfo] | None
    """The engine; None where none answers."""
    problems: tuple[Problem, ...]
    """Everything that it lacks."""


def looked_at(world: World, study: ResolvedStudy, document: str, trials: int) -> Machine:
    """What this machine has and lacks to run `trials` trials of `study`.

    Images, and memory for as many pods at once as the study runs, aren't looked at.
    """
    problems = (*_disk_problems(world, trials), *_clock_problems(world), *_key_problems(world, study))
    try:
        engine = world.engine()
        info = engine.info()
    except EnvironmentNotReady as error:
        return Machine(None, (*problems, *error.problems))
    return Machine((engine, info), (*problems, *_engine_problems(info, study, document)))


def foreign_image_problems(
    engine: Engine, study: ResolvedStudy, document: str, brought: Collection[str] = ()
) -> Iterator[Problem]:
    """The images that arms name by digest and the engine hasn't got, and that aren't `brought` in another way."""
    for arm in study.arms:
        # Nothing is pulled in silence: what an arm names by digest is brought by whoever runs the study.
        if "@" in arm.image and arm.image not in brought and engine.image(arm.image) is None:
            hint = f"docker pull {arm.image}"
            yield Problem(f"the engine hasn't got {arm.image}", document, f"arms.{arm.name}.image", hint)


def _key_problems(world: World, study: ResolvedStudy) -> Iterator[Problem]:
    if study.model.goes_out:
        try:
            world.provider_key()
        except EnvironmentNotReady as error:
            yield from error.problems


def _engine_problems(info: EngineInfo, study: ResolvedStudy, document: str) -> Iterator[Problem]:
    limits = study.limits
    if limits.cpus > info.cpus:
        yield Problem(f"the engine has {info.cpus} CPUs, not {limits.cpus}", document, "limits.cpus")
    missing = [name for name, there in info.limits.items() if not there]
    if missing:
        yield Problem(f"it can't limit {', '.join(missing)}", "container engine", hint="trials need these limits")


def _room_problems(info: EngineInfo, study: ResolvedStudy, document: str) -> Iterator[Problem]:
    slots = study.schedule.slots if study.schedule.slots != "auto" else 1
    needed, there = slots * study.limits.pod_memory_bytes, info.memory_bytes
    if needed > there:
        message = f"{slots} pods may take {needed} bytes, and the engine has {there}"
        yield Problem(message, document, "limits.memory_bytes", "lower it, or schedule.slots")


def _disk_problems(world: World, trials: int) -> Iterator[Problem]:
    # A trial of the size that people run leaves well under a megabyte; what it may leave at most is in the limits.
    estimate = _DISK_RESERVE_BYTES + trials * _MIB
    try:
        free = world.files.free_bytes(world.places.runs)
    except EnvironmentNotReady as error:
        yield from error.problems
        return
    if free < estimate:
        message = f"{free} bytes are free, and about {estimate} are needed for {trials} trials"
        yield Problem(message, str(world.places.runs), hint="make room, or run elsewhere")


def _clock_problems(world: World) -> Iterator[Problem]:
    if world.clock.utc() < _EARLIEST:
        yield Problem(f"it says {world.clock.utc()}", "clock", hint="set the machine's time")
