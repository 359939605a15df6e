"""A run out of an archive: laid down among the other runs, and what a rerun may take from the archive besides."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runner.archives.reading import MAX_BYTES, open_archive
from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.errors import StudyError
from runner.core.visible import visible
from runner.pipeline.fitness import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.archives.index import ArchivedRun
    from runner.archives.reading import OpenArchive
    from runner.pipeline.world import World


@contextmanager
def out_of_archive(world: World, path: Path, name: str, max_bytes: int = MAX_BYTES) -> Iterator[tuple[Path, Shelf]]:
    """The folder of the run `name` of the archive at `path`, of its only one where that is ""; and its images.

    The folder stays among the other runs, so that the run can be verified and compared like any other.

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
        if _stands_there(world, folder, archive.index.runs[chosen]):
            world.progress.step(f"{chosen} is there already: {folder}")
        else:
            archive.unpack_run(chosen, folder)
            world.progress.step(f"unpacked {folder}")
        yield folder, shelf_of(archive, path)


def shelf_of(archive: OpenArchive, path: Path) -> Shelf:
    """What a rerun may take from the archive, which stands at `path`."""
    images = archive.index.images
    runner = next((image.pin.tag for image in images if image.role == "runner"), None)
    return Shelf(
        pins=tuple(image.pin for image in images),
        chunks=lambda pins: archive.image_chunks([pin.config_digest for pin in pins]),
        own_code="" if runner is None else in_its_own_image(path, runner),
    )


def in_its_own_image(path: Path, runner: str) -> str:
    """What starts the code that the archive at `path` holds, with a container engine and nothing else."""
    file = shlex.quote(str(path.resolve()))
    joined = "" if path.is_file() else f"cat {file}.part* > {file} && "
    # The socket is the whole engine: whoever runs this gives the container what root of this machine has.
    return (
        f"{joined}docker load -i {file} && docker run --rm --network none "
        f'-v /var/run/docker.sock:/var/run/docker.sock -v {file}:/archive:ro -v "$PWD":/study {runner} rerun /archive'
    )


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
