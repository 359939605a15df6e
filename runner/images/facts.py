"""What an image is made of, layer by layer: each file with what it came out of, and the sums by package."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.images.origins import Origin
from runner.images.records import FileFacts, record_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    from runner.images.layer import Layer
    from runner.images.oci import BuiltImage
    from runner.images.store import Store

_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class PackageFacts:
    """What a layer has of one package, wheel, folder of ours or declaration."""

    origin: Origin
    files: int
    """Links among them."""
    compiled: int
    """How many of them were compiled here."""
    size_bytes: int


@dataclass(frozen=True)
class LayerFacts:
    """A layer, and all that is in it but folders."""

    layer: Layer
    files: tuple[FileFacts, ...]

    @property
    def packages(self) -> tuple[PackageFacts, ...]:
        """What the files came out of, in the order of its kind and name."""
        return tuple(
            PackageFacts(
                origin,
                len(files),
                sum(file.compiled for file in files),
                sum(file.size_bytes for file in files),
            )
            for origin, files in sorted(_by_origin(self.files).items())
        )


def image_facts(image: BuiltImage, store: Store) -> tuple[LayerFacts, ...]:
    """The layers of `image`, which was built with its records, base first.

    Raises:
        EvidenceError: a record or a layer isn't there any more, or is damaged.
    """
    return tuple(LayerFacts(layer, _files(layer, store)) for layer in image.layers)


def _files(layer: Layer, store: Store) -> tuple[FileFacts, ...]:
    if layer.key is None:
        return tuple(_as_they_are(layer, store))
    found = record_of(layer.key, store)
    if found is None:
        hint = "build the image again"
        raise EvidenceError("what its files came out of isn't recorded", document=f"layer {layer.name}", hint=hint)
    return found


def _as_they_are(layer: Layer, store: Store) -> Iterator[FileFacts]:
    """The files of a layer that was made elsewhere: all of them came out of that image."""
    name, _, digest = layer.made_of.partition("@")
    origin = Origin("image", name, "", "", digest)
    try:
        with tarfile.open(store.blob_path(layer.diff_id)) as tar:
            for member in tar:
                path = f"/{member.name.removeprefix('./').strip('/')}"
                if member.issym() or member.islnk():
                    yield FileFacts(path, "link", "", 0, member.linkname, origin, compiled=False)
                elif member.isreg() and (stream := tar.extractfile(member)) is not None:
                    yield FileFacts(path, "file", _digest(stream), member.size, "", origin, compiled=False)
    except (OSError, tarfile.TarError) as error:
        raise EvidenceError(f"it can't be read: {error}", document=f"layer {layer.name}") from error


def _digest(stream: IO[bytes]) -> str:
    hasher = hashlib.sha256()
    while piece := stream.read(_PIECE_BYTES):
        hasher.update(piece)
    return f"sha256:{hasher.hexdigest()}"


def _by_origin(files: Sequence[FileFacts]) -> dict[Origin, list[FileFacts]]:
    found: dict[Origin, list[FileFacts]] = {}
    for file in files:
        found.setdefault(file.origin, []).append(file)
    return found
