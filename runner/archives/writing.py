"""Images, runs and code become one archive, whose bytes follow from them alone."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from runner.archives.checking import MAX_TREE_BYTES, most_bytes
from runner.archives.frame import INDEX, LOADABLE, MAX_INDEX_BYTES, README, SEAL, entries, loadable, seal_of
from runner.archives.index import (
    ArchivedHarness,
    ArchivedImage,
    ArchivedRun,
    ArchivedWheel,
    ArchiveIndex,
    TextPin,
    content_digest,
)
from runner.archives.packing import PIECE_BYTES
from runner.archives.places import run_fault
from runner.archives.readme import readme_of
from runner.archives.split import WholeFiles, translated
from runner.archives.spool import Spool
from runner.archives.trees import Listed, RunTree, find_files, harness_pin, last_line_digest
from runner.archives.trials import tar_chunks, tar_size
from runner.core import layout
from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EvidenceError
from runner.images.store import Store
from runner.images.tarball import end_of_archive, padding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.archives.harness import HarnessFiles
    from runner.archives.index import Encoding, Role
    from runner.archives.trees import FoundFiles
    from runner.core.lock import HarnessPin, ImagePin

_NEEDED: Final = (layout.LOCK, layout.LEDGER)


@dataclass(frozen=True)
class LayerSource:
    """Where the bytes of a layer, an uncompressed tar, come from; they may be asked for more than once."""

    size: int
    chunks: Callable[[], Iterable[bytes]]


@dataclass(frozen=True)
class ArchivableImage:
    """An image as it is at hand: its documents, and where its layers are."""

    pin: ImagePin
    arch: str
    role: Role
    config: bytes
    manifest: bytes
    layers: Mapping[str, LayerSource]
    """By the digest of each."""


@dataclass(frozen=True)
class Contents:
    """What is to be archived."""

    created_by: HarnessPin
    images: Sequence[ArchivableImage] = ()
    runs: Mapping[str, Path] = field(default_factory=dict)
    """Name -> folder."""
    harnesses: Sequence[HarnessFiles] = ()
    unverified: frozenset[str] = frozenset()
    """Runs that don't verify, or weren't asked to."""


@dataclass(frozen=True)
class Written:
    """An archive that was written."""

    index_sha256: Digest
    content_sha256: Digest
    size_bytes: int
    files: tuple[Path, ...]
    left_out: tuple[str, ...]
    """What lay in the runs' folders and is no part of them."""


def write_archive(contents: Contents, destination: Path, *, cache: Path, split_bytes: int | None = None) -> Written:
    """`destination` is the archive of `contents`, or its parts beside it are; at an error there is nothing.

    Raises:
        StudyError: something stands there already.
        EvidenceError: something isn't what its digest says, or can't be laid down everywhere.
        EnvironmentNotReady: the disk refuses.
    """
    files = WholeFiles(destination, split_bytes)
    try:
        with translated(destination), tempfile.TemporaryFile(dir=destination.parent) as temporary:
            left_out: list[str] = []
            spool = Spool(temporary, Store(cache / "packed"))
            index = _index(contents, spool, left_out)
            data = index.to_bytes()
            _refuse_large(INDEX, len(data), MAX_INDEX_BYTES)
            size = _write(files, index, data, spool)
        made = files.finish()
    finally:
        files.drop()
    return Written(sha256_digest(data), Digest(index.content_sha256), size, made, tuple(left_out))


def _index(contents: Contents, spool: Spool, left_out: list[str]) -> ArchiveIndex:
    """The index of `contents`, all of whose blobs are in `spool`."""
    # Those of the runner first: an engine reads its blobs from the archive by itself, so they decide how.
    by_role = sorted(
        contents.images, key=lambda image: (image.role != "runner", image.pin.name, image.pin.config_digest)
    )
    images = {image.pin.config_digest: _image(image, spool) for image in by_role}
    runs = {}
    for name, folder in sorted(contents.runs.items()):
        found = find_files(folder)
        left_out += [f"{name}/{path}" for path in found.left_out]
        runs[name] = _run(name, folder, found, spool, verified=name not in contents.unverified)
    harness = {code.pin.source_sha256: _harness(code, spool) for code in contents.harnesses}
    ordered = tuple(sorted(images.values(), key=lambda image: (image.pin.name, image.config)))
    content = content_digest(ordered, runs, harness, spool.pins)
    readme = readme_of(content, ordered, runs)
    return ArchiveIndex(
        created_by=contents.created_by,
        content_sha256=content,
        images=ordered,
        runs=runs,
        harness=harness,
        readme=TextPin(size=len(readme), sha256=sha256_digest(readme)),
        blobs=dict(spool.pins),
    )


