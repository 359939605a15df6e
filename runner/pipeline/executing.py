"""A locked study is run: volumes filled, every trial in its pod, the ledger closed, and nothing left in the engine."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.core import layout
from runner.core.canonical import Digest, sha256_digest
from runner.core.cassette import read_cassette
from runner.core.errors import EngineError, StudyError
from runner.core.owner import ROLE, volume_name
from runner.execute.journal import Journal
from runner.execute.purse import Purse
from runner.execute.schedule import Crew, Execution, Verdict, remove_run
from runner.execute.volumes import Filler
from runner.pipeline.computing import may_retry
from runner.pipeline.control import Watchman, parts_of
from runner.pipeline.deriving import attempt_result
from runner.pipeline.locking import lock_study, plan_study, write_inputs
from runner.pipeline.ordering import Orders, network_name
from runner.pipeline.preflight import ready_engine
from runner.pipeline.ready import Ready
from runner.pipeline.recording import make_cassette
from runner.pipeline.spending import spent_microusd
from runner.pipeline.sweeping import sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.core.plan import PlannedTrial
    from runner.core.resolved import ResolvedArm, ResolvedStudy
    from runner.pipeline.locking import Locked
    from runner.pipeline.world import World
    from runner.ports.engine import Engine


@dataclass(frozen=True)
class Ran:
    """A run whose ledger is closed."""

    folder: Path
    complete: bool
    """Every planned trial ran; False when the run was interrupted, and can be resumed."""


def run_study(world: World, path: Path) -> Ran:
    """The study at `path` ran, in a new folder; what dead runs left in the engine is gone too.

    Raises:
        StudyError: the study is wrong; nothing was started.
        EnvironmentNotReady: something is missing, broke down, or has no room.
    """
    planned = plan_study(world, path)
    engine = ready_engine(world, planned.study, planned.loaded.document, len(planned.plan.trials))
    sweep(world, engine)
    with new_run(world, engine, planned.study.name) as folder:
        name = folder.name
        locked = lock_study(world, planned, name, world.owner.labels(name))
        inputs = write_inputs(world, folder, locked)
        world.files.point(world.places.runs / "latest", name)
        journal = Journal(world.files, world.clock, folder / layout.LEDGER)
        journal.run("run_started", inputs, {"run": name})
        return execute(world, engine, ready_of(locked), folder, journal)


@contextlib.contextmanager
def new_run(world: World, engine: Engine, study: str) -> Iterator[Path]:
    """The folder of a run that nobody else has, held; at the end nothing of it is left in the engine.

    A folder that got no lock is gone then.
    """
    name = _claimed(world, study)
    folder = world.places.runs / name
    with world.files.hold(folder / layout.HOLDER, str(world.owner)):
        try:
            yield folder
        except BaseException:
            if world.files.read(folder / layout.LOCK) is None:
                # Nothing was locked, so nothing can be resumed: the folder says nothing to anybody.
                world.files.remove(folder)
            raise
        finally:
            # Whatever went wrong above is the error to show, not that this failed too.
            with contextlib.suppress(EngineError):
                remove_run(engine, name)


def run_name(study: str, utc: str) -> str:
    """The name of a run: the study and the moment, to the millisecond.

    Two runs that begin at once on one engine, in two folders, would take each other's containers for their own.
    """
    return f"{study}-{''.join(character for character in utc.lower() if character.isalnum())}"


def _claimed(world: World, study: str) -> str:
    """The name of a run whose folder was made by this call, so that no other run has it."""
    name = run_name(study, world.clock.utc())
    names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    return next(candidate for candidate in names if world.files.claim(world.places.runs / candidate))


def ready_of(locked: Locked) -> Ready:
    """What was locked, ready to run."""
    played = locked.planned.loaded.cassette
    return Ready(
        study=locked.planned.study,
        lock=locked.lock,
        trials=locked.planned.plan.trials,
        images={pin.name: pin.tag for pin in locked.lock.images},
        workspaces={name: corpus.files for name, corpus in locked.planned.corpora.items()},
        indexes={name: index.archive for name, index in locked.indexes.items()},
        prices=locked.planned.loaded.prices,
        cassette=read_cassette(played, layout.PLAYED) if played is not None else None,
    )


def execute(world: World, engine: Engine, ready: Ready, folder: Path, journal: Journal) -> Ran:
    """What is left of a run was run, as far as nobody interrupted it; its ledger is closed.

    Raises:
        EngineError: the engine failed, or keeps something.
        EnvironmentNotReady: evidence can't be written.
    """
    purse = _purse(ready)
    parts = [
        (part, execution_of(world, engine, replace(ready, trials=part), folder, journal, purse))
        for part in parts_of(ready.study, ready.trials)
    ]

    def interrupted(number: int) -> None:
        if number == 1 and ready.study.schedule.interrupt == "finish":
            world.progress.step("interrupted: the trials that run go on to their end; once more ends them")
            for _, execution in parts:
                execution.drain()
        else:
            world.progress.step("interrupted: ending the trials that run")
            for _, execution in parts:
                execution.cancel()

    complete = False
    watchman = Watchman(world, ready.study, folder, journal)
    try:
        with world.interrupts.watch(interrupted):
            fill_volumes(world, engine, ready)
            watchman.bind()
            world.progress.planned(len(ready.trials))
            for part, execution in parts:
                complete = watchman.may_begin(part) and execution.run()
                if not complete:
                    break
                watchman.recheck(part)
    finally:
        remove_run(engine, ready.lock.run)
        recorded = _recorded(world, folder) if complete and ready.study.model.record else {}
        journal.run("run_ended", recorded, {"complete": "yes" if complete else "no"})
    return Ran(folder, complete)


def _recorded(world: World, folder: Path) -> dict[str, str]:
    """The run's cassette is written; its name and digest."""
    data = make_cassette(world.files, folder)
    world.files.write(folder / layout.CASSETTE, data)
    world.progress.step(f"recorded {folder / layout.CASSETTE}, {sha256_digest(data)}")
    return {layout.CASSETTE: sha256_digest(data)}


