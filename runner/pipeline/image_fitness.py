"""Can a trial run in an image that a study brought along? By how the engine would start it, and by its supervisor.

Nothing of the image is run for it. It must not know how the image came to be in the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.errors import EngineError, EngineGoneError, Problem
from runner.core.owner import ROLE, RUN
from runner.ports.engine import ContainerSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.pipeline.folder import Run
    from runner.ports.engine import Engine, ImageFacts

SPECIFICATION: Final = "see docs/howto/own-image.md"
"""Where what a trial needs of an image stands."""

TRIAL: Final = "trial"
"""The image of ours that every other one of a trial is held against."""

_SUPERVISOR: Final = "/opt/pairbench/supervisor"
_MOST_BYTES: Final = 16 << 20
# What changes nothing in a trial: its user is set, nobody reaches its ports, and the rest is for builders alone.
# Whatever else an image says of its containers, now or in an engine of tomorrow, is refused unless it is looked at.
_HARMLESS: Final = frozenset(
    {
        *("User", "WorkingDir", "Labels", "ExposedPorts", "OnBuild", "Shell", "ArgsEscaped", "Image"),
        *("Hostname", "Domainname", "AttachStdin", "AttachStdout", "AttachStderr", "Tty", "OpenStdin", "StdinOnce"),
    }
)
_LOOKED_AT: Final = frozenset({"Entrypoint", "Cmd", "Healthcheck", "Volumes", "Env"})


def image_faults(engine: Engine, reference: str, trial: str, labels: Mapping[str, str]) -> Iterator[str]:
    """Why no trial can run in the image `reference` of the engine, which also has our image `trial`.

    It must start the supervisor that `trial` starts, in its surroundings, and nothing else. `labels` mark the
    containers that are made to look at files, which are never started.
    """
    facts, expected = engine.image(reference), engine.image(trial)
    if facts is None or expected is None:
        yield "the engine hasn't got it any more"
        return
    if facts.os != expected.os:
        yield f"it is for {facts.os}, and the pod's other images are for {expected.os}"
        return
    if facts.architecture != expected.architecture:
        yield f"it is for {facts.architecture}, and the pod's other images are for {expected.architecture}"
        return
    yield from _start_faults(facts, expected)
    if _programs(engine, reference, labels) != _programs(engine, trial, labels):
        yield f"its {_SUPERVISOR} isn't that of this version: build it on the trial image"


def brought_along(run: Run) -> dict[str, str]:
    """The images of arms of `run` that aren't ours, as the arms name them, and an arm of each."""
    users = {pin.name for pin in run.lock.images if pin.is_users} | run.study.images.keys()
    return {arm.image: arm.name for arm in reversed(run.study.arms) if "@" in arm.image or arm.image in users}


def unfit_problems(engine: Engine, run: Run, there: Mapping[str, str], labels: Mapping[str, str]) -> Iterator[Problem]:
    """Why no trial of `run` can run in its images, as whoever runs its study is told of those that it brought along.

    `there` has the engine's names of images by those of the lock; one that isn't in it isn't looked at. An image that
    the lock calls one of ours may be anybody's where the run is: it gets no more room than ours do.
    """
    brought = brought_along(run)
    if brought and TRIAL not in there:
        yield Problem("the lock names no trial image to hold images of arms against", layout.LOCK, "images")
    for image, arm in brought.items():
        if image in there and TRIAL in there:
            for message in image_faults(engine, there[image], there[TRIAL], labels):
                yield Problem(f"{image}: {message}", layout.STUDY, f"arms.{arm}.image", SPECIFICATION)
    for name in sorted(there.keys() - brought.keys()):
        facts = engine.image(there[name])
        for message in () if facts is None else _volume_faults(facts):
            yield Problem(message, layout.LOCK, f"images.{name}", "no image of ours has one: it isn't one of ours")


def _start_faults(image: ImageFacts, trial: ImageFacts) -> Iterator[str]:
    """What the engine would do for a container of `image` that it wouldn't do for one of `trial`."""
    started, expected = image.started, trial.started
    entrypoint = expected.get("Entrypoint")
    if (started.get("Entrypoint"), started.get("Cmd") or []) != (entrypoint, expected.get("Cmd") or []):
        yield f"it must be started by {entrypoint} alone: leave ENTRYPOINT and CMD as the trial image has them"
    health = started.get("Healthcheck")
    if health and not (isinstance(health, dict) and health.get("Test") == ["NONE"]):
        yield "its HEALTHCHECK would run beside the client: take it away (HEALTHCHECK NONE)"
    yield from _volume_faults(image)
    strange = _environment(started) ^ _environment(expected)
    if strange:
        told = ", ".join(sorted({entry.partition("=")[0] for entry in strange}))
        yield f"its ENV would reach the supervisor, which is root: leave {told} as the trial image has it"
    for key in sorted(started.keys() - _HARMLESS - _LOOKED_AT):
        if started[key] and started[key] != expected.get(key):
            yield f"its configuration sets {key}, which a trial's image must leave alone"


def _volume_faults(image: ImageFacts) -> Iterator[str]:
    volumes = image.started.get("Volumes")
    if volumes:
        told = ", ".join(sorted(volumes)) if isinstance(volumes, dict) else str(volumes)
        yield f"its VOLUME would give trials room on the host's disk: {told}"


def _environment(started: Mapping[str, object]) -> set[str]:
    """The variables, as `name=value`."""
    entries = started.get("Env") or ()
    return {str(entry) for entry in entries} if isinstance(entries, (list, tuple)) else {str(entries)}


def _programs(engine: Engine, reference: str, labels: Mapping[str, str]) -> dict[str, bytes | None]:
    """The supervisor in the image, by path; nothing where there is none."""
    spec = ContainerSpec(
        name=f"pairbench-{labels[RUN]}-image",
        image=reference,
        labels={**labels, ROLE: "image"},
        user="10002:10002",
        memory_bytes=64 << 20,
        pids=16,
        cpus=1,
    )
    # It is never started: its files are looked at, and that is all.
    container = engine.create(spec)
    try:
        return {entry.name: entry.data for entry in engine.read_tree(container, _SUPERVISOR, _MOST_BYTES)}
    except EngineGoneError:
        raise
    except EngineError:
        return {}
    finally:
        engine.remove(container)
