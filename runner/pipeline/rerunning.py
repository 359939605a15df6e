"""A run is made of another one: its inputs byte for byte, in its order, in its images; nothing is planned or built.

Whatever can't be honoured here is said at once, before anything starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.archives.harness import harness_inputs
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError, Problem
from runner.core.lock import PROTOCOL_VERSION, RerunPin
from runner.execute.journal import Journal
from runner.pipeline.executing import execute, new_run
from runner.pipeline.fitness import Shelf, fit_of
from runner.pipeline.folder import read_run, required
from runner.pipeline.locking import client_version
from runner.pipeline.pinning import arm_pins, engine_pin, located
from runner.pipeline.reopening import reopened
from runner.pipeline.sweeping import sweep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.core.lock import How, Lock
    from runner.pipeline.executing import Ran
    from runner.pipeline.fitness import Asked, Fit
    from runner.pipeline.originals import Original
    from runner.pipeline.world import World
    from runner.ports.engine import Engine


_IN_WORDS: Final[Mapping[How, str]] = {
    "again": "once more, as it ran; no key, no network",
    "replay": "its recording answers; no key, no network",
    "live": "afresh; a provider answers, and bills what it generates",
}


@dataclass(frozen=True)
class Reran:
    """A rerun whose ledger is closed."""

    ran: Ran
    original: Path
    """Folder of the run that it is made of."""
    pin: RerunPin


def rerun(world: World, original: Original, asked: Asked, shelf: Shelf | None = None) -> Reran:
    """`original` ran once more, in a new folder; images that the engine hasn't got came from `shelf`.

    Raises:
        StudyError: it can't be rerun in the way that was asked for; nothing was started.
        EnvironmentNotReady: something is missing or can't be honoured here; all of it, before anything was started.
        EvidenceError: an image, its client, or something of the original isn't what its lock says.
    """
    shelf = shelf or Shelf()
    fit = fit_of(world, original, asked, shelf)
    world.progress.step(f"rerunning {original.name}: {_IN_WORDS[fit.manner.how]}")
    for notice in fit.notices:
        world.progress.step(notice)
    sweep(world, fit.engine)
    pin = RerunPin(
        run=original.name,
        lock_sha256=original.lock_sha256,
        summary_sha256=original.summary_sha256,
        how=fit.manner.how,
    )
    with new_run(world, fit.engine, original.run.study.name) as folder:
        images = _given(world, fit.engine, original, shelf)
        _check_client(world, fit.engine, original, images, folder.name)
        inputs = _write(world, folder, original, fit, pin)
        world.files.point(world.places.runs / "latest", folder.name)
        journal = Journal(world.files, world.clock, folder / layout.LEDGER)
        journal.run("run_started", inputs, {"run": folder.name, "rerun_of": pin.run, "how": pin.how, **fit.detail})
        ready = reopened(world, read_run(world.files, folder), images)
        return Reran(execute(world, fit.engine, ready, folder, journal), original.run.folder, pin)


def _given(world: World, engine: Engine, original: Original, shelf: Shelf) -> dict[str, str]:
    """The engine's names of the images that `original` ran in, each of which it has, as its lock pins it.

    Raises:
        EvidenceError: what the engine loaded is another image.
    """
    wanted = {pin.name: pin for pin in original.run.lock.images}
    for reference in sorted({arm.image for arm in original.run.study.arms if "@" in arm.image} - wanted.keys()):
        held = shelf.foreign(reference)
        if held is not None and engine.image(reference) is None:
            wanted[reference] = held
    missing = [pin for pin in wanted.values() if located(engine, pin) is None]
    if missing:
        world.progress.step(f"loading {', '.join(pin.name for pin in missing)} into the engine")
        engine.load_images(shelf.chunks(missing))
    found = {name: there for name, pin in wanted.items() if (there := located(engine, pin)) is not None}
    problems = [
        Problem(f"what the engine loaded is not {pin.config_digest}", layout.LOCK, f"images.{name}")
        for name, pin in wanted.items()
        if name not in found
    ]
    if problems:
        raise EvidenceError.of(problems)
    return found


def _check_client(world: World, engine: Engine, original: Original, images: Mapping[str, str], name: str) -> None:
    """The client in the control's image says of itself what it said when the original was locked."""
    study, locked = original.run.study, original.run.lock.client_version
    image = study.arm(study.control).image
    found = client_version(engine, study, images.get(image, image), world.owner.labels(name), name)
    if found != locked:
        told = f"the client says that it is {found}, and the lock says {locked}"
        raise EvidenceError(told, document=layout.LOCK, key="client_version")


def _write(world: World, folder: Path, original: Original, fit: Fit, pin: RerunPin) -> dict[str, str]:
    """The new run's inputs are the original's, but for who plays the model and for the code; name -> digest of each."""
    run, manner = original.run, fit.manner
    names = {layout.PLAN, *(f"{layout.INPUTS}/{name}" for name in world.files.walk(run.folder / layout.INPUTS))}
    changed = {layout.STUDY: manner.study.to_bytes(), **harness_inputs(world.code())}
    if manner.played is not None:
        changed[layout.PLAYED] = manner.played
    kept = {name for name in names if not name.startswith(f"{layout.HARNESS}/")}
    written: dict[str, str] = {}

    def write(name: str, data: bytes) -> None:
        world.files.write(folder / name, data)
        written[name] = sha256_digest(data)

    for name in sorted(kept | changed.keys()):
        write(name, changed[name] if name in changed else required(world.files, run.folder, name))
    # The lock last: a folder that holds one holds everything that it pins.
    write(layout.LOCK, _lock(world, folder.name, original, fit, pin).to_bytes())
    return written


def _lock(world: World, name: str, original: Original, fit: Fit, pin: RerunPin) -> Lock:
    lock, manner = original.run.lock, fit.manner
    return lock.model_copy(
        update={
            "run": name,
            "protocol_version": PROTOCOL_VERSION,
            "created_at": world.clock.utc(),
            "evidence": lock.evidence if manner.header is None else manner.header.evidence,
            "model_shown": lock.model_shown if manner.header is None else manner.header.model_shown,
            "study_sha256": manner.study.digest(),
            "cassette_sha256": "" if manner.played is None else sha256_digest(manner.played),
            "arms": arm_pins(manner.study),
            "engine": engine_pin(fit.info),
            "harness": world.code().pin,
            "rerun_of": pin,
        }
    )
