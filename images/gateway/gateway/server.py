"""Where does the gateway listen, and how does it end? Sockets and signals; what is said on them is elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
import traceback
from typing import TYPE_CHECKING

from gateway.connection import AHEAD_BYTES, BEHIND_BYTES, BodyBudget, Connection, WireLimits
from gateway.inbox import Inbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.gateway import Gateway

# The supervisor's group, as the pod's contract fixes it.
SOCKET_GROUP = 10001
MAXIMUM_CONNECTIONS = 128
# How long exchanges under way may go on after the signal to end.
GRACE_SECONDS = 1.0


class Signals:
    """Remembers which signals came: `seal` for SIGUSR1, `end` for SIGTERM and SIGINT. SIGUSR2 calls `on_key`."""

    def __init__(self, on_key: Callable[[], None]) -> None:
        """The running loop handles the signals."""
        self._ended = asyncio.Event()
        self._any = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, self._any.set)
        loop.add_signal_handler(signal.SIGUSR2, on_key)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)

    def _end(self) -> None:
        self._ended.set()
        self._any.set()

    @property
    def ended(self) -> bool:
        """The process was asked to end."""
        return self._ended.is_set()

    async def any(self) -> None:
        """The process was asked to seal its evidence, or to end."""
        await self._any.wait()

    async def end(self) -> None:
        """The process was asked to end."""
        await self._ended.wait()


class Server:
    """Serves a gateway on a Unix socket, and on a TCP port if one is asked for."""

    def __init__(self, gateway: Gateway, limits: WireLimits) -> None:
        """Nothing listens yet."""
        self._gateway = gateway
        self._limits = limits
        self._budget = BodyBudget(limits.bodies_in_memory_bytes)
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._listeners: list[asyncio.Server] = []
        self._socket_path = ""

    async def listen(self, socket_path: str, tcp: tuple[str, int] | None) -> str | None:
        """Clients can connect; returns the address of the TCP port, if there is one."""
        _make_room(socket_path)
        loop = asyncio.get_running_loop()
        before = os.umask(0o117)
        try:
            self._listeners.append(await loop.create_unix_server(self._inbox, socket_path))
        finally:
            os.umask(before)
        self._socket_path = socket_path
        _share(socket_path)
        if tcp is None:
            return None
        listener = await loop.create_server(self._inbox, *tcp)
        self._listeners.append(listener)
        host, port = listener.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    async def close(self) -> None:
        """Nothing listens, every exchange has ended and is recorded."""
        for listener in self._listeners:
            listener.close()
        for task, connection in self._connections.items():
            if not connection.busy:
                task.cancel()
        if self._connections:
            _, late = await asyncio.wait(self._connections, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        with contextlib.suppress(OSError):
            os.unlink(self._socket_path)

    def _inbox(self) -> Inbox:
        return Inbox(AHEAD_BYTES, self._accept)

    def _accept(self, inbox: Inbox) -> None:
        if len(self._connections) >= MAXIMUM_CONNECTIONS:
            inbox.transport.abort()
            return
        inbox.transport.set_write_buffer_limits(BEHIND_BYTES)
        connection = Connection(inbox, self._gateway, self._limits, self._budget)
        task = asyncio.get_running_loop().create_task(self._serve(connection, inbox))
        self._connections[task] = connection
        task.add_done_callback(self._connections.__delitem__)

    async def _serve(self, connection: Connection, inbox: Inbox) -> None:
        try:
            await connection.serve()
        except asyncio.CancelledError:
            # Only `close` cancels.
            inbox.transport.abort()
        except Exception:
            # A fault of ours ends one connection, and is told.
            print(traceback.format_exc(), file=sys.stderr, flush=True)
            inbox.transport.abort()


def _make_room(socket_path: str) -> None:
    """The socket's directory exists; a socket left by a gateway that died is gone."""
    directory = os.path.dirname(socket_path)
    os.makedirs(directory, mode=0o750, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(socket_path).st_mode):
            os.unlink(socket_path)


def _share(socket_path: str) -> None:
    """The supervisor's group may reach the socket; where this process can't give files to it, only the owner may."""
    directory = os.path.dirname(socket_path)
    for path, mode in ((socket_path, 0o660), (directory, 0o750)):
        with contextlib.suppress(PermissionError):
            os.chown(path, -1, SOCKET_GROUP)
        with contextlib.suppress(PermissionError):
            os.chmod(path, mode)
