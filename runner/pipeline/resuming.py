"""A run goes on after any interruption: nothing that completed runs again, and nothing that was kept is lost.

It goes on only with the very code, images and inputs that its lock names; whatever differs is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError, Problem, StudyError
from runner.core.ledger import open_attempts, without_torn_end
from runner.core.outcomes import Outcome
from runner.core.owner import pod_name, volume_name
from runner.execute.journal import Journal
from runner.execute.order import VOLUME_ROLES
from runner.execute.schedule import end_detail, remove_run
from runner.pipeline import imaging
from runner.pipeline.executing import Ran, execute
from runner.pipeline.folder import file_fault, read_run, required
from runner.pipeline.image_fitness import unfit_problems
from runner.pipeline.pinning import absent, located
from runner.pipeline.preflight import ready_engine
from runner.pipeline.reopening import is_finished, reopened, unfinished
from runner.pipeline.sweeping import sweep

if TYPE_CHECKING:
    from pathlib import Path

    from runner.pipeline.folder import Run
    from runner.pipeline.world import World
    from runner.ports.engine import Engine

_BROKEN_OFF: Final = "the runner ended before the attempt did"


def resume_run(world: World, folder: Path) -> Ran:
    """What was left of the run in `folder` ran; one that is finished stays as it is, and needs no engine.

    Raises:
        EnvironmentNotReady: another runner holds the run, or code, images or engine aren't what its lock names.
        EvidenceError: something of the run is damaged, beyond a last ledger line that was being written.
        StudyError: no trial may run in one of its images.
    """
    with world.files.hold(folder / layout.HOLDER, str(world.owner)):
        whole, torn = _ledger(world, folder)
        run = read_run(world.files, folder, whole)
        _check_evidence(world, run)
        _check_code(world, run)
        if is_finished(run) and not torn:
            # Whatever is written to its ledger gives it another summary than the one that was sealed.
            return Ran(folder, complete=True)
        pinned = {pin.name for pin in run.lock.images}
        engine = ready_engine(world, run.study, layout.STUDY, len(unfinished(run)), pinned)
        images = _images(world, engine, run)
        sweep(world, engine)
        remove_run(engine, run.lock.run)
        _remove_half_made(engine, run)
        unfit = [*unfit_problems(engine, run, images, world.owner.labels(run.lock.run))]
        if unfit:
            raise StudyError.of(unfit)
        kept = _repair(world, run, whole, torn)
        journal = Journal(world.files, world.clock, folder / layout.LEDGER, run.ledger_head, len(run.ledger))
        if not run.ledger:
            journal.run("run_started", _inputs(world, folder), {"run": run.lock.run})
        _close_open_attempts(world, run, journal)
        # What is left to spend, and to run, follows from the ends just written as well.
        run = read_run(world.files, folder)
        journal.run("run_resumed", kept, _engine_difference(engine, run))
        return execute(world, engine, reopened(world, run, images), folder, journal)


def _remove_half_made(engine: Engine, run: Run) -> None:
    """Volumes that an engine was making when it died are gone: it keeps them by their names, without their labels."""
    name, sequences = run.lock.run, {planned.trial: planned.sequence for planned in run.plan.trials}
    volumes = [
        volume_name(name, corpus, role) for corpus in (*run.study.corpora, "") for role in ("workspace", "index")
    ]
    volumes += [f"{volume}-archive" for volume in volumes]
    unfinished_trials = set(unfinished(run))
    for line in run.ledger:
        if line.kind == "attempt_started" and line.trial in unfinished_trials:
            pod = pod_name(name, sequences[line.trial], line.attempt)
            volumes += [volume_name(pod, role) for role in VOLUME_ROLES]
    for volume in volumes:
        engine.remove_volume(volume)


def _ledger(world: World, folder: Path) -> tuple[bytes, bytes]:
    """The whole lines of the run's ledger, and what follows them; nothing is changed.

    Raises:
        EvidenceError: the ledger is gone, and evidence that it named is there.
    """
    data = world.files.read(folder / layout.LEDGER)
    if data is not None:
        return without_torn_end(data)
    if any(True for _ in world.files.walk(folder / layout.TRIALS)):
        raise EvidenceError("the file is missing, and there is evidence that it named", document=layout.LEDGER)
    # A runner that ended between the lock and its first line: everything else is there.
    return b"", b""


def _repair(world: World, run: Run, whole: bytes, torn: bytes) -> dict[str, str]:
    """The ledger ends in a whole line; what was cut off it is kept in a file, whose name and digest are returned."""
    if not torn:
        return {}
    name = f"{layout.LEDGER}.torn-after-{len(run.ledger)}"
    world.files.write(run.folder / name, torn)
    world.files.write(run.folder / layout.LEDGER, whole)
    return {name: sha256_digest(torn)}


def _check_evidence(world: World, run: Run) -> None:
    problems = [
        Problem(fault, name)
        for line in run.ledger
        for name, digest in line.files.items()
        if (fault := file_fault(world.files, run.folder, name, digest))
    ]
    pinned = {
        layout.STUDY: (run.lock.study_sha256, run.study.digest()),
        layout.PLAN: (run.lock.plan_sha256, run.plan.digest()),
        layout.LABELS: (run.lock.labels_sha256, run.labels.digest() if run.labels is not None else ""),
    }
    problems += [
        Problem(f"its digest is {found}, and the lock says {locked}", name)
        for name, (locked, found) in pinned.items()
        if locked != found
    ]
    if problems:
        raise EvidenceError.of(problems)


def _check_code(world: World, run: Run) -> None:
    locked, found = run.lock.harness, world.harness
    if locked.source_sha256 != found.source_sha256:
        raise EnvironmentNotReady(
            f"the code at hand is {found.version} {found.source_sha256}, the run's is {locked.version} "
            f"{locked.source_sha256}",
            document=layout.LOCK,
            key="harness.source_sha256",
            hint="resume with the code that the run began with, or start a new run",
        )


def _images(world: World, engine: Engine, run: Run) -> dict[str, str]:
    """The tags of the locked images, each in the engine."""
    missing = [pin for pin in run.lock.images if located(engine, pin) is None]
    if run.lock.rerun_of is not None or any(pin.is_users for pin in missing):
        # What ran once is run again, and nothing is built for it; and what a study brought along is nothing of ours.
        lost = [pin for pin in missing if run.lock.rerun_of is not None or pin.is_users]
        if lost:
            raise EnvironmentNotReady.of(absent(pin) for pin in lost)
    if missing:
        built = imaging.build(world, [pin.name for pin in missing])
        found = {image.name: image.config_digest for image in built}
        problems = [
            Problem(
                f"the image {pin.name} is {found[pin.name]} now, and the lock says {pin.config_digest}",
                layout.LOCK,
                f"images.{pin.name}",
                "its inputs have changed since; start a new run",
            )
            for pin in missing
            if found[pin.name] != pin.config_digest
        ]
        if problems:
            raise EnvironmentNotReady.of(problems)
        imaging.load(world, engine, built)
    return {pin.name: located(engine, pin) or pin.tag for pin in run.lock.images}


def _inputs(world: World, folder: Path) -> dict[str, str]:
    names = [f"{layout.INPUTS}/{name}" for name in world.files.walk(folder / layout.INPUTS)]
    return {name: sha256_digest(required(world.files, folder, name)) for name in (layout.LOCK, layout.PLAN, *names)}


def _close_open_attempts(world: World, run: Run, journal: Journal) -> None:
    """Every attempt that was broken off is ended in the ledger, with whatever of its evidence reached the disk."""
    for trial, attempt in open_attempts(run.ledger):
        place = layout.attempt_folder(trial, attempt)
        kept: dict[str, str] = {}
        for name in world.files.walk(run.folder / place):
            if name.startswith(".writing-"):
                # A file that was being written: it was to appear under its own name when whole.
                world.files.remove(run.folder / place / name)
            else:
                kept[f"{place}/{name}"] = sha256_digest(required(world.files, run.folder, f"{place}/{name}"))
        journal.attempt_ended(trial, attempt, kept, end_detail(Outcome.CANCELLED, _BROKEN_OFF, final=False))


def _engine_difference(engine: Engine, run: Run) -> dict[str, str]:
    found = engine.info()
    pairs = {
        name: (getattr(run.lock.engine, name), getattr(found, name)) for name in type(run.lock.engine).model_fields
    }
    return {f"engine.{name}": f"{before} -> {now}" for name, (before, now) in pairs.items() if before != now}
