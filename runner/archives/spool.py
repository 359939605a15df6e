"""Blobs on their way into an archive: each once, packed, in a file of the writer's own or in the cache.

An archive's first bytes say what all others are, so everything is packed before the first is written.
"""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING, Final

from runner.archives.index import BlobPin
from runner.archives.packing import LIBRARIES, PIECE_BYTES, packed_at_once, packed_pieces, pays
from runner.core.canonical import Digest, digest_of, sha256_digest
from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from runner.archives.index import Encoding
    from runner.images.store import Blob, Store

    Source: TypeAlias = Callable[[], Iterable[bytes]]

# What is so small is in memory whole; what is larger is read twice: to know it, and to pack it.
_SMALL_BYTES: Final = 4 << 20
_CHANGED: Final = "it changes while it is archived"


class Spool:
    """Every blob of an archive."""

    def __init__(self, spool: IO[bytes], cache: Store) -> None:
        """Nothing yet; `spool` is an empty file that can be read back, `cache` keeps layers packed."""
        self.pins: dict[str, BlobPin] = {}
        self._spool = spool
        self._cache = cache
        self._places: dict[str, Source] = {}
        self._end = 0

    def add_bytes(self, data: bytes, *, plain: bool = False) -> Digest:
        """The blob of `data` is there, as it is if `plain`."""
        digest = sha256_digest(data)
        if digest not in self.pins:
            packed = data if plain else packed_at_once(data)
            encoding: Encoding = "zstd" if not plain and pays(len(data), len(packed)) else "identity"
            self._keep(digest, len(data), encoding, [data if encoding == "identity" else packed])
        return digest

    def add(self, source: Source, size: int, document: str) -> Digest:
        """The blob of the `size` bytes that `source` gives each time is there.

        Raises:
            EvidenceError: they are others the second time, or more or fewer.
        """
        if size <= _SMALL_BYTES:
            data = b"".join(source())
            if len(data) != size:
                raise EvidenceError(_CHANGED, document=document)
            return self.add_bytes(data)
        hasher = hashlib.sha256()
        for chunk in source():
            hasher.update(chunk)
        digest = Digest(f"sha256:{hasher.hexdigest()}")
        if digest not in self.pins:
            packed = self._keep(digest, size, "zstd", _held(source(), digest, size, document, "zstd"))
            if not pays(size, packed):
                self._drop(digest, packed)
                self._keep(digest, size, "identity", _held(source(), digest, size, document, "identity"))
        return digest

    def add_layer(self, digest: str, source: Source, size: int, encoding: Encoding, document: str) -> None:
        """The layer `digest`, of the `size` bytes that `source` gives, is there; the cache has it packed.

        Raises:
            EvidenceError: they have another digest.
        """
        if digest in self.pins:
            return
        key = digest_of({"layer": digest, "encoding": encoding, "library": LIBRARIES[encoding]})
        packed = self._cache.layer(key)
        if packed is None or not self._is_whole(packed):
            packed = self._cache.add_layer(key, _held(source(), digest, size, document, encoding))
        if pays(size, packed.size_bytes):
            kept = packed.digest
            self._put(digest, BlobPin(size=size, packed=packed.size_bytes, packed_sha256=kept, encoding=encoding))
            self._places[digest] = lambda: self._cache.read_blob(kept)
        else:
            self._put(digest, BlobPin(size=size, packed=size, packed_sha256=digest, encoding="identity"))
            self._places[digest] = lambda: _held(source(), digest, size, document, "identity")

    def chunks(self, digest: str) -> Iterable[bytes]:
        """The packed bytes of the blob `digest`."""
        return self._places[digest]()

    def _is_whole(self, packed: Blob) -> bool:
        hasher = hashlib.sha256()
        for chunk in self._cache.read_blob(packed.digest):
            hasher.update(chunk)
        return f"sha256:{hasher.hexdigest()}" == packed.digest

    def _keep(self, digest: str, size: int, encoding: Encoding, pieces: Iterable[bytes]) -> int:
        """The packed `pieces` lie in the spool; their length is returned."""
        hasher, start = hashlib.sha256(), self._end
        self._spool.seek(start)
        for piece in pieces:
            hasher.update(piece)
            self._spool.write(piece)
            self._end += len(piece)
        length = self._end - start
        packed_sha256 = f"sha256:{hasher.hexdigest()}"
        self._put(digest, BlobPin(size=size, packed=length, packed_sha256=packed_sha256, encoding=encoding))
        self._places[digest] = lambda: self._spooled(start, length)
        return length

    def _drop(self, digest: str, length: int) -> None:
        """The blob that was kept last, of so many packed bytes, is gone."""
        del self.pins[digest], self._places[digest]
        self._end -= length

    def _put(self, digest: str, pin: BlobPin) -> None:
        self.pins[digest] = pin

    def _spooled(self, start: int, length: int) -> Iterator[bytes]:
        self._spool.seek(start)
        while length and (piece := self._spool.read(min(length, PIECE_BYTES))):
            length -= len(piece)
            yield piece


def _held(chunks: Iterable[bytes], digest: str, size: int, document: str, encoding: Encoding) -> Iterator[bytes]:
    """`chunks` packed; they must come to `digest` and `size`."""
    yield from packed_pieces(encoding, _counted(chunks, digest, size, document), size)


def _counted(chunks: Iterable[bytes], digest: str, size: int, document: str) -> Iterator[bytes]:
    hasher, left = hashlib.sha256(), size
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            break
        hasher.update(chunk)
        yield chunk
    if left or f"sha256:{hasher.hexdigest()}" != digest:
        raise EvidenceError(f"its bytes aren't those of {digest}", document=document)
