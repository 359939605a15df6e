"""What happens to the client from its start to the end of its last descendant?"""

from __future__ import annotations

import os
import selectors
import signal
import time
from typing import TYPE_CHECKING

from supervisor import exhaustion, privileges, processes, ready, spawn
from supervisor.evidence import Exit
from supervisor.forward import Forwarder
from supervisor.output import CappedStream

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from supervisor.evidence import Folder
    from supervisor.launch import Launch

NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000
# How long what the client left behind may take to end by itself, and what it wrote to arrive.
_SETTLE_NS = 250 * NS_PER_MS
# How long killed processes may take to be gone: only one in an uninterruptible wait of the kernel's takes longer.
_KILL_NS = 5_000 * NS_PER_MS
_POLL_S = 0.005


class CancelledError(BaseException):
    """The host asked for the end before the client had started."""


class Signals:
    """What the host has asked for by signal, and the descriptor that wakes a waiting loop."""

    def __init__(self) -> None:
        """SIGTERM and SIGINT are requests to end; SIGCHLD wakes."""
        self.requests = 0
        self.interruptible = False
        self.read_fd, self._write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        os.set_blocking(self._write_fd, False)
        signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._request)
        signal.signal(signal.SIGINT, self._request)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def _request(self, _number: int, _frame: FrameType | None) -> None:
        self.requests += 1
        if self.interruptible:
            self.interruptible = False
            raise CancelledError

    def interrupt_from_here(self) -> None:
        """A request raises `CancelledError` wherever this process is, until `interruptible` is false again.

        Raises:
            CancelledError: there has been a request already.
        """
        self.interruptible = True
        if self.requests:
            raise CancelledError

    def clear(self) -> None:
        """The descriptor is quiet until the next signal."""
        try:
            while os.read(self.read_fd, 4096):
                pass
        except BlockingIOError:
            return


