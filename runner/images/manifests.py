"""What an image's manifest and configuration say, read strictly: they may come from anywhere.

Only images whose layers are plain tars are read, as all images of ours are: there a layer's digest is its diff id, and
nothing has to be unpacked to hold one against the other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import Digest, parse_digest, parse_json, sha256_digest
from runner.core.errors import EvidenceError
from runner.images.layer import Layer
from runner.images.oci import BuiltImage
from runner.images.store import Blob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.core.canonical import Json

CONFIG_LIMIT_BYTES: Final = 8 << 20
_INDEXES: Final = frozenset(
    {"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}
)
_PLAIN: Final = frozenset({"application/vnd.oci.image.layer.v1.tar", "application/vnd.docker.image.rootfs.diff.tar"})
_MANY: Final = 512


@dataclass(frozen=True)
class Manifest:
    """The blobs of an image: its configuration, and its layers, base first."""

    data: bytes
    config: Blob
    layers: tuple[Blob, ...]

    @property
    def size_bytes(self) -> int:
        """Of everything that it names."""
        return self.config.size_bytes + sum(layer.size_bytes for layer in self.layers)


def read_manifest(data: bytes, digest: Digest, document: str) -> Manifest:
    """The manifest of `digest`.

    Raises:
        EvidenceError: `data` is another one, or none of an image with plain layers.
    """
    found = sha256_digest(data)
    if found != digest:
        raise EvidenceError(f"the manifest that came is {found}, not {digest}", document=document)
    value = _object(parse_json(data, document), "the manifest", document)
    if value.get("mediaType") in _INDEXES or "manifests" in value:
        hint = "name the manifest of one architecture, by its digest"
        raise EvidenceError("it is an index of images of several architectures", document=document, hint=hint)
    layers = value.get("layers")
    if value.get("schemaVersion") != 2 or not isinstance(layers, list) or not layers or len(layers) > _MANY:
        raise EvidenceError("it is no manifest of an image", document=document)
    config, _ = _descriptor(value.get("config"), "its configuration", document)
    if config.size_bytes > CONFIG_LIMIT_BYTES:
        raise EvidenceError(f"its configuration has {config.size_bytes} bytes", document=document)
    return Manifest(data, config, tuple(_layer(item, number, document) for number, item in enumerate(layers, 1)))


def image_of(name: str, manifest: Manifest, config: bytes, document: str) -> BuiltImage:
    """The image called `name` that `manifest` and its configuration describe.

    Raises:
        EvidenceError: `config` is another one, or doesn't fit the manifest.
    """
    found = sha256_digest(config)
    if found != manifest.config.digest:
        raise EvidenceError(f"the configuration that came is {found}, not {manifest.config.digest}", document=document)
    value = _object(parse_json(config, document), "the configuration", document)
    rootfs = _object(value.get("rootfs"), "rootfs of the configuration", document)
    if rootfs.get("diff_ids") != [layer.digest for layer in manifest.layers]:
        raise EvidenceError("the layers of its configuration aren't those of its manifest", document=document)
    arch = value.get("architecture")
    if value.get("os") != "linux" or not isinstance(arch, str):
        raise EvidenceError("its configuration isn't that of a Linux image", document=document)
    layers = tuple(Layer(f"layer-{number}", blob, document) for number, blob in enumerate(manifest.layers, 1))
    return BuiltImage(name, arch, config, manifest.data, layers)


def held_to(digest: Digest, size_bytes: int, chunks: Iterable[bytes], document: str) -> Iterator[bytes]:
    """What `chunks` give, ended by an error unless it was the blob of `digest`.

    Raises:
        EvidenceError: too many bytes came, as soon as they do; too few came, or others.
    """
    hasher, found = hashlib.sha256(), 0
    for chunk in chunks:
        found += len(chunk)
        if found > size_bytes:
            raise EvidenceError(f"blob {digest} has {size_bytes} bytes, and more came", document=document)
        hasher.update(chunk)
        yield chunk
    if found < size_bytes:
        raise EvidenceError(f"blob {digest} has {size_bytes} bytes, and {found} came", document=document)
    if f"sha256:{hasher.hexdigest()}" != digest:
        raise EvidenceError(f"the bytes that came for blob {digest} are sha256:{hasher.hexdigest()}", document=document)


def _layer(value: Json, number: int, document: str) -> Blob:
    blob, media_type = _descriptor(value, f"layer {number}", document)
    if media_type not in _PLAIN:
        hint = "images of ours have plain layers; let the engine pull any other one, by its digest"
        raise EvidenceError(f"layer {number} is of the type {media_type}", document=document, hint=hint)
    return blob


def _descriptor(value: Json, what: str, document: str) -> tuple[Blob, str]:
    item = _object(value, what, document)
    size, media_type = item.get("size"), item.get("mediaType")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0 or not isinstance(media_type, str):
        raise EvidenceError(f"{what} has no size or no type", document=document)
    try:
        return Blob(parse_digest(str(item.get("digest"))), size), media_type
    except EvidenceError as error:
        raise EvidenceError(f"{what} has no digest that can be checked", document=document) from error


def _object(value: Json, what: str, document: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise EvidenceError(f"{what} is no object", document=document)
    return value
