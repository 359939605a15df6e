"""What is known of the trial when it is over? The folder of evidence and its last document, `exit.json`."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from supervisor.privileges import Identity
    from supervisor.processes import Killed

FORMAT = "pairbench/exit"
VERSION = 1
# Room for a thousand killed processes, kept from the start: a client that fills the volume can't prevent the last word.
_RESERVED_BYTES = 256 * 1024
_NS_PER_MS = 1_000_000


class EvidenceError(Exception):
    """The evidence can't be kept; the text says why."""


class Exit(NamedTuple):
    """Everything that `exit.json` says; None is "not reached" or "can't be known", never zero."""

    ended_by: str
    detail: str
    exit_code: int | None
    signal: int | None
    supervisor_started_ns: int
    ready_ns: int | None
    started_ns: int | None
    ended_ns: int | None
    finished_ns: int
    user_cpu_ms: int | None
    system_cpu_ms: int | None
    peak_rss_bytes: int | None
    stdout_bytes: int
    stderr_bytes: int
    stdout_truncated: bool
    stderr_truncated: bool
    killed: list[Killed]
    reaped: int
    oom_kills: int | None
    full: list[str]
    supervisor: Identity
    client: Identity | None


def document(report: Exit) -> bytes:
    """The report as `exit.json` holds it."""
    started, ended = report.started_ns, report.ended_ns
    wall_ms = None if started is None or ended is None else (ended - started) // _NS_PER_MS
    fields = {"format": FORMAT, "version": VERSION, **report._asdict(), "wall_ms": wall_ms}
    return json.dumps(fields, indent=1, sort_keys=True).encode("ascii") + b"\n"


class Folder:
    """The folder of one attempt's evidence, held by this process alone."""

    def __init__(self, path: str) -> None:
        """The folder exists, is empty and private, and has room for the last document.

        Raises:
            EvidenceError: it can't be made, or somebody else's things are in it.
        """
        self.path = path
        try:
            try:
                os.mkdir(path, 0o700)
            except FileExistsError:
                found = os.lstat(path)
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or os.listdir(path):
                    raise EvidenceError(f"{path} is there already, and isn't an empty folder of ours") from None
            os.chmod(path, 0o700)
            self._temporary = os.path.join(path, ".exit.json.partial")
            self._fd = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            os.posix_fallocate(self._fd, 0, _RESERVED_BYTES)
        except OSError as error:
            raise EvidenceError(f"{path}: {error.strerror}") from error

    def seal(self, report: Exit) -> None:
        """`exit.json` is there, whole and on its disk.

        Raises:
            EvidenceError: it isn't.
        """
        data = document(report)
        try:
            at = 0
            while at < len(data):
                at += os.pwrite(self._fd, data[at:], at)
            os.ftruncate(self._fd, len(data))
            os.fsync(self._fd)
            os.close(self._fd)
            os.rename(self._temporary, os.path.join(self.path, "exit.json"))
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            os.fsync(folder)
            os.close(folder)
        except OSError as error:
            raise EvidenceError(f"{self.path}/exit.json: {error.strerror}") from error