class Supervision:
    """One client under supervision; `run` is called once."""

    def __init__(self, wanted: Launch, folder: Folder, signals: Signals, started_ns: int) -> None:
        """Nothing has happened yet."""
        self._wanted = wanted
        self._folder = folder
        self._signals = signals
        self._supervisor_started_ns = started_ns
        self._selector = selectors.DefaultSelector()
        self._selector.register(signals.read_fd, selectors.EVENT_READ, lambda _mask: signals.clear())
        self._family = processes.Family()
        self._forwarder: Forwarder | None = None
        self._streams: dict[str, CappedStream] = {}
        self._cause = ""
        self._details: list[str] = []
        self._ready_ns: int | None = None
        self._started_ns: int | None = None
        self._hard_end_ns: int | None = None
        self._client: privileges.Identity | None = None
        self._oom_kills_before: int | None = None
        self._full: list[str] = []

    def run(self, announce: Callable[[], None]) -> Exit:
        """The client and all its descendants are gone, and this is what happened; `announce` is called at its start."""
        started_ns = self._start() if self._prepare() else None
        if started_ns is not None:
            try:
                announce()
                self._watch(started_ns + self._wanted.deadline_ms * NS_PER_MS)
                self._settle()
            finally:
                # Whatever goes wrong in here, no process outlives it.
                self._end_all()
            self._drain()
        if self._forwarder is not None:
            self._forwarder.close()
        for name, stream in self._streams.items():
            stream.close()
            if stream.failure:
                self._details.append(f"{name}: {stream.failure}")
        return self._report()

    def _prepare(self) -> bool:
        wanted, signals = self._wanted, self._signals
        try:
            if wanted.forward is not None:
                self._forwarder = Forwarder(self._selector, wanted.forward.listen_port, wanted.forward.socket)
            socket_path = None if wanted.forward is None else wanted.forward.socket
            signals.interrupt_from_here()
            ready.wait(wanted.ready, socket_path, time.monotonic_ns, time.sleep)
            signals.interruptible = False
        except ready.NotReadyError as error:
            self._cause, self._details = "not_ready", [str(error)]
        except CancelledError:
            self._cause = "cancelled"
        except OSError as error:
            self._cause, self._details = "not_ready", [f"listen on the forwarded port: {error.strerror}"]
        else:
            self._ready_ns = time.monotonic_ns()
            return True
        finally:
            signals.interruptible = False
        return False

    def _start(self) -> int | None:
        wanted = self._wanted
        for name, limit in (("stdout.jsonl", wanted.stdout_limit_bytes), ("stderr.txt", wanted.stderr_limit_bytes)):
            self._streams[name] = CappedStream(os.path.join(self._folder.path, name), limit)
        out, err = self._streams.values()
        self._oom_kills_before = exhaustion.oom_kills()
        before_ns = time.monotonic_ns()
        try:
            self._family.client_pid = spawn.start(wanted, out.write_fd, err.write_fd)
        except spawn.SpawnError as error:
            self._cause, self._details = "spawn_failed", [str(error)]
            return None
        finally:
            out.close_client_end()
            err.close_client_end()
        self._started_ns = before_ns
        # Even a client that has ended already is still there: it hasn't been reaped.
        self._client = privileges.identity(self._family.client_pid)
        for stream in (out, err):
            self._selector.register(stream.read_fd, selectors.EVENT_READ, self._reader(stream))
        return before_ns

    def _reader(self, stream: CappedStream) -> Callable[[int], None]:
        def react(_mask: int) -> None:
            stream.pump()
            if not stream.open:
                self._selector.unregister(stream.read_fd)

        return react

    def _turn(self, until_ns: int) -> None:
        """Whatever was ready by `until_ns` has been served once, and ended children are reaped."""
        wait_s = max(0, until_ns - time.monotonic_ns()) / _NS_PER_S
        if self._forwarder is not None and self._forwarder.waiting:
            wait_s = min(wait_s, _POLL_S)
            self._forwarder.retry()
        for key, mask in self._selector.select(wait_s):
            # An earlier reaction of this turn may have closed this one's descriptor.
            if self._selector.get_map().get(key.fd) is key:
                key.data(mask)
        self._family.reap(time.monotonic_ns())

    def _overflowed(self) -> bool:
        return any(stream.truncated for stream in self._streams.values())

    def _watch(self, deadline_ns: int) -> None:
        """The client has ended, by itself or because it had to."""
        while not self._family.client_has_ended():
            self._turn(deadline_ns if self._hard_end_ns is None else self._hard_end_ns)
            if not self._family.client_has_ended() and self._judge(deadline_ns, time.monotonic_ns()):
                break
        # Before anything is killed: files that were removed while a process holds them go with it.
        self._full = exhaustion.full_places()
        if not self._family.client_has_ended():
            self._end_all()

    def _judge(self, deadline_ns: int, now_ns: int) -> bool:
        """Whether the hard end is due; the soft end has been begun if that was due."""
        if self._overflowed():
            # It isn't asked to tidy up: what it would still say couldn't be kept.
            self._cause = self._cause or "output_limit"
            return True
        if self._hard_end_ns is not None:
            impatient = self._signals.requests > (1 if self._cause == "cancelled" else 0)
            return impatient or now_ns >= self._hard_end_ns
        if self._signals.requests:
            self._ask_to_end("cancelled", now_ns)
        elif now_ns >= deadline_ns:
            self._ask_to_end("deadline", now_ns)
        return False

    def _ask_to_end(self, cause: str, now_ns: int) -> None:
        self._cause = cause
        self._hard_end_ns = now_ns + self._wanted.grace_ms * NS_PER_MS
        self._family.ask_to_end()

    def _settle(self) -> None:
        """What the client left behind is gone and silent, or has had its time."""
        until_ns = time.monotonic_ns() + _SETTLE_NS
        while time.monotonic_ns() < until_ns and not self._signals.requests:
            if self._family.childless and not any(stream.open for stream in self._streams.values()):
                return
            self._turn(until_ns)

    def _end_all(self) -> None:
        """No descendant lives, and all are reaped; if the kernel holds one, `detail` says so."""
        until_ns = time.monotonic_ns() + _KILL_NS
        while self._family.kill() or not self._family.childless:
            now_ns = time.monotonic_ns()
            if now_ns >= until_ns:
                self._details.append(f"processes outlived SIGKILL by {_KILL_NS // NS_PER_MS} ms")
                return
            self._turn(min(until_ns, now_ns + int(_POLL_S * _NS_PER_S)))

    def _drain(self) -> None:
        """What was in the pipes is in the files. Nobody writes any more, so that each pipe has an end."""
        until_ns = time.monotonic_ns() + _SETTLE_NS
        for name, stream in self._streams.items():
            while stream.open and time.monotonic_ns() < until_ns:
                stream.pump()
            if stream.open:
                self._details.append(f"{name}: somebody still holds the pipe")

    def _oom_kills(self) -> int | None:
        before, after = self._oom_kills_before, exhaustion.oom_kills()
        return None if before is None or after is None else after - before

    def _report(self) -> Exit:
        family, end = self._family, self._family.client_end
        cause = self._cause or "exit"
        if cause == "exit" and self._overflowed():
            # It ended before it could be ended; its output is cut all the same.
            cause = "output_limit"
        if family.killed_unlisted:
            self._details.append(f"{family.killed_unlisted} more processes were killed than are listed")
        if self._started_ns is not None and end is None:
            self._details.append("how the client ended isn't known")
        started = self._started_ns is not None
        out, err = self._streams.get("stdout.jsonl"), self._streams.get("stderr.txt")
        return Exit(
            ended_by=cause,
            detail="; ".join(self._details),
            exit_code=None if end is None else end.exit_code,
            signal=None if end is None else end.signal,
            supervisor_started_ns=self._supervisor_started_ns,
            ready_ns=self._ready_ns,
            started_ns=self._started_ns,
            ended_ns=None if end is None else end.ended_ns,
            finished_ns=time.monotonic_ns(),
            user_cpu_ms=int(family.user_cpu_s * 1000) if started else None,
            system_cpu_ms=int(family.system_cpu_s * 1000) if started else None,
            peak_rss_bytes=family.peak_rss_kib * 1024 if started else None,
            stdout_bytes=0 if out is None else out.kept_bytes,
            stderr_bytes=0 if err is None else err.kept_bytes,
            stdout_truncated=out is not None and out.truncated,
            stderr_truncated=err is not None and err.truncated,
            killed=family.killed,
            reaped=family.reaped,
            oom_kills=self._oom_kills(),
            full=self._full,
            supervisor=privileges.identity(os.getpid()),
            client=self._client,
        )
