"""The blobs of an archive that is being read: each held against the index, byte for byte, before anybody gets any.

Layers of images are most of an archive, and are read once more by an engine at most: they stay packed where they are,
and are checked again while they go out. Everything else lies unpacked in a private folder.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.archives.frame import BLOCK_BYTES
from runner.archives.packing import PIECE_BYTES, unpacked_pieces
from runner.archives.split import translated
from runner.core.canonical import Digest
from runner.core.errors import EvidenceError
from runner.images.store import Store
from runner.images.tarball import padding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.archives.frame import Entry
    from runner.archives.index import ArchiveIndex
    from runner.archives.split import JoinedFile

# Packed and unpacked digests and unpacking run outside the interpreter lock.
_WORKERS: Final = min(4, os.cpu_count() or 1)


@dataclass(frozen=True)
class ArchiveStore(Store):
    """A store of what an archive holds."""

    file: JoinedFile
    index: ArchiveIndex
    entries: Mapping[str, Entry]
    """Of each blob, by its digest."""

    def take_all(self) -> None:
        """Every blob is what the index says, and lies in the folder unless it is a layer.

        Raises:
            EvidenceError: one isn't; the first in the archive's order is named.
        """
        with translated(self.folder):
            (self.folder / "blobs" / "sha256").mkdir(parents=True)
        uses, layers = dict(self.index.uses()), self.index.layers()
        pool = ThreadPoolExecutor(_WORKERS)
        try:
            for _ in pool.map(
                lambda entry: self._take(entry, uses.get(entry.digest, ""), keep=entry.digest not in layers),
                self.entries.values(),
            ):
                pass
        finally:
            pool.shutdown(cancel_futures=True)

    def read_blob(self, digest: Digest, *, verify: bool = False) -> Iterator[bytes]:
        """The blob's bytes in chunks; those of a layer are checked at any rate.

        Raises:
            EvidenceError: they aren't what they were.
        """
        entry = self.entries.get(digest)
        if entry is None or self.blob_path(digest).exists():
            yield from super().read_blob(digest, verify=verify)
        else:
            yield from self._pieces(entry, "")

    def _take(self, entry: Entry, use: str, *, keep: bool) -> None:
        pieces = self._pieces(entry, use)
        if not keep:
            for _ in pieces:
                pass
            return
        path = self.blob_path(Digest(entry.digest))
        with translated(path), path.open("xb") as stream:
            for piece in pieces:
                stream.write(piece)

    def _pieces(self, entry: Entry, use: str) -> Iterator[bytes]:
        """The bytes of the blob at `entry`, unpacked; at their end they, and everything round them, were right."""
        pin = self.index.blobs[entry.digest]
        if self.file.read(entry.start, BLOCK_BYTES) != entry.header:
            raise EvidenceError("its header isn't the one that the index gives it", document=entry.name, key=use)
        packed, raw = _Packed(self.file, entry), hashlib.sha256()
        try:
            for piece in unpacked_pieces(pin.encoding, packed.read, pin.size):
                raw.update(piece)
                yield piece
        except EvidenceError as error:
            raise EvidenceError(error.problems[0].message, document=entry.name, key=use) from error
        if packed.digest() != pin.packed_sha256:
            raise EvidenceError("its packed bytes aren't those of the index", document=entry.name, key=use)
        if f"sha256:{raw.hexdigest()}" != entry.digest:
            raise EvidenceError("its bytes don't have the digest that names it", document=entry.name, key=use)
        if self.file.read(entry.body + entry.size, len(padding(entry.size))) != padding(entry.size):
            raise EvidenceError("what fills its last block isn't empty", document=entry.name, key=use)


class _Packed:
    """The bytes of an entry, one after another, and their digest."""

    def __init__(self, file: JoinedFile, entry: Entry) -> None:
        self._file = file
        self._here, self._end = entry.body, entry.body + entry.size
        self._hasher = hashlib.sha256()

    def read(self, size: int) -> bytes:
        piece = self._file.read(self._here, min(size, self._end - self._here))
        self._here += len(piece)
        self._hasher.update(piece)
        return piece

    def digest(self) -> str:
        """Of all of them, those that unpacking had no use for among them."""
        while self.read(PIECE_BYTES):
            pass
        return f"sha256:{self._hasher.hexdigest()}"
