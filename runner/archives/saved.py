"""An image as an engine saves it: its configuration, and its layers in the store, uncompressed.

Engines name the members of such a tar as they like, and pack layers or don't; only `manifest.json` says which is which.
"""

from __future__ import annotations

import itertools
import json
import posixpath
import tarfile
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, cast

from runner.archives.packing import PIECE_BYTES
from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.images.store import Blob, Store

_MANIFEST: Final = "manifest.json"
# Documents are kept until the manifest, which comes last, says what they are; what is larger is a layer.
_SMALL_BYTES: Final = 1 << 20
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 31


@dataclass(frozen=True)
class SavedImage:
    """The documents and layers of one image."""

    config: bytes
    layers: tuple[Blob, ...]


def read_saved(chunks: Iterable[bytes], store: Store, origin: str) -> SavedImage:
    """The one image that the tar of `chunks` holds; its layers are in `store`.

    Raises:
        EvidenceError: it isn't a tar of one image.
    """
    small: dict[str, bytes] = {}
    large: dict[str, Blob] = {}
    links: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", _Stream(chunks)), mode="r|") as saved:
            for member in saved:
                name = posixpath.normpath(member.name)
                stream = saved.extractfile(member) if member.isreg() else None
                if member.issym():
                    links[name] = posixpath.normpath(posixpath.join(posixpath.dirname(name), member.linkname))
                elif stream is not None and member.size <= _SMALL_BYTES:
                    small[name] = stream.read()
                elif stream is not None:
                    large[name] = store.add_blob(_plain(_pieces(stream)))
        (manifest,) = json.loads(small[_MANIFEST])
        found = [links.get(posixpath.normpath(name), posixpath.normpath(name)) for name in manifest["Layers"]]
        layers = tuple(large.get(name) or store.add_blob(_plain(iter([small[name]]))) for name in found)
        return SavedImage(small[posixpath.normpath(manifest["Config"])], layers)
    except (tarfile.TarError, EOFError, KeyError, ValueError, TypeError, zlib.error) as error:
        raise EvidenceError(f"what the engine saved isn't an image: {error!r}", document=origin) from error


class _Stream:
    """A file over chunks, for tarfile's stream mode."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def read(self, size: int) -> bytes:
        found = [self._rest]
        missing = size - len(self._rest)
        while missing > 0 and (chunk := next(self._chunks, b"")):
            found.append(chunk)
            missing -= len(chunk)
        data = b"".join(found)
        self._rest = data[size:]
        return data[:size]


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(PIECE_BYTES):
        yield piece


def _plain(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a layer, which an engine may have kept packed."""
    first = next(pieces, b"")
    if not first.startswith(_GZIP_MAGIC):
        yield first
        yield from pieces
        return
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    for piece in itertools.chain([first], pieces):
        waiting = piece
        while waiting:
            yield unpacker.decompress(waiting, PIECE_BYTES)
            waiting = unpacker.unconsumed_tail
            if unpacker.eof and (waiting := unpacker.unused_data):
                unpacker = zlib.decompressobj(_GZIP_WINDOW)
    if not unpacker.eof:
        raise EOFError("a layer is cut")
