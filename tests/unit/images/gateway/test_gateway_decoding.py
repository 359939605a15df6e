"""Unpacking answers for reading alone: whatever they unpack to, little of it is in memory, and none without end."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest
import zstandard
from gateway.answer_reader import AnswerReader
from gateway.answer_texts import AnswerTexts
from gateway.decoding import DecodingError, decoder_of
from gateway.exchange import Request, UsageUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

POST = Request("POST", "/v1/messages", (), b'{"model":"m","max_tokens":1}')
# Blocks of zstd that repeat one byte (RFC 8878 section 3.1.1.2.2): 4 bytes that unpack to 128 KiB.
ZSTD_HEAD = b"\x28\xb5\x2f\xfd\x00\x58"
ZSTD_BLOCK = bytes(((131072 << 3) | 2).to_bytes(3, "little")) + b"a"
TOO_MUCH = "it unpacks to more than 67108864 bytes"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("coding", sorted(PACKED))
@pytest.mark.parametrize("size", [1, 7, 1000, 10_000_000])
def test_what_was_packed_is_unpacked(coding: str, size: int) -> None:
    """In whatever pieces it comes, and when it is longer than what is unpacked at once."""
    text = json.dumps({"a": ["b" * 3_000_000, list(range(5000))]}).encode()
    packed = PACKED[coding](text)
    pieces = (
        [packed[start : start + size] for start in range(0, len(packed), size)] if len(packed) < 50_000 else [packed]
    )
    decoder = decoder_of(coding)
    assert decoder is not None
    assert b"".join(part for piece in pieces for part in decoder.decode(piece)) == text


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [
        ("gzip", gzip.compress(bytes(300_000_000), 1)),
        ("zstd", ZSTD_HEAD + ZSTD_BLOCK * 16_000),
    ],
)
def test_a_bomb_is_given_up_and_takes_little_memory(coding: str, bomb: bytes) -> None:
    """Some kilobytes that unpack to gigabytes are neither held nor read to their end; both readers say so or nothing."""
    decoder = decoder_of(coding)
    assert decoder is not None
    tracemalloc.start()
    with pytest.raises(DecodingError, match=TOO_MUCH):
        for _ in decoder.decode(bomb):
            pass
    reader = AnswerReader(POST, 200, ("text/event-stream", coding))
    reader.feed(bomb)
    texts = AnswerTexts(coding)
    texts.feed(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150_000_000
    seen = reader.observation("m", broken_off=False)
    assert seen.usage == UsageUnavailable("the body holds more than 33554432 bytes at once")
    assert texts.digests() is None


def test_millions_of_values_are_not_read() -> None:
    """A whole answer of small values, which would take some twenty times its bytes of memory, has no usage."""
    reader = AnswerReader(POST, 200, ("application/json", ""))
    reader.feed(b'{"usage":{"input_tokens":1},"x":[' + b"[]," * 2_000_000 + b"1]}")
    assert reader.observation("m", broken_off=False).usage == UsageUnavailable("the answer has no usage")


@pytest.mark.parametrize("spelling", ["1h", "\\u0031h", "1\\u0068", "\\u0031\\u0068"])
def test_an_hour_is_an_hour_in_every_spelling(spelling: str) -> None:
    """Writes that aren't split by ttl aren't taken for ones of five minutes where an hour was asked for."""
    request = Request("POST", "/v1/messages", (), b'{"cache_control":{"ttl":"%b"}}' % spelling.encode())
    reader = AnswerReader(request, 200, ("application/json", ""))
    usage = b'{"input_tokens":1,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":9}'
    reader.feed(b'{"usage":%b}' % usage)
    written = UsageUnavailable("the answer doesn't split its cache writes by ttl")
    assert vars(reader.observation("m", broken_off=False).usage)["cache_write_5m_input_tokens"] == written
