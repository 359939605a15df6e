"""Does an archive whose every byte is what its index says hold what the index says?

Bytes were checked before; here it is what they mean: documents that lead to one another, paths, and no blob too many.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from runner.archives.frame import INDEX, blob_entry
from runner.archives.harness import MAX_WHEEL_BYTES, source_digest_of_wheel, wheel_name
from runner.archives.places import run_fault
from runner.archives.trees import harness_pin, last_line_digest, read_tree
from runner.archives.trials import members
from runner.core import layout
from runner.core.canonical import Digest, parse_json
from runner.core.errors import EvidenceError
from runner.core.harness import REQUIREMENTS
from runner.images.layer import Layer
from runner.images.oci import BuiltImage, manifest_of
from runner.images.store import Blob

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runner.archives.index import ArchivedImage, ArchivedRun, ArchiveIndex
    from runner.archives.trees import RunTree
    from runner.images.store import Store

# What is read whole, and parsed, takes a multiple of its bytes in memory: configurations, manifests and locks have
# some kilobytes, lists of files about 150 bytes a file.
MAX_DOCUMENT_BYTES: Final = 16 << 20
MAX_TREE_BYTES: Final = 64 << 20
_MOST_BYTES: Final = {
    layout.LOCK: MAX_DOCUMENT_BYTES,
    **dict.fromkeys((layout.PLAN, layout.STUDY, layout.LABELS, layout.PRICES, layout.CHECKSUM), MAX_TREE_BYTES),
}
_REPOSITORY: Final = re.compile(r"pairbench/([a-z0-9][a-z0-9-]{0,79})")


def check_index(index: ArchiveIndex) -> None:
    """The index doesn't contradict itself.

    Raises:
        EvidenceError: it does.
    """
    if index.content() != index.content_sha256:
        raise _refused(f"what it lists comes to {index.content()}", "content_sha256")
    for name in index.runs:
        if fault := run_fault(name):
            raise _refused(fault, f"runs.{name}")
    for digest, use in index.uses():
        if digest not in index.blobs:
            raise _refused(f"it has no blob for {use}", digest)
    for source, code in index.harness.items():
        if source != code.pin.source_sha256 or code.wheel.file != wheel_name(code.pin.version):
            raise _refused("the code isn't the one that it is called", f"harness.{source}")
        if code.pin.requirements_sha256 not in {"", code.requirements}:
            raise _refused("its requirements aren't those that it is pinned to", f"harness.{source}")
    _check_images(index)


def _check_images(index: ArchiveIndex) -> None:
    configs = [image.config for image in index.images]
    if len(set(configs)) != len(configs):
        raise _refused("an image stands twice", "images")
    layers = index.layers()
    for digest, use in index.uses():
        if digest in layers and not use.startswith("a layer"):
            raise _refused(f"a layer of an image is {use} too", digest)
    for image in index.images:
        pin = image.pin
        said, found = (
            (pin.config_digest, pin.manifest_digest, pin.diff_ids),
            (image.config, image.manifest, image.layers),
        )
        if said != found:
            raise _refused("its blobs aren't those that it is pinned to", f"images.{pin.name}")
        if not _repository(image):
            raise _refused(f"{pin.tag!r} isn't a tag that is made of its own digest", f"images.{pin.name}")


def read_trees(index: ArchiveIndex, store: Store) -> dict[str, RunTree]:
    """The files of every run, all of them blobs of the archive; no blob is there for nothing.

    Raises:
        EvidenceError: a list isn't one, names a blob that isn't there, or a path that leaves its run.
    """
    used, layers = {digest for digest, _ in index.uses()}, index.layers()
    found: dict[str, RunTree] = {}
    for name, run in index.runs.items():
        entry = entry_of(index, run.tree)
        tree = read_tree(document(index, store, run.tree, MAX_TREE_BYTES), entry)
        for path, listed in tree.listed():
            pin = index.blobs.get(listed.digest)
            if listed.digest in layers:
                raise EvidenceError("a file of a run is a layer of an image", document=entry, key=path)
            if pin is None or pin.size != listed.size:
                raise EvidenceError(
                    f"the archive has no {listed.digest} of {listed.size} bytes", document=entry, key=path
                )
            used.add(listed.digest)
        _check_run(run, tree, entry, index, store)
        found[name] = tree
    for surplus in sorted(set(index.blobs) - used):
        raise EvidenceError("nothing in the archive uses it", document=entry_of(index, surplus))
    return found


def check_trials(index: ArchiveIndex, trees: Mapping[str, RunTree], store: Store) -> None:
    """Every trial is a tar that stays in its folder.

    Raises:
        EvidenceError: one isn't.
    """
    for digest in {listed.digest for tree in trees.values() for listed in tree.trials.values()}:
        with store.blob_path(digest).open("rb") as stream:
            members(stream, entry_of(index, digest))


def check_code(index: ArchiveIndex, store: Store) -> None:
    """Every wheel holds the code that it is pinned to.

    Raises:
        EvidenceError: one holds other code.
    """
    for source, code in index.harness.items():
        entry = entry_of(index, code.wheel.digest)
        if source_digest_of_wheel(document(index, store, code.wheel.digest, MAX_WHEEL_BYTES), entry) != source:
            raise EvidenceError(f"its code isn't {source}", document=entry, key=code.wheel.file)


def image_of(index: ArchiveIndex, image: ArchivedImage, store: Store) -> BuiltImage:
    """The image, whose documents lead to one another.

    Raises:
        EvidenceError: they don't, or aren't those of an image.
    """
    config, manifest = document(index, store, image.config), document(index, store, image.manifest)
    entry = entry_of(index, image.config)
    value = parse_json(config, entry)
    match value:
        case {"os": "linux", "architecture": arch, "rootfs": {"type": "layers", "diff_ids": [*layers]}}:
            fits = arch == image.arch and tuple(layers) == image.layers
        case _:
            fits = False
    if not fits:
        raise EvidenceError("it isn't the configuration of this image", document=entry, key=f"image {image.pin.name}")
    blobs = [Blob(Digest(layer), index.blobs[layer].size) for layer in image.layers]
    if manifest != manifest_of(config, blobs):
        where = entry_of(index, image.manifest)
        raise EvidenceError("it isn't the manifest of this image", document=where, key=f"image {image.pin.name}")
    layers_of = tuple(Layer("layer", blob, "an archive") for blob in blobs)
    return BuiltImage(_repository(image), image.arch, config, manifest, layers_of)


def document(index: ArchiveIndex, store: Store, digest: str, most: int = MAX_DOCUMENT_BYTES) -> bytes:
    """The bytes of a blob that is read whole, `most` at the most.

    Raises:
        EvidenceError: it is too large for what it is.
    """
    if index.blobs[digest].size > most:
        raise EvidenceError(f"it has more than {most} bytes", document=entry_of(index, digest))
    return b"".join(store.read_blob(Digest(digest)))


def most_bytes(paths: Collection[str]) -> dict[str, int]:
    """What those of a run's files at `paths` may have that are read whole before anything else of it is looked at."""
    found = {path: _MOST_BYTES[path] for path in paths if path in _MOST_BYTES}
    return found | {path: MAX_WHEEL_BYTES for path in paths if path.startswith(f"{layout.HARNESS}/")}


