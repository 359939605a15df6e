"""Packing is exact and repeatable; unpacking believes nothing that packed bytes say of themselves."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from typing import TYPE_CHECKING

import pytest
import zstandard

from runner.archives.packing import PIECE_BYTES, packed_at_once, packed_pieces, pays, unpacked_pieces
from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from runner.archives.index import Encoding

TEXT = b"all work and no play makes jack a dull boy\n" * 300_000


def unpacked(encoding: Encoding, packed: bytes, size: int) -> bytes:
    return b"".join(unpacked_pieces(encoding, io.BytesIO(packed).read, size))


def packed(encoding: Encoding, data: bytes, step: int = 1 << 20) -> bytes:
    pieces = [data[start : start + step] for start in range(0, len(data), step)]
    return b"".join(packed_pieces(encoding, pieces, len(data)))


@pytest.mark.parametrize("encoding", ["identity", "zstd", "gzip"])
@pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["empty", "one", "long"])
def test_what_is_packed_comes_out_again(encoding: Encoding, data: bytes) -> None:
    """Whichever way."""
    assert unpacked(encoding, packed(encoding, data), len(data)) == data


@pytest.mark.parametrize("encoding", ["identity", "zstd", "gzip"])
def test_packed_bytes_dont_tell_how_the_others_came(encoding: Encoding) -> None:
    """A disk gives pieces of one length, a network of another."""
    assert packed(encoding, TEXT, 1 << 20) == packed(encoding, TEXT, 999_983)


def test_packed_bytes_dont_tell_how_many_threads_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger machine makes the same archive."""
    first = packed("zstd", TEXT)
    monkeypatch.setattr("runner.archives.packing._THREADS", 5)
    assert packed("zstd", TEXT) == first


def test_other_programs_unpack_it() -> None:
    """It is RFC 8878 and RFC 1952, the latter in several members."""
    assert gzip.decompress(packed("gzip", TEXT)) == TEXT
    assert zstandard.ZstdDecompressor().decompress(packed("zstd", TEXT)) == TEXT
    assert zstandard.ZstdDecompressor().decompress(packed_at_once(TEXT)) == TEXT
    assert zstandard.frame_content_size(packed("zstd", TEXT)) == len(TEXT)


def test_gzip_says_neither_when_nor_where() -> None:
    """No time, no name, no level."""
    assert packed("gzip", b"x")[:8] == bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("size", "smaller", "found"),
    [(10_000, 9_000, True), (10_000, 9_375, True), (10_000, 9_376, False), (10_000, 11_000, False), (100, 10, False)],
)
def test_packing_pays_from_a_sixteenth_on(size: int, smaller: int, found: bool) -> None:  # noqa: FBT001
    """And not at all for what is smaller than the headers of a frame are worth."""
    assert pays(size, smaller) is found


@pytest.mark.parametrize("encoding", ["identity", "zstd", "gzip"])
@pytest.mark.parametrize(("said", "told"), [(12_899_999, "more than the 12899999"), (12_900_001, "to 12900000 bytes")])
def test_a_size_that_is_wrong_is_refused(encoding: Encoding, said: int, told: str) -> None:
    """Of either sign."""
    with pytest.raises(EvidenceError, match=told):
        unpacked(encoding, packed(encoding, TEXT), said)


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_what_is_cut_is_refused(encoding: Encoding) -> None:
    """Wherever it is cut, if only by its last byte."""
    whole = packed(encoding, os.urandom(5000))
    for kept in (0, 1, 10, len(whole) // 2, len(whole) - 1):
        with pytest.raises(EvidenceError, match="unpack"):
            unpacked(encoding, whole[:kept], 5000)


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_what_was_never_packed_is_refused(encoding: Encoding) -> None:
    """The library's own words are told."""
    with pytest.raises(EvidenceError, match="it can't be unpacked: "):
        unpacked(encoding, b"plain text " * 100, 1100)


def test_members_that_hold_nothing_are_refused_early() -> None:
    """What follows each is copied at its end: of thousands in one piece, few are looked at."""
    empty = gzip.compress(b"", mtime=0)
    asked: list[int] = []
    stream = io.BytesIO(empty * 200_000)

    def read(size: int) -> bytes:
        asked.append(size)
        return stream.read(size)

    with pytest.raises(EvidenceError, match="it has more than 2 members for its size"):
        b"".join(unpacked_pieces("gzip", read, 100_000))
    assert asked == [PIECE_BYTES]


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_a_bomb_goes_off_at_its_declared_size(encoding: Encoding) -> None:
    """Many megabytes out of a few kilobytes: what was read of it is a piece more than it was allowed, and no more."""
    bomb = (
        zstandard.ZstdCompressor().compress(bytes(1 << 28))
        if encoding == "zstd"
        else zlib.compress(bytes(1 << 25), 9, 31)
    )
    came: list[int] = []
    with pytest.raises(EvidenceError, match="more than the 5000000 bytes"):
        came.extend(len(piece) for piece in unpacked_pieces(encoding, io.BytesIO(bomb).read, 5_000_000))
    assert max(came) <= PIECE_BYTES
    assert 0 < sum(came) <= 5_000_000


def test_a_frame_that_asks_for_much_memory_is_refused() -> None:
    """Ours look back two mebibytes; one that would make its reader hold a gibibyte isn't ours."""
    wide = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    frame = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    data = frame.compress(os.urandom(1000)) + frame.flush()
    with pytest.raises(EvidenceError, match="it can't be unpacked"):
        unpacked("zstd", data, 1000)
