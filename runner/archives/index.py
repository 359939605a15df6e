"""What an archive's index says: which images, runs and code it holds, and by which bytes.

The index pins every byte of the archive behind it: whoever holds its digest holds all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from runner.core.canonical import Digest, digest_of
from runner.core.documents import Document, Part
from runner.core.lock import HarnessPin, ImagePin

if TYPE_CHECKING:
    from collections.abc import Iterator

DigestText = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0)]
Encoding = Literal["identity", "zstd", "gzip"]
Role = Literal["pod", "runner", "user"]
"""`pod`: assembled by us for trials; `runner`: the one that runs us; `user`: an arm's, made elsewhere."""


class BlobPin(Part):
    """One blob: its own bytes, named by their digest, and how they are packed."""

    size: Bytes
    packed: Bytes
    packed_sha256: DigestText
    encoding: Encoding


class TextPin(Part):
    """A file of the archive that is for people."""

    size: Bytes
    sha256: DigestText


class ArchivedImage(Part):
    """An image whose documents and layers are blobs of the archive; layers are uncompressed tars, base first."""

    pin: ImagePin
    arch: str
    role: Role
    config: DigestText
    manifest: DigestText
    layers: tuple[DigestText, ...]


class ArchivedRun(Part):
    """A run; its files are listed by the blob `tree`."""

    lock_sha256: DigestText
    summary_sha256: DigestText | Literal[""]
    """"" where it has none."""
    ledger_head: DigestText
    harness: HarnessPin
    """The code that ran it."""
    verified: bool
    """Whether it was recomputed, and held, when it was archived."""
    tree: DigestText


class ArchivedWheel(Part):
    """The file of a wheel."""

    file: str
    digest: DigestText


class ArchivedHarness(Part):
    """Code of ours: its wheel, and what it needs."""

    pin: HarnessPin
    wheel: ArchivedWheel
    requirements: DigestText


class ArchiveIndex(Document):
    """Everything that an archive holds."""

    FORMAT: ClassVar[str] = "pairbench/archive"

    created_by: HarnessPin
    content_sha256: DigestText
    """Of what the archive holds, however it is packed and whoever packed it: its name for citing."""
    images: tuple[ArchivedImage, ...]
    runs: dict[str, ArchivedRun]
    harness: dict[str, ArchivedHarness]
    """By the digest of its sources."""
    readme: TextPin
    blobs: dict[DigestText, BlobPin]

    def image(self, name: str) -> ArchivedImage | None:
        """The image `name`, if it is in the archive."""
        return next((image for image in self.images if image.pin.name == name), None)

    def content(self) -> Digest:
        """What `content_sha256` must be."""
        return content_digest(self.images, self.runs, self.harness, self.blobs)

    def raw_bytes(self) -> int:
        """What all blobs come to, unpacked."""
        return sum(blob.size for blob in self.blobs.values())

    def layers(self) -> set[str]:
        """The blobs that are layers of images."""
        return {layer for image in self.images for layer in image.layers}

    def uses(self) -> Iterator[tuple[str, str]]:
        """Every blob that the index itself names, and what it is; those of a run's files are named by its tree."""
        for image in self.images:
            yield image.config, f"the configuration of image {image.pin.name}"
            yield image.manifest, f"the manifest of image {image.pin.name}"
            for layer in image.layers:
                yield layer, f"a layer of image {image.pin.name}"
        for name, run in self.runs.items():
            yield run.tree, f"the list of files of run {name}"
        for harness in self.harness.values():
            yield harness.wheel.digest, f"the wheel {harness.wheel.file}"
            yield harness.requirements, f"the requirements of {harness.wheel.file}"


def content_digest(
    images: tuple[ArchivedImage, ...],
    runs: dict[str, ArchivedRun],
    harness: dict[str, ArchivedHarness],
    blobs: dict[str, BlobPin],
) -> Digest:
    """The digest of what an archive holds, which says nothing of packing, of splitting, or of who archived it."""
    return digest_of(
        {
            "images": [image.json_value() for image in images],
            "runs": {name: run.json_value() for name, run in runs.items()},
            "harness": {name: code.json_value() for name, code in harness.items()},
            "blobs": [[digest, blob.size] for digest, blob in sorted(blobs.items())],
        }
    )
