"""Images go to a registry and come back by digest: what is pushed is the manifest of the lock, and what is pulled too.

One repository an image, below the one that is named: `HOST/REPOSITORY/trial`. It has the image's own tag, without which
a registry that collects garbage would take it away; nothing here ever asks for an image by a tag.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from runner.core.errors import EvidenceError
from runner.images.archive import archive_chunks
from runner.images.manifests import held_to, image_of, read_manifest
from runner.images.store import Blob, file_digest
from runner.pipeline import imaging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.core.canonical import Digest
    from runner.images.oci import BuiltImage
    from runner.images.store import Store
    from runner.ports.engine import Engine
    from runner.ports.progress import Progress
    from runner.ports.registry import Place, Repository

MOST_BYTES: Final = 64 << 30
"""What one image may come to, before anything of it is fetched."""


@dataclass(frozen=True)
class Pushed:
    """What became of one image."""

    name: str
    reference: str
    """By which it can be pulled, as long as the registry keeps it."""
    sent_bytes: int
    sent_blobs: int
    present_blobs: int
    """Those that didn't have to be sent: they were there, or in another repository of the push."""


def push(
    repository: Callable[[Place], Repository], to: Place, images: Sequence[BuiltImage], store: Store, progress: Progress
) -> tuple[Pushed, ...]:
    """The registry holds every one of `images` below `to`, under the manifest digest that its lock names.

    Layers come out of `store`, which is an archive's own where images come from one.

    Raises:
        EnvironmentNotReady: the registry can't be reached, or refuses.
        EvidenceError: a layer isn't what its digest says, or the registry says that it holds something else.
    """
    places: dict[Digest, Place] = {}
    pushed = []
    for image in images:
        with closing(repository(to.below(image.name))) as target:
            pushed.append(_push_one(target, image, store, places, progress))
            places.update({blob.digest: target.place for blob in _blobs(image)})
    return tuple(pushed)


def pull(
    source: Repository, digest: Digest, name: str, store: Store, progress: Progress, *, most_bytes: int = MOST_BYTES
) -> BuiltImage:
    """The image of the manifest `digest` is in `store`, as `name`: every byte of it was held to its digest first.

    Raises:
        EnvironmentNotReady: the registry can't be reached, refuses, or breaks off.
        EvidenceError: it serves anything but what the digest leads to, or more than `most_bytes`.
    """
    document = f"{source.place}@{digest}"
    manifest = read_manifest(source.manifest(digest), digest, document)
    if manifest.size_bytes > most_bytes:
        raise EvidenceError(f"it comes to {manifest.size_bytes} bytes, more than {most_bytes}", document=document)
    config = b"".join(_fetched(source, manifest.config, document))
    image = image_of(name, manifest, config, document)
    missing = [blob for blob in dict.fromkeys(manifest.layers) if not _is_whole(store, blob)]
    for number, blob in enumerate(missing, 1):
        progress.step(f"fetching layer {number} of {len(missing)} of {source.place} ({_megabytes(blob)})")
        store.add_blob(_fetched(source, blob, document))
    return image


def give(engine: Engine, images: Sequence[BuiltImage], store: Store, progress: Progress) -> None:
    """The engine holds `images`, each under its own tag, and says of each what was pulled.

    Raises:
        EvidenceError: a layer changed in the store, or the engine reports another id or other layers.
    """
    missing = [image for image in images if engine.image(image.tag) is None]
    if missing:
        progress.step(f"loading {', '.join(image.name for image in missing)} into the engine")
        engine.load_images(archive_chunks(missing, store, verify=True))
    imaging.hold(engine, images)


def _push_one(
    target: Repository, image: BuiltImage, store: Store, places: dict[Digest, Place], progress: Progress
) -> Pushed:
    blobs = _blobs(image)
    sent = [blob for blob in blobs if not _is_there(target, blob, places)]
    for number, blob in enumerate(sent, 1):
        progress.step(f"sending blob {number} of {len(sent)} of {image.name} ({_megabytes(blob)})")
        target.put_blob(blob.digest, blob.size_bytes, partial(_chunks, image, blob, store))
    target.put_manifest(image.manifest, image.tag.rpartition(":")[2])
    document = f"{target.place}@{image.manifest_digest}"
    # A registry that rewrites what it is given would lead nobody back to the lock.
    read_manifest(target.manifest(image.manifest_digest), image.manifest_digest, document)
    return Pushed(
        name=image.name,
        reference=document,
        sent_bytes=sum(blob.size_bytes for blob in sent),
        sent_blobs=len(sent),
        present_blobs=len(blobs) - len(sent),
    )


def _blobs(image: BuiltImage) -> tuple[Blob, ...]:
    config = Blob(image.config_digest, len(image.config))
    return tuple(dict.fromkeys((*(layer.blob for layer in image.layers), config)))


def _chunks(image: BuiltImage, blob: Blob, store: Store) -> Iterator[bytes]:
    return iter((image.config,)) if blob.digest == image.config_digest else store.read_blob(blob.digest, verify=True)


def _megabytes(blob: Blob) -> str:
    return f"{-(-blob.size_bytes // 1_000_000)} MB"


def _is_there(target: Repository, blob: Blob, places: dict[Digest, Place]) -> bool:
    if target.has_blob(blob.digest, blob.size_bytes):
        return True
    source = places.get(blob.digest)
    return source is not None and target.mount_blob(blob.digest, source)


def _fetched(source: Repository, blob: Blob, document: str) -> Iterator[bytes]:
    return held_to(blob.digest, blob.size_bytes, source.blob(blob.digest, blob.size_bytes), document)


def _is_whole(store: Store, blob: Blob) -> bool:
    """Whether the store has the blob, and it is still what it was."""
    path = store.blob_path(blob.digest)
    try:
        return path.stat().st_size == blob.size_bytes and file_digest(path) == blob.digest
    except OSError:
        return False