def _purse(ready: Ready) -> Purse:
    """What may still be spent."""
    purse = Purse(ready.study.caps)
    for trial, spent in ready.spent:
        purse.note(trial, spent)
    return purse


def execution_of(world: World, engine: Engine, ready: Ready, folder: Path, journal: Journal, purse: Purse) -> Execution:
    """What runs the trials of `ready` in `folder`, once its volumes are filled."""

    def judge(trial: PlannedTrial, files: Mapping[str, bytes]) -> Verdict:
        result = attempt_result(ready.study, trial.arm, files)
        return Verdict(result.outcome, result.reason, may_retry(result))

    def settle(trial: PlannedTrial, attempt: int, files: Mapping[str, bytes] | None) -> None:
        purse.settle(trial.trial, attempt, spent_microusd(files))

    return Execution(
        crew=Crew(engine, world.files, world.clock, journal, world.progress),
        folder=folder,
        trials=ready.trials,
        schedule=ready.study.schedule,
        slots=slots_of(ready.study),
        embedding_arms=frozenset(arm.name for arm in ready.study.arms if _embeds(arm)),
        order=Orders(world, ready, purse).order,
        judge=judge,
        settle=settle,
        give_up=purse.close,
        standings=ready.standings,
    )


def slots_of(study: ResolvedStudy) -> int:
    """How many pods run trials at once; a locked study always says a number."""
    slots = study.schedule.slots
    if slots == "auto":
        raise StudyError("slots is still auto, which locking resolves", document="study", key="schedule.slots")
    return slots


def fill_volumes(world: World, engine: Engine, ready: Ready) -> None:
    """The engine has every volume of `ready`, and the gateways' way out if they need one."""
    run = ready.lock.run
    if ready.study.model.goes_out:
        engine.create_network(network_name(run), {**world.owner.labels(run), ROLE: "network"})
    filler = Filler(engine, ready.images["qdrant"], world.owner.labels(run))
    for name, files in sorted(ready.workspaces.items()):
        world.progress.step(f"filling the volumes of {name}")
        pin = ready.lock.corpora[name]
        filler.fill_workspace(volume_name(run, name, "workspace"), files, Digest(pin.tree_sha256))
        filler.fill_index(volume_name(run, name, "index"), ready.indexes[name])
    if any(not task.corpus for task in ready.study.tasks):
        # Trials without a corpus: an empty workspace, and a store that begins empty.
        for role in ("workspace", "index"):
            engine.create_volume(volume_name(run, "", role), {**world.owner.labels(run), ROLE: role})


def _embeds(arm: ResolvedArm) -> bool:
    """Whether a trial of the arm may hold a process that embeds."""
    return bool(arm.mcp_servers) or (arm.system is not None and not arm.system.is_retrieval)
