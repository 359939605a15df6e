"""What did a model say in an answer? Digests of its texts, so that a client's word can be held against them.

Whatever an answer holds, reading it raises nothing: what can't be read has no texts.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from gateway.decoding import DecodingError, decoder_of
from gateway.wires import MESSAGES_PATH

if TYPE_CHECKING:
    from gateway.decoding import Decoder
    from gateway.exchange import Request

# An answer of a hundred thousand tokens, streamed in events of some twenty characters, has three.
READ_LIMIT_BYTES = 4 * 1024 * 1024
# Clients give the last text of an answer, or all of them, as theirs.
MOST_TEXTS = 8
STARTS_WITHIN_BYTES = 64
TELLING = b'"text"'


class AnswerTexts:
    """Reads one answer of the Messages API in pieces."""

    def __init__(self, coding: str) -> None:
        """Nothing was read; `coding` is the answer's `content-encoding`."""
        self._decoder: Decoder | None = decoder_of(coding)
        self._held = bytearray()
        self._read_bytes = 0
        self._streamed: bool | None = None
        self._texts: dict[int, list[str]] = {}

    def feed(self, data: bytes) -> None:
        """`data` is the next part of the body."""
        if self._decoder is None:
            return
        try:
            for text in self._decoder.decode(data):
                self._add_text(text)
                if self._decoder is None:
                    return
        except DecodingError:
            self._decoder = None

    def _add_text(self, text: bytes) -> None:
        self._read_bytes += len(text)
        if self._read_bytes > READ_LIMIT_BYTES:
            self._decoder = None
            self._held.clear()
            self._texts.clear()
            return
        if self._streamed is None and (start := (bytes(self._held) + text[:STARTS_WITHIN_BYTES]).lstrip()):
            self._streamed = not start.startswith(b"{")
        if self._streamed:
            self._read_events(text)
        else:
            self._held += text

    def digests(self) -> tuple[str, ...] | None:
        """Of each text without its white space, and of several all together; None where the answer wasn't read."""
        if self._decoder is None:
            return None
        if self._streamed:
            self._read_lines(bytes(self._held))
        else:
            self._read_whole()
        texts = ["".join("".join(parts).split()) for _, parts in sorted(self._texts.items())]
        found = [text for text in texts if text]
        joined = ["".join(found)] if len(found) > 1 else []
        return tuple(_digest(text) for text in (*found[-MOST_TEXTS:], *joined))

    def _read_events(self, text: bytes) -> None:
        """Whole lines are read; the beginning of one is held."""
        end = text.rfind(b"\n") + 1
        if not end:
            self._held += text
            return
        lines = text[:end]
        if self._held:
            lines = bytes(self._held) + lines
            self._held.clear()
        self._held += text[end:]
        self._read_lines(lines)

    def _read_lines(self, lines: bytes) -> None:
        if TELLING not in lines:
            return
        told = [line[5:] for line in lines.split(b"\n") if TELLING in line and line.startswith(b"data:")]
        for event in _objects(told):
            self._add(event.get("index"), event.get("delta"))
            self._add(event.get("index"), event.get("content_block"))

    def _read_whole(self) -> None:
        blocks = _object(bytes(self._held)).get("content")
        self._held.clear()
        for index, block in enumerate(blocks if isinstance(blocks, list) else []):
            self._add(index, block)

    def _add(self, index: object, block: object) -> None:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            self._texts.setdefault(index if isinstance(index, int) else 0, []).append(text)


def texts_reader(request: Request, coding: str) -> AnswerTexts | None:
    """What reads the answer to the request; None where no model says anything in it that could be held against."""
    return AnswerTexts(coding) if request.method == "POST" and request.path == MESSAGES_PATH else None


def _objects(told: list[bytes]) -> list[dict[str, Any]]:
    """Those of the texts that are objects; all of them are read at once, unless one is damaged."""
    try:
        found = json.loads(b"[" + b",".join(told) + b"]")
    except (ValueError, RecursionError):
        found = []
    if len(found) != len(told):
        return [_object(data) for data in told]
    return [item for item in found if isinstance(item, dict)]


def _object(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _digest(text: str) -> str:
    if not text.isascii():
        # A character may be cut in two between events; what is no Unicode is replaced as the host replaces it.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
