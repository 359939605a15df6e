"""How is an exchange's line of bodies packed? As one zstd frame, made piece by piece while the answer is on its way.

Frames behind one another are one file of zstd, whose text has one line an exchange.
"""

from __future__ import annotations

import base64
import codecs
import json

import zstandard

from gateway.quoting import PIECE_BYTES, quoted, quoted_text

# Bodies are packed while somebody waits; higher levels take longer and save a tenth (measured 2026-11-29).
LEVEL = 1
# What a frame has beyond its line: magic number, header and the heads of its blocks, of 128 KiB each.
FRAME_BYTES = 32
TEXT_START, TEXT_END = b'"', b'"'
BASE64_START, BASE64_END = b'{"base64":"', b'"}'


def compressor() -> zstandard.ZstdCompressor:
    """Packs one frame at a time."""
    return zstandard.ZstdCompressor(level=LEVEL)


class BodiesFrame:
    """One line on its way into its frame. A response is taken for a text until it turns out to be none."""

    def __init__(self, seq: int, request: bytes, packer: zstandard.ZstdCompressor) -> None:
        """The line has its request; `packer` is this frame's until its end."""
        self.line_bytes = 0
        self._seq = seq
        self._request = request
        self._packer = packer
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_text = True
        self._rest = b""
        self._begin(TEXT_START)

    def add(self, data: bytes) -> None:
        """`data` is the next part of the response."""
        for start in range(0, len(data), PIECE_BYTES):
            self._add(data[start : start + PIECE_BYTES] if len(data) > PIECE_BYTES else data)

    def end(self) -> list[bytes]:
        """The whole frame, in pieces."""
        pending = self._decoder.getstate()[0]
        if self._is_text and pending:
            self._start_again(pending)
        if not self._is_text:
            self._write(base64.b64encode(self._rest))
        self._write((TEXT_END if self._is_text else BASE64_END) + b"}\n")
        self._packed.append(self._frame.flush())
        return self._packed

    def _begin(self, response_start: bytes) -> None:
        self.line_bytes = 0
        self._packed: list[bytes] = []
        self._frame = self._packer.compressobj()
        self._write(b'{"seq":%d,"request":' % self._seq)
        for piece in quoted(self._request):
            self._write(piece)
        self._write(b',"response":' + response_start)
        self._response_from = self.line_bytes

    def _add(self, data: bytes) -> None:
        if not self._is_text:
            self._add_base64(data)
            return
        pending = self._decoder.getstate()[0]
        if not pending and data.isascii():
            self._write(quoted_text(data))
            return
        try:
            text = self._decoder.decode(data)
        except UnicodeDecodeError:
            self._start_again(pending + data)
        else:
            self._write(quoted_text(text.encode()))

    def _add_base64(self, data: bytes) -> None:
        data = self._rest + data
        # Divisible by three, so that pieces join.
        whole = len(data) - len(data) % 3
        self._rest = data[whole:]
        self._write(base64.b64encode(data[:whole]))

    def _start_again(self, data: bytes) -> None:
        """The frame is one of base64; what was packed as a text is unpacked for it. `data` wasn't packed yet."""
        self._packed.append(self._frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
        line = zstandard.ZstdDecompressor().decompressobj().decompress(b"".join(self._packed))
        sent = json.loads(TEXT_START + line[self._response_from :] + TEXT_END).encode() + data
        self._is_text = False
        self._begin(BASE64_START)
        self._add_base64(sent)

    def _write(self, piece: bytes) -> None:
        self.line_bytes += len(piece)
        packed = self._frame.compress(piece)
        if packed:
            self._packed.append(packed)
