"""How blobs are packed, and unpacked without trust in what they say of themselves.

Zstandard (RFC 8878) for everything, gzip (RFC 1952) where an engine reads the blob from the archive by itself, neither
where packing doesn't pay. The same bytes come out of the same library's version, however many threads it has.
"""

from __future__ import annotations

import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import zstandard

from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from runner.archives.index import Encoding

PIECE_BYTES: Final = 1 << 20
SUFFIXES: Final[dict[Encoding, str]] = {"identity": "", "zstd": ".zst", "gzip": ".gz"}
LIBRARIES: Final = {
    "zstd": f"zstd {'.'.join(map(str, zstandard.ZSTD_VERSION))}",
    "gzip": f"zlib {zlib.ZLIB_RUNTIME_VERSION}",
}
"""What packed bytes depend on besides what is packed."""

_LEVEL: Final = 3
_THREADS: Final = 2
# Level 3 looks back 2 MiB; a frame that asks its reader for more than 8 MiB isn't ours (RFC 8878 section 3.1.1.1.2).
_WINDOW_BYTES: Final = 8 << 20
# Of the image that runs us, 192 MB: level 1 packs to 66.9 MB in 1.7 s, 4 to 61.3 MB in 2.4 s, 6 to 59.2 MB in 5.0 s.
_GZIP_LEVEL: Final = 4
_GZIP_WINDOW: Final = 31
# Each becomes a member of its own (RFC 1952 section 2.2), so that several are packed at once.
_MEMBER_BYTES: Final = 4 << 20
# What follows a member is copied at its end: a reader takes none that are much smaller than ours, but for the last.
_LEAST_BYTES: Final = 1 << 16
# Below this a frame's own header is most of what it saves.
_SMALLEST_BYTES: Final = 256
# Unpacking costs time for ever: what saves less than 1 in 16 isn't packed.
_WORTH: Final = 16


def pays(size: int, packed: int) -> bool:
    """Whether `size` bytes should be kept as `packed` ones."""
    return size >= _SMALLEST_BYTES and packed <= size - size // _WORTH


def packed_at_once(data: bytes) -> bytes:
    """`data` as one frame of zstd."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def packed_pieces(encoding: Encoding, chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """What `chunks`, `size` bytes together, are when they are packed."""
    match encoding:
        case "identity":
            yield from chunks
        case "zstd":
            packer = zstandard.ZstdCompressor(level=_LEVEL, threads=_THREADS).compressobj(size=size)
            for chunk in chunks:
                if piece := packer.compress(chunk):
                    yield piece
            yield packer.flush()
        case "gzip":
            yield from _gzip_members(chunks)


def unpacked_pieces(encoding: Encoding, read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    """The bytes of which `read` gives the packed ones; never more than `size`, and never much of them at once.

    Raises:
        EvidenceError: they aren't packed as `encoding` says, or come to more or fewer than `size`.
    """
    match encoding:
        case "identity":
            pieces: Iterator[bytes] = iter(lambda: read(PIECE_BYTES), b"")
        case "zstd":
            pieces = _zstd_pieces(read)
        case "gzip":
            pieces = _gzip_pieces(read, 1 + size // _LEAST_BYTES)
    left = size
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise EvidenceError(f"it unpacks to more than the {size} bytes that the index says")
        yield piece
    if left:
        raise EvidenceError(f"it unpacks to {size - left} bytes, and the index says {size}")


class _Reading:
    """A file for the decompressor, which asks for nothing but `read`."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read


def _zstd_pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    try:
        # What follows a frame is read too, so that bytes are never there unseen.
        with unpacker.stream_reader(_Reading(read), PIECE_BYTES, read_across_frames=True) as stream:  # type: ignore[arg-type]
            while piece := stream.read(PIECE_BYTES):
                yield piece
    except zstandard.ZstdError as error:
        raise EvidenceError(f"it can't be unpacked: {error}") from error


def _gzip_pieces(read: Callable[[int], bytes], most: int) -> Iterator[bytes]:
    """What at most `most` members hold."""
    unpacker, fresh = zlib.decompressobj(_GZIP_WINDOW), True
    members = 0
    waiting = b""
    try:
        while waiting or (waiting := read(PIECE_BYTES)):
            fresh = False
            if piece := unpacker.decompress(waiting, PIECE_BYTES):
                yield piece
            waiting = unpacker.unconsumed_tail
            if unpacker.eof:
                members += 1
                if members > most:
                    raise EvidenceError(f"it can't be unpacked: it has more than {most} members for its size")
                waiting = unpacker.unused_data
                unpacker, fresh = zlib.decompressobj(_GZIP_WINDOW), True
    except zlib.error as error:
        raise EvidenceError(f"it can't be unpacked: {error}") from error
    if not fresh:
        raise EvidenceError("it can't be unpacked: it is cut")


def _gzip_members(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Members in order, packed by several threads, few of them waiting at a time."""
    with ThreadPoolExecutor(_THREADS) as pool:
        waiting: deque[Future[bytes]] = deque()
        for member in _regrouped(chunks, _MEMBER_BYTES):
            waiting.append(pool.submit(_gzip_member, member))
            if len(waiting) > _THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _gzip_member(data: bytes) -> bytes:
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(data) + packer.flush()


def _regrouped(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes, `size` at a time: where chunks end must not show."""
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)