def _image(image: ArchivableImage, spool: Spool) -> ArchivedImage:
    is_runner = image.role == "runner"
    encoding: Encoding = "gzip" if is_runner else "zstd"
    for digest in image.pin.diff_ids:
        source = image.layers[digest]
        spool.add_layer(digest, source.chunks, source.size, encoding, f"image {image.pin.name}")
    return ArchivedImage(
        pin=image.pin,
        arch=image.arch,
        role=image.role,
        config=spool.add_bytes(image.config, plain=is_runner),
        manifest=spool.add_bytes(image.manifest),
        layers=image.pin.diff_ids,
    )


def _run(name: str, folder: Path, found: FoundFiles, spool: Spool, *, verified: bool) -> ArchivedRun:
    if fault := run_fault(name):
        raise EvidenceError(fault, document=str(folder), hint="give its folder another name")
    files = {
        path: Listed(spool.add(partial(_file_chunks, folder / path), size, f"{name}/{path}"), size)
        for path, size in found.outside.items()
    }
    trials = {}
    for trial, inside in found.trials.items():
        listed = list(inside.items())
        below = folder / layout.TRIALS / trial
        size = tar_size(listed)
        place = f"{name}/{layout.TRIALS}/{trial}"
        source = partial(tar_chunks, listed, partial(_below_chunks, below))
        trials[trial] = Listed(spool.add(source, size, place), size)
    for missing in (needed for needed in _NEEDED if needed not in files):
        raise EvidenceError("the file is missing", document=f"{name}/{missing}")
    tree = RunTree(files, trials).to_bytes()
    _refuse_large(f"the list of files of {name}", len(tree), MAX_TREE_BYTES)
    for path, most in most_bytes(files).items():
        _refuse_large(f"{name}/{path}", files[path].size, most)
    return ArchivedRun(
        lock_sha256=files[layout.LOCK].digest,
        summary_sha256=files[layout.SUMMARY].digest if layout.SUMMARY in files else "",
        ledger_head=last_line_digest(_file_chunks(folder / layout.LEDGER)),
        harness=harness_pin(b"".join(_file_chunks(folder / layout.LOCK))),
        verified=verified,
        tree=spool.add_bytes(tree),
    )


def _refuse_large(what: str, size: int, most: int) -> None:
    """No archive is made that no reader takes."""
    if size > most:
        raise EvidenceError(f"it has {size} bytes, and no archive holds more than {most}", document=what)


def _harness(code: HarnessFiles, spool: Spool) -> ArchivedHarness:
    wheel = ArchivedWheel(file=code.wheel_name, digest=spool.add_bytes(code.wheel))
    return ArchivedHarness(pin=code.pin, wheel=wheel, requirements=spool.add_bytes(code.requirements))


def _write(files: WholeFiles, index: ArchiveIndex, data: bytes, spool: Spool) -> int:
    """The whole archive went to `files`; its length is returned."""
    texts = {
        SEAL: seal_of(sha256_digest(data)),
        INDEX: data,
        LOADABLE: loadable(index),
        README: readme_of(Digest(index.content_sha256), index.images, index.runs),
    }
    end = 0
    for entry in entries(index, len(data)):
        files.write(entry.header)
        for chunk in spool.chunks(entry.digest) if entry.digest else (texts[entry.name],):
            files.write(chunk)
        files.write(padding(entry.size))
        end = entry.end
    files.write(end_of_archive())
    return end + len(end_of_archive())


def _file_chunks(path: Path) -> Iterator[bytes]:
    with translated(path), path.open("rb") as stream:
        while chunk := stream.read(PIECE_BYTES):
            yield chunk


def _below_chunks(folder: Path, path: str) -> Iterator[bytes]:
    return _file_chunks(folder / path)
