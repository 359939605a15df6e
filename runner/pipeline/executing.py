"""A locked study is run: volumes filled, every trial in its pod, the ledger closed, and nothing left in the engine."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.clients.launching import Occasion, launch_of
from runner.core import layout
from runner.core.canonical import Digest
from runner.core.errors import EngineError
from runner.core.gateway import EVIDENCE_FOLDER, GatewayConfig, PolicyChoice, Tokens
from runner.core.launch import GATEWAY_SOCKET
from runner.execute.journal import Journal
from runner.execute.pod import PodImages, PodOrder
from runner.execute.schedule import Crew, Execution, Verdict, remove_run
from runner.execute.volumes import Filler
from runner.pipeline.computing import attempt_result, may_retry
from runner.pipeline.locking import lock_study, plan_study, write_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.core.plan import PlannedTrial
    from runner.core.resolved import ResolvedArm
    from runner.pipeline.locking import Locked, Planned
    from runner.pipeline.world import World
    from runner.ports.engine import Engine


@dataclass(frozen=True)
class Ran:
    """A run whose ledger is closed."""

    folder: Path
    complete: bool
    """Every planned trial was started; False when the run was interrupted."""


def run_study(world: World, path: Path) -> Ran:
    """The study at `path` ran, in a new folder.

    Raises:
        StudyError: the study is wrong; nothing was started.
        EnvironmentNotReady: something is missing, broke down, or has no room.
    """
    planned = plan_study(world, path)
    engine = world.engine()
    name = run_name(planned.study.name, world.clock.utc())
    labels = world.owner.labels(name)
    try:
        locked = lock_study(world, planned, name, labels)
        folder = world.places.runs / name
        inputs = write_inputs(world, folder, locked)
        world.files.point(world.places.runs / "latest", name)
        return _execute(world, engine, locked, folder, inputs)
    finally:
        # Whatever went wrong above is the error to show, not that this failed too.
        with contextlib.suppress(EngineError):
            remove_run(engine, name)


def run_name(study: str, utc: str) -> str:
    """The name of a run: the study and the moment, to the second."""
    return f"{study}-{utc[:19].replace('-', '').replace(':', '')}Z".replace("T", "t").lower()


def _execute(world: World, engine: Engine, locked: Locked, folder: Path, inputs: dict[str, str]) -> Ran:
    planned = locked.planned
    journal = Journal(world.files, world.clock, folder / layout.LEDGER)
    journal.run("run_started", inputs, {"run": locked.lock.run})
    fill_volumes(world, engine, locked)
    world.progress.planned(len(planned.plan.trials))
    execution = execution_of(world, engine, locked, folder, journal)
    complete = False
    try:
        complete = execution.run()
    except KeyboardInterrupt:
        execution.stop()
    finally:
        remove_run(engine, locked.lock.run)
        journal.run("run_ended", {}, {"complete": "yes" if complete else "no"})
    return Ran(folder, complete)


def _judge_of(planned: Planned) -> Callable[[PlannedTrial, Mapping[str, bytes]], Verdict]:
    def judge(trial: PlannedTrial, files: Mapping[str, bytes]) -> Verdict:
        result = attempt_result(planned.study, trial.arm, files)
        return Verdict(result.outcome, result.reason, may_retry(result))

    return judge


def execution_of(world: World, engine: Engine, locked: Locked, folder: Path, journal: Journal) -> Execution:
    """What runs the plan of `locked` in `folder`, once its volumes are filled."""
    planned = locked.planned
    return Execution(
        crew=Crew(engine, world.files, world.clock, journal, world.progress),
        folder=folder,
        plan=planned.plan,
        schedule=planned.study.schedule,
        order=Orders(world, locked).order,
        judge=_judge_of(planned),
    )


def fill_volumes(world: World, engine: Engine, locked: Locked) -> None:
    """The engine has a volume for every workspace and every index of `locked`."""
    run = locked.lock.run
    filler = Filler(engine, locked.images["qdrant"].tag, world.owner.labels(run))
    for name, corpus in sorted(locked.planned.corpora.items()):
        world.progress.step(f"filling the volumes of {name}")
        pin = locked.lock.corpora[name]
        filler.fill_workspace(_volume(run, name, "workspace"), corpus.files, Digest(pin.tree_sha256))
        filler.fill_index(_volume(run, name, "index"), locked.indexes[name].archive)


def _volume(run: str, corpus: str, role: str) -> str:
    return f"pairbench-{run}-{corpus}-{role}"


@dataclass(frozen=True)
class Orders:
    """Makes the order of each attempt: what differs between two attempts of a trial are its tokens and its names."""

    world: World
    locked: Locked

    def order(self, planned: PlannedTrial, attempt: int) -> PodOrder:
        study, run = self.locked.planned.study, self.locked.lock.run
        arm, task = study.arm(planned.arm), study.task(planned.task)
        tokens = Tokens(client=self.world.entropy.token(), memory=self.world.entropy.token())
        occasion = Occasion(planned.trial, task.prompt, tokens.client, tokens.memory)
        return PodOrder(
            planned=planned,
            attempt=attempt,
            prefix=f"pairbench-{run}-{planned.sequence}-{attempt}",
            labels=self.world.owner.labels(run),
            images=self._images(arm),
            launch=launch_of(study, arm, occasion),
            gateway=GatewayConfig(
                mode=study.model.mode,
                socket=GATEWAY_SOCKET,
                evidence_dir=EVIDENCE_FOLDER,
                tokens=tokens,
                policy=PolicyChoice(name=study.model.policy, version=study.model.policy_version),
                # No arm in the seed: the same conversation gets the same identifiers in every arm.
                seed=f"{study.seed}/{planned.block}",
                record_limit_bytes=study.limits.record_bytes,
                request_limit=study.limits.requests,
            ),
            joins_sidecar=arm.sidecar,
            workspace_volume=_volume(run, task.corpus, "workspace"),
            index_volume=_volume(run, task.corpus, "index"),
            limits=study.limits,
        )

    def _images(self, arm: ResolvedArm) -> PodImages:
        images = self.locked.images
        trial = images[arm.image].tag if arm.image in images else arm.image
        return PodImages(gateway=images["gateway"].tag, sidecar=images["qdrant"].tag, trial=trial)
