"""Bodies as a gateway packs them, made and read without its code."""

from __future__ import annotations

import io
import json
from typing import Any

import zstandard


def packed(*lines: object) -> bytes:
    """Each line in a frame of its own; text stands as it is, anything else as JSON."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    return b"".join(zstandard.ZstdCompressor().compress(f"{text}\n".encode()) for text in texts)


def unpacked(data: bytes) -> bytes:
    """The text of all frames."""
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()


def lines_of(data: bytes) -> list[dict[str, Any]]:
    """The lines of all frames."""
    return [json.loads(line) for line in unpacked(data).splitlines()]
