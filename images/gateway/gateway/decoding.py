"""What does a compressed body say? Decodes the content codings that clients ask for, for reading alone."""

from __future__ import annotations

import zlib
from typing import Protocol

import zstandard

try:
    import brotli
except ImportError:
    brotli = None


class Decoder(Protocol):
    """Takes a body in pieces; raises `DecodingError` at what isn't encoded as was said."""

    def decode(self, data: bytes) -> bytes:
        """What `data` adds to the text."""


class DecodingError(Exception):
    """A body can't be decoded."""


class Identity:
    """A body as it is."""

    def decode(self, data: bytes) -> bytes:
        """The same bytes."""
        return data


class Zlib:
    """`gzip` and `deflate` (RFC 9110 section 8.4.1)."""

    def __init__(self) -> None:
        """Nothing was decoded; 32 more bits of window tell the two headers apart."""
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def decode(self, data: bytes) -> bytes:
        """What `data` adds to the text; what follows the first member of a gzip file isn't part of an answer."""
        try:
            return self._inflate.decompress(data)
        except zlib.error as error:
            raise DecodingError(str(error)) from error


class Foreign:
    """A coding of another library's."""

    def __init__(self, decompress: object, failure: type[Exception]) -> None:
        """Nothing was decoded."""
        self._decompress = decompress
        self._failure = failure

    def decode(self, data: bytes) -> bytes:
        """What `data` adds to the text."""
        try:
            return bytes(self._decompress(data))
        except self._failure as error:
            raise DecodingError(str(error)) from error


def decoder_of(coding: str) -> Decoder | None:
    """The decoder of a `content-encoding`, or None for one that can't be read here."""
    match coding.strip().lower():
        case "" | "identity":
            return Identity()
        case "gzip" | "x-gzip" | "deflate":
            return Zlib()
        case "br" if brotli is not None:
            return Foreign(brotli.Decompressor().process, brotli.error)
        case "zstd":
            return Foreign(zstandard.ZstdDecompressor().decompressobj().decompress, zstandard.ZstdError)
        case _:
            return None
