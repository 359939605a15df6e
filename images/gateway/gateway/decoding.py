"""What does a compressed body say? Decodes the content codings that clients ask for, for reading alone."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Protocol

import zstandard

try:
    import brotli
except ImportError:
    brotli = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# A few bytes may unpack to gigabytes. So much of one answer is unpacked; the longest ones have some tens of MB.
UNPACKED_LIMIT_BYTES = 64 * 1024 * 1024
# What is unpacked at once, where the library lets that be said.
STEP_BYTES = 1024 * 1024
# Where it doesn't, so much is given to it at once. A block of zstd has 4 bytes at least and unpacks to 128 KiB at most
# (RFC 8878 section 3.1.1.2): 16 MiB. A meta-block of brotli has some 8 bytes at least, and at most 16 MiB (RFC 7932
# section 9.2).
ZSTD_SLICE_BYTES = 512
BROTLI_SLICE_BYTES = 8
# RFC 9659: no larger window may be asked of a client.
ZSTD_WINDOW_BYTES = 8 * 1024 * 1024


class Decoder(Protocol):
    """Takes a body in pieces."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """What `data` adds to the text, unpacked as far as it is asked for.

        Raises:
            DecodingError: when it isn't encoded as was said, or unpacks to too much.
        """


class DecodingError(Exception):
    """A body can't be decoded."""


class Identity:
    """A body as it is."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """The same bytes."""
        yield data


class Unpacked:
    """How much of a body was unpacked."""

    def __init__(self) -> None:
        """Nothing was."""
        self._bytes = 0

    def counted(self, text: bytes) -> bytes:
        """`text`, which was unpacked.

        Raises:
            DecodingError: when it was too much with it.
        """
        self._bytes += len(text)
        if self._bytes > UNPACKED_LIMIT_BYTES:
            raise DecodingError(f"it unpacks to more than {UNPACKED_LIMIT_BYTES} bytes")
        return text


class Zlib:
    """`gzip` and `deflate` (RFC 9110 section 8.4.1)."""

    def __init__(self) -> None:
        """Nothing was decoded; 32 more bits of window tell the two headers apart."""
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._unpacked = Unpacked()

    def decode(self, data: bytes) -> Iterator[bytes]:
        """What `data` adds to the text; what follows the first member of a gzip file isn't part of an answer."""
        while not self._inflate.eof:
            try:
                text = self._inflate.decompress(data, STEP_BYTES)
            except zlib.error as error:
                raise DecodingError(str(error)) from error
            if text:
                yield self._unpacked.counted(text)
            data = self._inflate.unconsumed_tail
            if len(text) < STEP_BYTES and not data:
                return


class Foreign:
    """A coding of another library's."""

    def __init__(self, decompress: Callable[[bytes], bytes], failure: type[Exception], slice_bytes: int) -> None:
        """Nothing was decoded."""
        self._decompress = decompress
        self._failure = failure
        self._slice_bytes = slice_bytes
        self._unpacked = Unpacked()

    def decode(self, data: bytes) -> Iterator[bytes]:
        """What `data` adds to the text."""
        for start in range(0, len(data), self._slice_bytes):
            try:
                text = bytes(self._decompress(data[start : start + self._slice_bytes]))
            except self._failure as error:
                raise DecodingError(str(error)) from error
            if text:
                yield self._unpacked.counted(text)


def decoder_of(coding: str) -> Decoder | None:
    """The decoder of a `content-encoding`, or None for one that can't be read here."""
    match coding.strip().lower():
        case "" | "identity":
            return Identity()
        case "gzip" | "x-gzip" | "deflate":
            return Zlib()
        case "br" if brotli is not None:
            return Foreign(brotli.Decompressor().process, brotli.error, BROTLI_SLICE_BYTES)
        case "zstd":
            unpacker = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES).decompressobj()
            return Foreign(unpacker.decompress, zstandard.ZstdError, ZSTD_SLICE_BYTES)
        case _:
            return None
