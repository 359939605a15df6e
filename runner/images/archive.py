"""Built images as one tar that is an OCI layout and a docker archive at once; layers that images share are in it once.

Layers stand in it uncompressed, so an engine's diff ids are their digests, and loading costs no decompression.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.oci import blob_name, docker_manifest, layout_index, layout_marker
from runner.images.tarball import end_of_archive, file_header, padding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from runner.images.oci import BuiltImage
    from runner.images.store import Store


def archive_chunks(images: Sequence[BuiltImage], store: Store, *, verify: bool = False) -> Iterator[bytes]:
    """The archive of `images`, in chunks; the same bytes for the same images in the same order.

    Raises:
        EvidenceError: a layer is gone from the store or, with `verify`, has changed there.
    """
    yield from _member("oci-layout", layout_marker())
    yield from _member("index.json", layout_index(images))
    yield from _member("manifest.json", docker_manifest(images))
    documents = {image.config_digest: image.config for image in images}
    documents.update({image.manifest_digest: image.manifest for image in images})
    for digest, data in sorted(documents.items()):
        yield from _member(blob_name(digest), data)
    layers = {layer.diff_id: layer.blob for image in images for layer in image.layers}
    for digest, blob in layers.items():
        yield file_header(blob_name(digest), blob.size_bytes)
        yield from store.read_blob(digest, verify=verify)
        yield padding(blob.size_bytes)
    yield end_of_archive()


def write_archive(images: Sequence[BuiltImage], store: Store, destination: Path) -> int:
    """`destination` is the archive of `images`, whole; its length in bytes is returned.

    Raises:
        EvidenceError: a layer is gone from the store, or has changed there.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = destination.with_name(f".{destination.name}.{os.getpid()}")
    try:
        with partial.open("wb") as stream:
            for chunk in archive_chunks(images, store, verify=True):
                stream.write(chunk)
            size = stream.tell()
        partial.replace(destination)
    finally:
        partial.unlink(missing_ok=True)
    return size


def verify_loaded(image: BuiltImage, *, reported_id: str, diff_ids: Sequence[str]) -> None:
    """What an engine reports after loading is `image`: its configuration or its manifest as id, and its layers.

    Raises:
        EvidenceError: it is another image.
    """
    if reported_id not in {image.config_digest, image.manifest_digest}:
        raise EvidenceError(
            f"the engine reports {reported_id}, neither configuration {image.config_digest} "
            f"nor manifest {image.manifest_digest}",
            document=image.tag,
        )
    if tuple(diff_ids) != image.diff_ids:
        raise EvidenceError(
            f"the engine's layers are {', '.join(diff_ids)}, not {', '.join(image.diff_ids)}", document=image.tag
        )


def _member(name: str, data: bytes) -> Iterator[bytes]:
    yield file_header(name, len(data))
    yield data
    yield padding(len(data))
