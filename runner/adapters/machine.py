"""This machine's clocks, its randomness, and this process's identity."""

from __future__ import annotations

import os
import secrets
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from runner.core.owner import Owner

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_NS_A_MS: Final = 1_000_000
# proc(5): the start time is field 22 of /proc/<pid>/stat, the 20th after the command's closing bracket.
_STARTED_AFTER_COMMAND: Final = 19


class SystemClock:
    """The clock port on this machine's clocks."""

    def utc(self) -> str:
        """Now, as RFC 3339 in UTC with milliseconds."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic_ms(self) -> int:
        """Milliseconds since a fixed moment of this machine's current boot."""
        return time.monotonic_ns() // _NS_A_MS


class SystemEntropy:
    """The entropy port on the kernel's generator."""

    def token(self) -> str:
        """43 characters that nobody can guess."""
        return secrets.token_urlsafe(32)


def this_process() -> Owner:
    """The owner of whatever this process makes."""
    return Owner(host=socket.gethostname(), boot=_boot(), process=os.getpid(), started=process_start(os.getpid()))


def is_alive(owner: Owner) -> bool:
    """Whether `owner` still runs; one on another host counts as alive, since it can't be seen from here."""
    if owner.host != socket.gethostname():
        return True
    return owner.boot == _boot() and process_start(owner.process) == owner.started


def process_start(process: int) -> str:
    """When the process began, in the kernel's own count; "" when there is none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_STARTED_AFTER_COMMAND]


def _boot() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return "unknown"
