"""What did the gateway see? Appends exchanges and bodies to the evidence, within a byte cap.

A line is either in its file whole or not at all: what a full disk cut short is taken back.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gateway.exchange import Exchange, exchange_document, recording_document
from gateway.quoting import PIECE_BYTES, quoted, quoted_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateway.exchange import Request

EXCHANGES = "exchanges.jsonl"
BODIES = "bodies.jsonl"
RECORDING = "recording.jsonl"
# One exchange without its path: measured at about 900 bytes, rounded up.
LINE_ALLOWANCE_BYTES = 2048
# Kept back from the cap, so that refusals can still be written down; a quarter of a small cap.
REFUSALS_RESERVE_BYTES = 65536


class EvidenceError(Exception):
    """The evidence can't be written; nothing may be answered any more."""


def encoded(value: object) -> bytes:
    """`value` as compact UTF-8 JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _bodies(exchange: Exchange) -> Iterator[bytes]:
    yield b'{"seq":%d,"request":' % exchange.seq
    yield from quoted(exchange.request.body)
    yield b',"response":'
    yield from quoted(exchange.response)
    yield b"}\n"


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in larger pieces, for few calls of the system and little memory."""
    gathered = bytearray()
    for piece in pieces:
        gathered += piece
        if len(gathered) >= PIECE_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


class Evidence:
    """Append-only files in a directory that only this process may enter: two, and a third one for a recording."""

    def __init__(self, directory: str, limit_bytes: int, *, recording: bool = False) -> None:
        """The files exist and are empty.

        Raises:
            EvidenceError: when the directory can't be made, or already holds evidence.
        """
        self.unrecorded = 0
        self.full = False
        self.broken = False
        self._limit_bytes = limit_bytes
        self._reserve_bytes = min(REFUSALS_RESERVE_BYTES, limit_bytes // 4)
        self._used_bytes = 0
        self._pending_bytes = 0
        names = (EXCHANGES, BODIES, RECORDING) if recording else (EXCHANGES, BODIES)
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            os.chmod(directory, 0o700)
            self._files = {name: self._create(os.path.join(directory, name)) for name in names}
        except OSError as error:
            raise EvidenceError(f"evidence can't be started: {error}") from error

    @staticmethod
    def _create(path: str) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def reserve(self, request: Request, response_limit_bytes: int) -> int | None:
        """Room for one exchange is set aside and its size returned; None, and full for good, when there is none.

        The request is measured as it will be written. A response is JSON or events of JSON, of which only quotes,
        backslashes and line ends grow when they are quoted again: it doubles at most.
        """
        request_bytes = sum(len(encoded(part)) for part in (request.method, request.target))
        if self._used_bytes + len(request.body) > self._limit_bytes:
            # Not worth a closer look.
            self.full = True
            return None
        request_bytes += quoted_bytes(request.body)
        needed_bytes = LINE_ALLOWANCE_BYTES + request_bytes + 2 * response_limit_bytes
        if self._used_bytes + self._pending_bytes + needed_bytes > self._limit_bytes - self._reserve_bytes:
            self.full = True
        if self.full:
            return None
        self._pending_bytes += needed_bytes
        return needed_bytes

    def extend(self, more_bytes: int) -> int | None:
        """Room for more of a response is set aside and its size returned; None, and full, when there is none."""
        needed_bytes = 2 * more_bytes
        if self._used_bytes + self._pending_bytes + needed_bytes > self._limit_bytes - self._reserve_bytes:
            self.full = True
            return None
        self._pending_bytes += needed_bytes
        return needed_bytes

    def release(self, reserved_bytes: int) -> None:
        """Room that was set aside is free again."""
        self._pending_bytes -= reserved_bytes

    def record(self, exchange: Exchange, reserved_bytes: int | None) -> None:
        """The exchange is in the files (its bodies only if room was reserved), or is counted as unrecorded.

        Raises:
            EvidenceError: when the file system takes no more.
        """
        line = encoded(exchange_document(exchange)) + b"\n"
        if reserved_bytes is None:
            if self._used_bytes + self._pending_bytes + len(line) > self._limit_bytes:
                self.unrecorded += 1
                return
            self._append(EXCHANGES, [line])
            return
        self.release(reserved_bytes)
        if exchange.unkept is None:
            self._append(BODIES, _bodies(exchange))
            self._record_for_replay(exchange)
        self._append(EXCHANGES, [line])

    def _record_for_replay(self, exchange: Exchange) -> None:
        if exchange.recording is None or exchange.refused is not None:
            return
        line = encoded(recording_document(exchange, exchange.recording)) + b"\n"
        if self._used_bytes + self._pending_bytes + len(line) > self._limit_bytes - self._reserve_bytes:
            # Whoever makes a cassette of it finds an exchange without a recording.
            self.full = True
            return
        self._append(RECORDING, [line])

    def _append(self, name: str, pieces: Iterable[bytes]) -> None:
        """One line, made of the pieces, is at the end of the file."""
        file = self._files[name]
        before_bytes = os.fstat(file).st_size
        try:
            for piece in _gathered(pieces):
                written_bytes = 0
                while written_bytes < len(piece):
                    written_bytes += os.write(file, piece[written_bytes:])
                self._used_bytes += len(piece)
        except OSError as error:
            self.full = self.broken = True
            os.ftruncate(file, before_bytes)
            raise EvidenceError(f"{name} can't be written: {error}") from error

    def close(self) -> None:
        """Everything recorded is on the file system, and the files are closed."""
        for file in self._files.values():
            os.fsync(file)
            os.close(file)
        self._files = {}
