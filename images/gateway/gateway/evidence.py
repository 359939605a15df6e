"""What did the gateway see? Appends exchanges and bodies to the evidence, within a byte cap.

A line is either in its file whole or not at all: what a full disk cut short is taken back.
"""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING

from gateway.exchange import Exchange, exchange_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.exchange import Request

EXCHANGES = "exchanges.jsonl"
BODIES = "bodies.jsonl"
# One exchange without its path: measured at about 900 bytes, rounded up.
LINE_ALLOWANCE_BYTES = 2048
# Kept back from the cap, so that refusals can still be written down; a quarter of a small cap.
REFUSALS_RESERVE_BYTES = 65536


class EvidenceError(Exception):
    """The evidence can't be written; nothing may be answered any more."""


def body_value(body: bytes | bytearray) -> str | dict[str, str]:
    """The body as text, or in base64 when it isn't UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def encoded(value: object) -> bytes:
    """`value` as compact UTF-8 JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Evidence:
    """Two append-only files in a directory that only this process may enter."""

    def __init__(self, directory: str, limit_bytes: int) -> None:
        """Both files exist and are empty.

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
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            os.chmod(directory, 0o700)
            self._files = {name: self._create(os.path.join(directory, name)) for name in (EXCHANGES, BODIES)}
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
        request_bytes = sum(len(encoded(part)) for part in (request.method, request.target, body_value(request.body)))
        needed_bytes = LINE_ALLOWANCE_BYTES + request_bytes + 2 * response_limit_bytes
        if self._used_bytes + self._pending_bytes + needed_bytes > self._limit_bytes - self._reserve_bytes:
            self.full = True
        if self.full:
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
            self._append([(EXCHANGES, line)])
            return
        self.release(reserved_bytes)
        bodies = {
            "seq": exchange.seq,
            "request": body_value(exchange.request.body),
            "response": body_value(exchange.response),
        }
        self._append([(BODIES, encoded(bodies) + b"\n"), (EXCHANGES, line)])

    def _append(self, lines: Iterable[tuple[str, bytes]]) -> None:
        for name, line in lines:
            file = self._files[name]
            before_bytes = os.fstat(file).st_size
            written_bytes = 0
            try:
                while written_bytes < len(line):
                    written_bytes += os.write(file, line[written_bytes:])
            except OSError as error:
                self.full = self.broken = True
                os.ftruncate(file, before_bytes)
                raise EvidenceError(f"{name} can't be written: {error}") from error
            self._used_bytes += len(line)

    def close(self) -> None:
        """Everything recorded is on the file system, and the files are closed."""
        for file in self._files.values():
            os.fsync(file)
            os.close(file)
        self._files = {}
