"""Is this machine fit to run a study? Everything that is missing is said at once, before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.errors import EnvironmentNotReady, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.resolved import ResolvedStudy
    from runner.pipeline.world import World
    from runner.ports.engine import Engine

_MIB: Final = 1 << 20
_DISK_RESERVE_BYTES: Final = 512 * _MIB
# Before this the program didn't exist: a clock that says so is wrong, and every time that a run keeps would be.
_EARLIEST: Final = "2026-01-01"


def ready_engine(world: World, study: ResolvedStudy, document: str, trials: int) -> Engine:
    """The engine, which can run `trials` trials of `study`, as the rest of the machine can; `document` is its path.

    Raises:
        EnvironmentNotReady: with everything that is missing.
    """
    engine, problems = looked_at(world, study, document, trials)
    if engine is not None:
        problems += foreign_image_problems(engine, study, document)
    if engine is None or problems:
        raise EnvironmentNotReady.of(problems)
    return engine


def looked_at(world: World, study: ResolvedStudy, document: str, trials: int) -> tuple[Engine | None, list[Problem]]:
    """The engine, if one answers, and everything that this machine lacks to run `trials` trials of `study`."""
    problems = [*_disk_problems(world, trials), *_clock_problems(world), *_key_problems(world, study)]
    try:
        engine = world.engine()
        return engine, [*problems, *_engine_problems(engine, study, document)]
    except EnvironmentNotReady as error:
        return None, [*problems, *error.problems]


def foreign_image_problems(engine: Engine, study: ResolvedStudy, document: str) -> Iterator[Problem]:
    """The images that arms name by digest and the engine hasn't got."""
    for arm in study.arms:
        # Nothing is pulled in silence: what an arm names by digest is brought by whoever runs the study.
        if "@" in arm.image and engine.image(arm.image) is None:
            hint = f"docker pull {arm.image}"
            yield Problem(f"the engine hasn't got {arm.image}", document, f"arms.{arm.name}.image", hint)


def _key_problems(world: World, study: ResolvedStudy) -> Iterator[Problem]:
    if study.model.goes_out:
        try:
            world.provider_key()
        except EnvironmentNotReady as error:
            yield from error.problems


def _engine_problems(engine: Engine, study: ResolvedStudy, document: str) -> Iterator[Problem]:
    info, limits = engine.info(), study.limits
    slots = study.schedule.slots if study.schedule.slots != "auto" else 1
    needed = slots * limits.pod_memory_bytes
    if limits.cpus > info.cpus:
        yield Problem(f"the engine has {info.cpus} CPUs, not {limits.cpus}", document, "limits.cpus")
    if needed > info.memory_bytes:
        message = f"{slots} pods may take {needed} bytes, and the engine has {info.memory_bytes}"
        yield Problem(message, document, "limits.memory_bytes", "lower it, or schedule.slots")
    missing = [name for name, there in info.limits.items() if not there]
    if missing:
        yield Problem(f"it can't limit {', '.join(missing)}", "container engine", hint="trials need these limits")


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