def entry_of(index: ArchiveIndex, digest: str) -> str:
    """The name of the entry of the blob `digest`."""
    return blob_entry(digest, index.blobs[digest].encoding)


def _repository(image: ArchivedImage) -> str:
    """What the image is called in its tag, below our own name; "" for a tag that could be another image's."""
    repository, _, digest = image.pin.tag.partition(":")
    found = _REPOSITORY.fullmatch(repository)
    return found[1] if found is not None and f"sha256:{digest}" == image.config else ""


def _check_run(run: ArchivedRun, tree: RunTree, entry: str, index: ArchiveIndex, store: Store) -> None:
    """What the index says of a run is what the run's own files say."""
    lock, ledger, summary = (tree.files.get(name) for name in (layout.LOCK, layout.LEDGER, layout.SUMMARY))
    if lock is None or lock.digest != run.lock_sha256:
        raise EvidenceError("its lock isn't the one of the index", document=entry, key=layout.LOCK)
    if (summary.digest if summary else "") != run.summary_sha256:
        raise EvidenceError("its summary isn't the one of the index", document=entry, key=layout.SUMMARY)
    if ledger is None or last_line_digest(store.read_blob(ledger.digest)) != run.ledger_head:
        raise EvidenceError("its ledger ends otherwise than the index says", document=entry, key=layout.LEDGER)
    if harness_pin(document(index, store, lock.digest)) != run.harness:
        raise EvidenceError("its code isn't the one of the index", document=entry, key=layout.LOCK)
    for path, most in most_bytes(tree.files).items():
        if tree.files[path].size > most:
            raise EvidenceError(f"it has more than {most} bytes", document=entry, key=path)
    path, pinned = f"{layout.HARNESS}/{REQUIREMENTS}", run.harness.requirements_sha256
    if pinned and (path not in tree.files or tree.files[path].digest != pinned):
        raise EvidenceError("it isn't what the lock says", document=entry, key=path)


def _refused(message: str, key: str) -> EvidenceError:
    return EvidenceError(message, document=INDEX, key=key)
