"""What did the gateway see? Appends exchanges and bodies to the evidence, within a byte cap.

A line is either in its file whole or not at all: what a full disk cut short is taken back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gateway.bodies_frame import FRAME_BYTES
from gateway.exchange import Exchange, exchange_document, recording_document
from gateway.imprint import Imprints
from gateway.quoting import encoded, quoted_bytes
from gateway.request_facts import TOOLS_BYTES

if TYPE_CHECKING:
    from gateway.exchange import Request

EXCHANGES = "exchanges.jsonl"
BODIES = "bodies.jsonl.zst"
RECORDING = "recording.jsonl"
REPLAYED = "replayed.json"
# One exchange without its path and the tools that it offers: measured at about 900 bytes, 1700 at most.
LINE_ALLOWANCE_BYTES = 2048
# Kept back from the cap, so that refusals can still be written down; a quarter of a small cap.
REFUSALS_RESERVE_BYTES = 65536


class EvidenceError(Exception):
    """The evidence can't be written; nothing may be answered any more."""


class Evidence:
    """Append-only files in a directory that only this process may enter.

    The cap counts the bytes of bodies before they are packed: what fits doesn't depend on how well they pack.
    """

    def __init__(self, directory: str, limit_bytes: int, *, recording: bool = False, bodies: bool = True) -> None:
        """The files exist and are empty: those of exchanges, of `bodies` and of a `recording`.

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
        self._bodies = bodies
        self._imprints = Imprints()
        self._directory = directory
        names = (EXCHANGES, *((BODIES,) if bodies else ()), *((RECORDING,) if recording else ()))
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            os.chmod(directory, 0o700)
            self._files = {name: self._create(name) for name in names}
        except OSError as error:
            raise EvidenceError(f"evidence can't be started: {error}") from error
        self._sizes = dict.fromkeys(self._files, 0)

    def _create(self, name: str) -> int:
        path = os.path.join(self._directory, name)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def reserve(self, request: Request, response_limit_bytes: int) -> int | None:
        """Room for one exchange is set aside and its size returned; None, and full for good, when there is none.

        The request is measured as it will be written. A response is JSON or events of JSON, of which only quotes,
        backslashes and line ends grow when they are quoted again: it doubles at most.
        """
        needed_bytes = LINE_ALLOWANCE_BYTES + len(request.method) + len(encoded(request.target))
        if b'"tools"' in request.body:
            # Their names are part of the body.
            needed_bytes += min(len(request.body), TOOLS_BYTES)
        if self._bodies:
            if self._used_bytes + len(request.body) > self._limit_bytes:
                # Not worth a closer look.
                self.full = True
                return None
            needed_bytes += quoted_bytes(request.body) + 2 * response_limit_bytes + FRAME_BYTES
        if not self._has_room(needed_bytes):
            self.full = True
        if self.full:
            return None
        self._pending_bytes += needed_bytes
        return needed_bytes

    def extend(self, more_bytes: int) -> int | None:
        """Room for more of a response is set aside and its size returned; None, and full, when there is none."""
        needed_bytes = 2 * more_bytes if self._bodies else 0
        if not self._has_room(needed_bytes):
            self.full = True
            return None
        self._pending_bytes += needed_bytes
        return needed_bytes

    def _has_room(self, needed_bytes: int) -> bool:
        return self._used_bytes + self._pending_bytes + needed_bytes <= self._limit_bytes - self._reserve_bytes

    def release(self, reserved_bytes: int) -> None:
        """Room that was set aside is free again."""
        self._pending_bytes -= reserved_bytes

    def look_ahead(self, exchange: Exchange) -> None:
        """What was sent of a long response is being digested and packed while the rest of it is sent."""
        self._imprints.look_ahead(exchange, keep=self._bodies and exchange.keeps_bodies)

    def record(self, exchange: Exchange, reserved_bytes: int | None) -> None:
        """The exchange is in the files (its bodies only if room was reserved), or is counted as unrecorded.

        Raises:
            EvidenceError: when the file system takes no more.
        """
        keep = self._bodies and exchange.keeps_bodies and reserved_bytes is not None
        imprint = self._imprints.of(exchange, keep=keep)
        exchange.response_sha256 = "sha256:" + imprint.digest.hexdigest()
        exchange.texts_sha256 = imprint.texts.digests() if imprint.texts is not None else None
        line = encoded(exchange_document(exchange)) + b"\n"
        if reserved_bytes is None:
            if self._used_bytes + self._pending_bytes + len(line) > self._limit_bytes:
                self.unrecorded += 1
                return
            self._append(EXCHANGES, line, len(line))
            return
        self.release(reserved_bytes)
        if imprint.frame is not None:
            frame = b"".join(imprint.frame.end())
            self._append(BODIES, frame, imprint.frame.line_bytes + FRAME_BYTES)
            self._record_for_replay(exchange)
        self._append(EXCHANGES, line, len(line))

    def _record_for_replay(self, exchange: Exchange) -> None:
        if exchange.recording is None or exchange.refused is not None:
            return
        line = encoded(recording_document(exchange, exchange.recording)) + b"\n"
        if not self._has_room(len(line)):
            # Whoever makes a cassette of it finds an exchange without a recording.
            self.full = True
            return
        self._append(RECORDING, line, len(line))

    def note_replay(self, document: dict[str, object]) -> None:
        """A file says what became of a cassette.

        Raises:
            EvidenceError: when the file system takes no more.
        """
        try:
            self._files[REPLAYED] = self._create(REPLAYED)
        except OSError as error:
            self.full = self.broken = True
            raise EvidenceError(f"{REPLAYED} can't be written: {error}") from error
        self._sizes[REPLAYED] = 0
        line = encoded(document) + b"\n"
        self._append(REPLAYED, line, len(line))

    def _append(self, name: str, data: bytes, counted_bytes: int) -> None:
        """One line, or the frame of one, is at the end of the file; it counts so many bytes."""
        file = self._files[name]
        try:
            written_bytes = os.write(file, data)
            while written_bytes < len(data):
                written_bytes += os.write(file, data[written_bytes:])
        except OSError as error:
            self.full = self.broken = True
            os.ftruncate(file, self._sizes[name])
            raise EvidenceError(f"{name} can't be written: {error}") from error
        self._sizes[name] += len(data)
        self._used_bytes += counted_bytes

    def close(self) -> None:
        """Everything recorded is on the file system, and the files are closed."""
        self._imprints.close()
        for file in self._files.values():
            os.fsync(file)
            os.close(file)
        self._files = {}
