"""A run out of an archive: laid down among the other runs, and what a rerun may take from the archive besides."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from runner.archives.reading import MAX_BYTES, open_archive
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import EnvironmentNotReady, PairbenchError, StudyError
from runner.core.visible import visible
from runner.pipeline.fitness import Shelf
from runner.pipeline.opening import spoken_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.archives.index import ArchivedRun
    from runner.archives.reading import OpenArchive
    from runner.pipeline.world import World

_USUAL: Final = "unix:///var/run/docker.sock"


@contextmanager
def out_of_archive(world: World, path: Path, name: str, max_bytes: int = MAX_BYTES) -> Iterator[tuple[Path, Shelf]]:
    """The folder of the run `name` of the archive at `path`, of its only one where that is ""; and its images.

    The folder stays among the other runs, so that the run can be verified and compared like any other; unless it was
    laid down now, and what follows says that this run is none to go on with.

    Raises:
        StudyError: there is no such archive or run, or another run of that name stands there already.
        EvidenceError: the archive is damaged.
        EnvironmentNotReady: there is no room.
    """
    world.progress.step(f"reading {path}")
    with open_archive(path, world.places.cache / "unpacking", max_bytes=max_bytes) as archive:
        chosen = _chosen(archive, path, name)
        folder = world.places.runs / chosen
        if not archive.index.runs[chosen].verified:
            world.progress.step(f"{chosen} did not verify when it was archived, or nobody looked")
        stood_there = _stands_there(world, folder, archive.index.runs[chosen])
        if stood_there:
            world.progress.step(f"{chosen} is there already: {folder}")
        else:
            archive.unpack_run(chosen, folder)
            world.progress.step(f"unpacked {folder}")
        try:
            yield folder, shelf_of(world, archive, path)
        except EnvironmentNotReady:
            # Whatever the machine lacks can be mended, and hints name files of the run.
            raise
        except PairbenchError:
            if stood_there:
                raise
            world.files.remove(folder)
            world.progress.step(f"removed {folder}")
            with spoken_of(folder, f"{path}#{chosen}"):
                raise


def shelf_of(world: World, archive: OpenArchive, path: Path) -> Shelf:
    """What a rerun may take from the archive, which stands at `path`."""
    images = archive.index.images
    runner = next((image.pin.tag for image in images if image.role == "runner"), None)
    return Shelf(
        pins=tuple(image.pin for image in images),
        chunks=lambda pins: archive.image_chunks([pin.config_digest for pin in pins]),
        own_code="" if runner is None else in_its_own_image(path, runner, _address(world)),
    )


def in_its_own_image(path: Path, runner: str, address: str = _USUAL) -> str:
    """What starts the code that the archive at `path` holds, with the engine at `address` and nothing else."""
    file = shlex.quote(str(path.resolve()))
    joined = "" if path.is_file() else f"cat {file}.part* > {file} && "
    told = "" if address == _USUAL else f"export DOCKER_HOST={shlex.quote(address)} && "
    kind, _, place = address.partition("://")
    # The engine is the whole machine: whoever runs this gives the container what root of it has.
    reached = (
        f"--network none -v {shlex.quote(place)}:/var/run/docker.sock"
        if kind == "unix"
        # There is no socket to be given: the container asks where the engine listens.
        else f"--network host -e DOCKER_HOST={shlex.quote(address)}"
    )
    return (
        f"{told}{joined}docker load -i {file} && docker run --rm {reached} "
        f'-v {file}:/archive:ro -v "$PWD":/study {runner} rerun /archive'
    )


def _address(world: World) -> str:
    """Where the engine that answers listens; where one usually does, if none answers."""
    try:
        return world.engine().info().address
    except EnvironmentNotReady:
        return _USUAL


def _chosen(archive: OpenArchive, path: Path, name: str) -> str:
    names = list(archive.index.runs)
    known = ", ".join(visible(each) for each in names) or "none"
    if not name and len(names) != 1:
        told = "the archive has no run" if not names else f"the archive has {len(names)} runs"
        raise StudyError(told, document=str(path), hint=f"name one with --run: {known}" if names else "")
    chosen = name or names[0]
    if chosen not in archive.index.runs:
        raise StudyError(f"the archive has no run {chosen!r}", document=str(path), hint=f"it has {known}")
    return chosen


def _stands_there(world: World, folder: Path, archived: ArchivedRun) -> bool:
    """Whether the very run that was archived stands at `folder`.

    Raises:
        StudyError: another one does.
    """
    if next(iter(world.files.walk(folder)), None) is None:
        return False
    lock, summary = (world.files.read(folder / name) for name in (layout.LOCK, layout.SUMMARY))
    found = ("" if data is None else sha256_digest(data) for data in (lock, summary))
    if tuple(found) == (archived.lock_sha256, archived.summary_sha256):
        return True
    raise StudyError(
        "another run than the archived one stands there",
        document=str(folder),
        hint="move it, or work in another folder",
    )
