"""Which processes are there, which have ended, and how are they ended?

Everything read here is named by the client (command names, process numbers of its choosing): it is data, never trusted.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple, TypedDict

from supervisor import privileges

# A batch, so that a client that makes children without end can't keep the supervisor from its deadline.
_REAP_BATCH = 256
_KILLED_LIMIT = 1024
_DEAD_STATES = "ZXx"


class Killed(TypedDict):
    """A process that had to be killed."""

    pid: int
    comm: str
    uid: int


class Process(NamedTuple):
    """A living process; `start_ticks` tells it from a later one with the same number."""

    pid: int
    parent: int
    start_ticks: int


class ClientEnd(NamedTuple):
    """How the client ended, and when (CLOCK_MONOTONIC)."""

    exit_code: int | None
    signal: int | None
    ended_ns: int


def living() -> list[Process]:
    """Every process that this one can see and that hasn't ended, itself excepted."""
    found = []
    own = os.getpid()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != own:
            process = _process(int(name))
            if process is not None:
                found.append(process)
    return found


def _process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return None  # it is gone
    # The name stands in brackets and may itself hold brackets, blanks and line ends: the last bracket ends it.
    fields = stat[stat.rindex(b")") + 2 :].split()
    if fields[0].decode() in _DEAD_STATES:
        return None
    return Process(pid, int(fields[1]), int(fields[19]))


def descendants() -> list[Process]:
    """Every living descendant of this process.

    As the first process of its namespace it is everybody's ancestor; else orphans come to it because it is a subreaper.
    """
    everyone = living()
    if os.getpid() == 1:
        return everyone
    family = {os.getpid()}
    grown = True
    while grown:
        grown = False
        for process in everyone:
            if process.parent in family and process.pid not in family:
                family.add(process.pid)
                grown = True
    return [process for process in everyone if process.pid in family]


def _describe(pid: int) -> Killed | None:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            comm = file.read().removesuffix(b"\n").decode("utf-8", "backslashreplace")
        # Not the owner of /proc/<pid>: that is root for any process that declares itself undumpable.
        return {"pid": pid, "comm": comm, "uid": privileges.identity(pid)["uid"]}
    except OSError:
        return None  # it was ending by itself, and is gone


def _signal_all(number: int, processes: list[Process]) -> None:
    if os.getpid() == 1:
        # One call under the kernel's lock: nothing can be born meanwhile. It spares the caller.
        try:
            os.kill(-1, number)
        except (ProcessLookupError, PermissionError):
            return
        return
    for process in processes:
        try:
            os.kill(process.pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _stop_all() -> None:
    # A list is needed only where the kernel can't be asked to find them all.
    _signal_all(signal.SIGSTOP, [] if os.getpid() == 1 else descendants())


class Family:
    """The client and everything that it started: what was reaped, what was used, what had to be killed."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        self.client_pid = 0
        self.client_end: ClientEnd | None = None
        self.childless = False
        self.reaped = 0
        self.user_cpu_s = 0.0
        self.system_cpu_s = 0.0
        self.peak_rss_kib = 0
        self.killed: list[Killed] = []
        self.killed_unlisted = 0
        self._known: set[tuple[int, int]] = set()

    def client_has_ended(self) -> bool:
        """Whether the client has been reaped."""
        return self.client_end is not None

    def reap(self, now_ns: int) -> None:
        """Children that have ended are accounted for, a batch at most; `childless` says whether any is left."""
        self.childless = False
        for _ in range(_REAP_BATCH):
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if pid == 0:
                return
            self.user_cpu_s += usage.ru_utime
            self.system_cpu_s += usage.ru_stime
            self.peak_rss_kib = max(self.peak_rss_kib, usage.ru_maxrss)
            if pid != self.client_pid or self.client_end is not None:
                self.reaped += 1
            elif os.WIFSIGNALED(status):
                self.client_end = ClientEnd(None, os.WTERMSIG(status), now_ns)
            else:
                self.client_end = ClientEnd(os.WEXITSTATUS(status), None, now_ns)

    def ask_to_end(self) -> None:
        """The client's process group has been sent SIGTERM."""
        try:
            os.killpg(self.client_pid, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            return

    def kill(self) -> bool:
        """Every living descendant has been sent SIGKILL and is listed, the client excepted; false if there was none."""
        # Stopped processes make no children, so that the list is complete; and they leave us the processor to make it.
        _stop_all()
        found = descendants()
        for process in found:
            self._list(process)
        _signal_all(signal.SIGKILL, found)
        return bool(found)

    def _list(self, process: Process) -> None:
        key = (process.pid, process.start_ticks)
        if key in self._known or (process.pid == self.client_pid and self.client_end is None):
            return
        self._known.add(key)
        description = _describe(process.pid)
        if description is not None and len(self.killed) < _KILLED_LIMIT:
            self.killed.append(description)
        elif description is not None:
            self.killed_unlisted += 1
