"""Runs and images go into an archive, and out of one: only what verifies goes in, only what was checked comes out.

Nothing is built for a run that is archived. Its images are the ones that its lock names, out of the cache, or out of
the engine where the cache hasn't got them any more.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from runner.archives.harness import harness_in
from runner.archives.reading import MAX_BYTES, open_archive
from runner.archives.saved import read_saved
from runner.archives.split import refuse_taken
from runner.archives.writing import ArchivableImage, Contents, LayerSource, write_archive
from runner.core import layout
from runner.core.canonical import Digest, parse_json, sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError, PairbenchError, Problem, StudyError
from runner.core.lock import Lock
from runner.images.harness_layer import RUNNER_IMAGE
from runner.images.oci import manifest_of
from runner.images.store import Blob
from runner.pipeline import imaging
from runner.pipeline.concluding import Verification, verify_run
from runner.pipeline.folder import required
from runner.pipeline.opening import spoken_of
from runner.pipeline.pinning import located
from runner.publish.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from runner.archives.harness import HarnessFiles
    from runner.archives.index import ArchivedImage, Role
    from runner.archives.reading import OpenArchive
    from runner.archives.writing import Written
    from runner.core.lock import ImagePin
    from runner.images.oci import BuiltImage
    from runner.images.store import Store
    from runner.pipeline.world import World


_AS_IT_IS: Final = "an archive of it says so if it is made with --unverified"


@dataclass(frozen=True)
class Order:
    """How an archive is asked for."""

    destination: Path
    split_bytes: int | None = None
    """Parts of so many bytes, instead of one file."""
    runner: bool = True
    """The image that runs us goes in too: with it, an engine is all that a stranger needs."""
    unverified: bool = False
    """Runs aren't recomputed first, and the index says so."""


@dataclass(frozen=True)
class VerifiedRun:
    """A run of an archive, and what its recomputation found."""

    name: str
    verification: Verification
    finished: bool = True
    """Nothing was recomputed of one that isn't: it has no summary yet."""


@dataclass(frozen=True)
class VerifiedArchive:
    """An archive whose every byte is what its index says."""

    index_sha256: Digest
    content_sha256: str
    images: tuple[ArchivedImage, ...]
    runs: tuple[VerifiedRun, ...]


def archive_runs(world: World, folders: Sequence[Path], order: Order) -> Written:
    """The archive of the runs in `folders`: their files, their images, their code.

    Raises:
        StudyError: two runs have one name, one isn't finished, or the archive is there already.
        EvidenceError: a run doesn't verify, or an image isn't what its lock says.
        EnvironmentNotReady: an image is nowhere to be had, or the disk refuses.
    """
    # Where it goes is looked at before anything that takes its time.
    runs = _named(folders)
    refuse_taken(order.destination)
    if not order.unverified:
        for name, folder in runs.items():
            world.progress.step(f"verifying {name}")
            _refuse_unverified(world, name, folder)
    locks = {name: Lock.from_bytes(required(world.files, folder, layout.LOCK), name) for name, folder in runs.items()}
    pins = {pin.config_digest: pin for lock in locks.values() for pin in lock.images}
    images = [archivable(world, pin) for pin in pins.values()]
    codes = [_code_of(world, folder, locks[name]) for name, folder in runs.items()]
    if order.runner:
        images.append(_runner_image(world, _shared(codes)))
    world.progress.step(f"packing {counted(len(runs), 'run')} and {counted(len(images), 'image')}")
    contents = Contents(
        created_by=world.harness,
        images=images,
        runs=runs,
        harnesses=list({code.pin.source_sha256: code for code in codes if code is not None}.values()),
        unverified=frozenset(runs if order.unverified else ()),
    )
    return write_archive(contents, order.destination, cache=world.places.cache, split_bytes=order.split_bytes)


