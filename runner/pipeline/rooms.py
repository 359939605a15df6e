"""Which image does the code of a run run in? One that is at hand, wherever there is one; built is what nobody has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import parse_json
from runner.core.errors import EnvironmentNotReady, EvidenceError, Problem
from runner.core.harness import normalized
from runner.images.digests import read_digests
from runner.images.harness_layer import RUNNER_IMAGE
from runner.images.locks import read_image_lock
from runner.images.oci import tag_of
from runner.images.spec import read_image
from runner.pipeline import imaging
from runner.pipeline.pinning import located

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.archives.reading import OpenArchive
    from runner.core.canonical import Json
    from runner.pipeline.world import World
    from runner.ports.engine import Engine

_DOCUMENT: Final = "archived code"
_IN_AN_ARCHIVE: Final = (
    "an archive of the run brings that image, unless it was made with --no-runner: verify the archive here, or with an "
    "engine alone: docker load -i FILE && docker run --rm --network none -v FILE:/archive:ro pairbench/runner:TAG "
    "verify /archive"
)
_OURS: Final = frozenset({"User", "Env", "Entrypoint", "WorkingDir", "Labels"})
"""What an image of ours asks of an engine. One made elsewhere may ask for a writable volume, say."""
_WHEELS: Final = "wheels: "
_WHEEL: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*) ([A-Za-z0-9][A-Za-z0-9._+!-]*)")


@dataclass(frozen=True)
class Room:
    """An image of the program that the engine has."""

    image: str
    """What the engine calls it."""
    versions: Mapping[str, str]
    """Distribution -> version, as far as the image says what is in it."""


def room_of(world: World, archive: OpenArchive | None = None) -> Room:
    """What the code of a run can run in: the runner of its `archive`, else the engine's, else one that is built now.

    Raises:
        EnvironmentNotReady: no engine answers, or there is no such image and it can't be built.
        EvidenceError: the archive's runner would widen a container, or the engine loaded another image.
    """
    engine = world.engine()
    found = None if archive is None else _brought(world, engine, archive)
    return found or _there(world, engine) or _built(world, engine)


def _brought(world: World, engine: Engine, archive: OpenArchive) -> Room | None:
    """The runner of `archive`, if it has one that runs here."""
    fitting = (one for one in archive.index.images if one.role == "runner" and one.arch == world.build.arch)
    image = next(fitting, None)
    if image is None:
        return None
    config = parse_json(b"".join(archive.blob(image.config)), image.config)
    if asked := _asked_of_an_engine(config) - _OURS:
        raise EvidenceError(
            f"it asks the engine for more than an image of ours does: {', '.join(sorted(asked))}",
            document=f"image {image.pin.name}",
            hint="the code would have more than the run; verify without --archived-code, and figures are compared",
        )
    if located(engine, image.pin) is None:
        world.progress.step(f"loading {image.pin.name} of the archive into the engine")
        engine.load_images(archive.image_chunks([image.config]))
    reference = located(engine, image.pin)
    if reference is None:
        raise EvidenceError(f"what the engine loaded is not {image.config}", document=f"image {image.pin.name}")
    return Room(reference, _told(config))


def _there(world: World, engine: Engine) -> Room | None:
    """The image that is recorded here, if the engine has it; what it was built from needn't be at hand any more."""
    recorded = read_digests(world.build.arch, world.build.images_dir)
    digest = None if recorded is None else recorded.images.get(RUNNER_IMAGE)
    if digest is None:
        return None
    for reference in (tag_of(RUNNER_IMAGE, digest.config), digest.config, digest.manifest):
        facts = engine.image(reference)
        if facts is not None and facts.identity in {digest.config, digest.manifest}:
            return Room(reference, _declared(world))
    return None


def _built(world: World, engine: Engine) -> Room:
    if not (world.build.images_dir / RUNNER_IMAGE).is_dir():
        raise EnvironmentNotReady(
            "the image that old code runs in isn't declared here, and nothing at hand holds it",
            document=str(world.build.images_dir),
            hint=_IN_AN_ARCHIVE,
        )
    world.progress.step("building the image that old code runs in: the engine hasn't got it")
    try:
        (image,) = imaging.build(world, [RUNNER_IMAGE])
    except EnvironmentNotReady as error:
        told = Problem(
            "the image that old code runs in is nowhere at hand, and can't be built", _DOCUMENT, hint=_IN_AN_ARCHIVE
        )
        raise EnvironmentNotReady.of([told, *error.problems]) from error
    imaging.load(world, engine, [image])
    return Room(image.tag, _declared(world))


def _declared(world: World) -> Mapping[str, str]:
    """What the lock of our own image says."""
    spec = read_image(RUNNER_IMAGE, world.build.images_dir)
    lock = read_image_lock(RUNNER_IMAGE, spec, world.build.arch, world.build.images_dir)
    return {normalized(wheel.name): wheel.version for wheel in lock.wheels}


def _asked_of_an_engine(config: Json) -> set[str]:
    """What the image has set for the containers that are made of it."""
    match config:
        case {"config": dict(settings)}:
            return {name for name, value in settings.items() if value}
        case _:
            return set()


def _told(config: Json) -> Mapping[str, str]:
    """What an image made elsewhere says of its wheels: where it says nothing, nothing is known."""
    match config:
        case {"history": [*history]}:
            said = (str(one.get("created_by", "")) for one in history if isinstance(one, dict))
            wheels = (line.removeprefix(_WHEELS) for line in said if line.startswith(_WHEELS))
            found = (_WHEEL.fullmatch(part) for line in wheels for part in line.split(", "))
            return {normalized(match[1]): match[2] for match in found if match is not None}
        case _:
            return {}
