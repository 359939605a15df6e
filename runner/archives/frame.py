"""What stands where in an archive: every entry, its header, and its place follow from the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.archives.packing import SUFFIXES
from runner.core.canonical import Digest, canonical_bytes
from runner.images.oci import blob_name
from runner.images.tarball import end_of_archive, file_header, padding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.archives.index import ArchiveIndex, Encoding

BLOCK_BYTES: Final = 512
SEAL: Final = "archive.sha256"
INDEX: Final = "archive.json"
LOADABLE: Final = "manifest.json"
"""Leads an engine's own `load` to the image that runs us, and to no other."""
README: Final = "README.txt"
MAX_INDEX_BYTES: Final = 64 << 20
"""Parsed, an index takes a multiple of its bytes in memory."""


@dataclass(frozen=True)
class Entry:
    """One entry of the tar: `start` is where its header begins."""

    name: str
    start: int
    size: int
    digest: str = ""
    """Of the blob that it is, unpacked; "" for another file."""

    @property
    def header(self) -> bytes:
        """The only header that it may have."""
        return file_header(self.name, self.size)

    @property
    def body(self) -> int:
        """Where its bytes begin."""
        return self.start + BLOCK_BYTES

    @property
    def end(self) -> int:
        """Where the next entry begins."""
        return self.body + self.size + len(padding(self.size))


def seal_of(index_sha256: Digest) -> bytes:
    """The bytes of `archive.sha256`, as `sha256sum --check` reads them."""
    return f"{index_sha256.removeprefix('sha256:')}  {INDEX}\n".encode()


SEAL_BYTES: Final = 64 + 2 + len(INDEX) + 1


def blob_entry(digest: str, encoding: Encoding) -> str:
    """The name of the entry that holds the blob `digest`."""
    return blob_name(Digest(digest)) + SUFFIXES[encoding]


def loadable(index: ArchiveIndex) -> bytes:
    """The bytes of `manifest.json`; "" where the archive has no image that runs us."""
    listed = [
        {
            "Config": blob_entry(image.config, index.blobs[image.config].encoding),
            "RepoTags": [image.pin.tag],
            "Layers": [blob_entry(layer, index.blobs[layer].encoding) for layer in image.layers],
        }
        for image in index.images
        if image.role == "runner"
    ]
    return canonical_bytes(listed) if listed else b""


def entries(index: ArchiveIndex, index_bytes: int) -> Iterator[Entry]:
    """Every entry of the archive in its order."""
    manifest = loadable(index)
    sizes = [(SEAL, SEAL_BYTES, ""), (INDEX, index_bytes, "")]
    sizes += [(LOADABLE, len(manifest), "")] if manifest else []
    sizes.append((README, index.readme.size, ""))
    sizes += [(blob_entry(digest, pin.encoding), pin.packed, digest) for digest, pin in sorted(index.blobs.items())]
    start = 0
    for name, size, digest in sizes:
        entry = Entry(name, start, size, digest)
        yield entry
        start = entry.end


def total_bytes(listed: list[Entry]) -> int:
    """How long the archive of these entries is."""
    return listed[-1].end + len(end_of_archive())