def archive_images(world: World, names: Sequence[str], order: Order) -> Written:
    """The archive of our images `names`, or all that pods are made of, built or taken from the cache.

    Raises:
        StudyError: there is no such image, or the archive is there already.
        EnvironmentNotReady: something can't be downloaded, or the disk refuses.
        EvidenceError: something isn't what its lock says.
    """
    refuse_taken(order.destination)
    pods = [name for name in names if name != RUNNER_IMAGE]
    built = imaging.build(world, pods) if pods or not names else ()
    images = [_archivable(image, "pod", world.build.store) for image in built]
    if RUNNER_IMAGE in names:
        images.append(_runner_image(world))
    world.progress.step(f"packing {counted(len(images), 'image')}")
    contents = Contents(created_by=world.harness, images=images)
    return write_archive(contents, order.destination, cache=world.places.cache, split_bytes=order.split_bytes)


@contextmanager
def opened(world: World, path: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[OpenArchive]:
    """The archive `path`, checked as a whole; raises as `open_archive` does."""
    world.progress.step(f"checking every byte of {path.name}")
    with open_archive(path, world.places.cache / "scratch", max_bytes=max_bytes) as archive:
        yield archive


def load_images(
    world: World, path: Path, which: Sequence[str] = (), *, max_bytes: int = MAX_BYTES
) -> tuple[BuiltImage, ...]:
    """The engine holds the images `which` of the archive, or all of them, and says of each what the archive does.

    Raises:
        StudyError: there is no such archive, or it has no such image.
        EvidenceError: the archive isn't what its index says, or the engine reports another image.
        EnvironmentNotReady: there is no engine, or no room.
    """
    with opened(world, path, max_bytes=max_bytes) as archive:
        images = archive.built(which)
        within = replace(world, build=replace(world.build, store=archive.store))
        imaging.load(within, world.engine(), images)
    return images


def verify_archive(world: World, path: Path, only: str = "", *, max_bytes: int = MAX_BYTES) -> VerifiedArchive:
    """The archive `path` was read, and every one of its runs, or `only` that one, recomputed from its raw evidence.

    Raises:
        StudyError: there is no such archive, or it has no such run.
        EvidenceError: the archive isn't what its index says.
        EnvironmentNotReady: there is no room.
    """
    with opened(world, path, max_bytes=max_bytes) as archive:
        runs = []
        for name in [only] if only else archive.index.runs:
            folder = archive.store.folder / "runs" / name
            archive.unpack_run(name, folder)
            world.progress.step(f"verifying {name}")
            with spoken_of(folder, f"{path}#{name}"):
                runs.append(_verified_run(world, name, folder))
            world.files.remove(folder)
        index = archive.index
        return VerifiedArchive(archive.index_sha256, index.content_sha256, index.images, tuple(runs))


def archivable(world: World, pin: ImagePin) -> ArchivableImage:
    """The image that a lock pins, all of whose bytes are in the cache now.

    Raises:
        EnvironmentNotReady: neither the cache nor an engine has it.
        EvidenceError: what the engine has isn't what the lock says.
    """
    store = world.build.store
    if any(not store.blob_path(Digest(digest)).exists() for digest in (pin.config_digest, *pin.diff_ids)):
        _bring(world, pin)
    config = b"".join(store.read_blob(Digest(pin.config_digest), verify=True))
    blobs = [Blob(Digest(layer), store.blob_path(Digest(layer)).stat().st_size) for layer in pin.diff_ids]
    manifest = manifest_of(config, blobs)
    if sha256_digest(manifest) != pin.manifest_digest:
        raise EvidenceError("its manifest isn't what the lock says", document=f"image {pin.name}")
    return ArchivableImage(
        pin=pin,
        arch=_architecture(config, pin),
        role="user" if pin.is_users else "pod",
        config=config,
        manifest=manifest,
        layers=_sources(blobs, store),
    )


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for folder in folders:
        if named.setdefault(folder.name, folder) != folder:
            raise StudyError(f"two runs are called {folder.name}", hint="rename the folder of one, or archive it alone")
    return named


def _refuse_unverified(world: World, name: str, folder: Path) -> None:
    try:
        found = _verified(world, folder)
    except StudyError as error:
        told = Problem("it isn't finished, and isn't archived as if it were", name, hint=f"resume it; {_AS_IT_IS}")
        raise StudyError.of([told]) from error
    if not found.holds:
        told = Problem("it doesn't verify, and isn't archived as if it did", name, hint=_AS_IT_IS)
        raise EvidenceError.of([*found.differences, told])


def _verified_run(world: World, name: str, folder: Path) -> VerifiedRun:
    try:
        return VerifiedRun(name, _verified(world, folder))
    except StudyError as error:
        return VerifiedRun(name, Verification(0, error.problems, same_code=True), finished=False)


def _verified(world: World, folder: Path) -> Verification:
    try:
        return verify_run(world.files, folder, world.harness)
    except EvidenceError as error:
        return Verification(0, error.problems, same_code=True)


def _code_of(world: World, folder: Path, lock: Lock) -> HarnessFiles | None:
    """The code that the run keeps; None of a run from before runs kept theirs."""
    names = list(world.files.walk(folder / layout.HARNESS))
    kept = {name: required(world.files, folder, f"{layout.HARNESS}/{name}") for name in names}
    return harness_in(lock.harness, kept) if kept else None


def _shared(codes: Sequence[HarnessFiles | None]) -> HarnessFiles | None:
    """The code of all runs, if it is one: what reruns them then, years later, is what ran them."""
    found = {code.pin.source_sha256: code for code in codes if code is not None}
    return next(iter(found.values())) if len(found) == 1 and None not in codes else None


def _runner_image(world: World, code: HarnessFiles | None = None) -> ArchivableImage:
    world.progress.step("building the image that runs the program")
    return _archivable(imaging.runner_image(world, code), "runner", world.build.store)


def _archivable(image: BuiltImage, role: Role, store: Store) -> ArchivableImage:
    blobs = [layer.blob for layer in image.layers]
    pin = imaging.pin_of(image)
    return ArchivableImage(pin, image.arch, role, image.config, image.manifest, _sources(blobs, store))


def _sources(blobs: Iterable[Blob], store: Store) -> dict[str, LayerSource]:
    return {blob.digest: LayerSource(blob.size_bytes, partial(store.read_blob, blob.digest)) for blob in blobs}


def _bring(world: World, pin: ImagePin) -> None:
    """The cache holds the image `pin`, out of the engine."""
    hint = f"`pairbench images build {pin.name}` makes it again where its inputs are still to be had"
    try:
        engine = world.engine()
        reference = located(engine, pin)
    except PairbenchError as error:
        told = Problem(f"the cache hasn't got all of {pin.config_digest}", f"image {pin.name}", hint=hint)
        raise EnvironmentNotReady.of([told, *error.problems]) from error
    if reference is None:
        lacking = f"neither the cache nor the engine has {pin.config_digest}"
        raise EnvironmentNotReady(lacking, document=f"image {pin.name}", hint=hint)
    world.progress.step(f"taking {pin.name} from the engine")
    saved = read_saved(engine.save_image(reference), world.build.store, f"image {pin.name}")
    found = (sha256_digest(saved.config), tuple(blob.digest for blob in saved.layers))
    if found != (pin.config_digest, pin.diff_ids):
        raise EvidenceError("what the engine saved isn't what the lock says", document=f"image {pin.name}")
    world.build.store.add_blob([saved.config])


def _architecture(config: bytes, pin: ImagePin) -> str:
    match parse_json(config, f"image {pin.name}"):
        case {"architecture": str(architecture), "rootfs": {"diff_ids": [*layers]}} if tuple(layers) == pin.diff_ids:
            return architecture
        case _:
            raise EvidenceError(
                "its configuration isn't that of an image of these layers", document=f"image {pin.name}"
            )
