"""How do the client's bytes reach the gateway? A port of loopback, joined to the gateway's Unix socket.

Bytes pass unchanged, at once and in both directions; an end of either direction is passed on alone; a slow reader slows
its writer down; a broken connection arrives as a broken connection.
"""

from __future__ import annotations

import selectors
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BUFFER_BYTES = 64 * 1024
# Each costs two descriptors and at most two buffers; more wait in the kernel's queue until one ends.
CONNECTION_LIMIT = 128
_BACKLOG = 128
_RESET = struct.pack("ii", 1, 0)


class _Direction:
    """Bytes on their way from one socket to another."""

    __slots__ = ("buffer", "ended", "finished", "sink", "source")

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.buffer = b""
        self.ended = False  # the source will send no more
        self.finished = False  # and the sink knows it

    def read(self) -> None:
        self.buffer = self.source.recv(BUFFER_BYTES)
        if self.buffer:
            self.write()
        else:
            self.ended = True
            self.finish()

    def write(self) -> None:
        try:
            sent = self.sink.send(self.buffer)
        except BlockingIOError:
            return
        self.buffer = self.buffer[sent:]
        self.finish()

    def finish(self) -> None:
        if self.ended and not self.buffer and not self.finished:
            self.finished = True
            self.sink.shutdown(socket.SHUT_WR)


class _Connection:
    """One connection of the client's, joined to one of the gateway's."""

    def __init__(
        self, selector: selectors.BaseSelector, near: socket.socket, closed: Callable[[_Connection], None]
    ) -> None:
        self._selector = selector
        self._near = near
        self._far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._closed = closed
        self._up = _Direction(near, self._far)
        self._down = _Direction(self._far, near)
        self._watched: dict[socket.socket, int] = {}
        near.setblocking(False)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._far.setblocking(False)

    def connect(self, path: str) -> bool:
        """The gateway has the connection, or the client a reset; false while the gateway's queue is full."""
        try:
            self._far.connect(path)
        except BlockingIOError:
            return False
        except OSError:
            self.close(broken=True)
            return True
        self._watch()
        return True

    def _on_near(self, mask: int) -> None:
        self._step(mask, self._up, self._down)

    def _on_far(self, mask: int) -> None:
        self._step(mask, self._down, self._up)

    def _step(self, mask: int, outgoing: _Direction, incoming: _Direction) -> None:
        try:
            if mask & selectors.EVENT_READ and not outgoing.buffer and not outgoing.ended:
                outgoing.read()
            if mask & selectors.EVENT_WRITE and incoming.buffer:
                incoming.write()
        except BlockingIOError:
            return  # the readiness was spurious
        except OSError:
            self.close(broken=True)
            return
        if self._up.finished and self._down.finished:
            self.close(broken=False)
        else:
            self._watch()

    def _watch(self) -> None:
        self._watch_one(self._near, self._on_near, self._up, self._down)
        self._watch_one(self._far, self._on_far, self._down, self._up)

    def _watch_one(
        self, end: socket.socket, react: Callable[[int], None], outgoing: _Direction, incoming: _Direction
    ) -> None:
        wanted = 0
        if not outgoing.buffer and not outgoing.ended:
            wanted |= selectors.EVENT_READ
        if incoming.buffer:
            wanted |= selectors.EVENT_WRITE
        before = self._watched.get(end, 0)
        if wanted == before:
            return
        if not wanted:
            self._selector.unregister(end)
        elif before:
            self._selector.modify(end, wanted, react)
        else:
            self._selector.register(end, wanted, react)
        self._watched[end] = wanted

    def close(self, *, broken: bool) -> None:
        if self._near.fileno() < 0:
            return
        for end, wanted in self._watched.items():
            if wanted:
                self._selector.unregister(end)
        self._watched.clear()
        if broken:
            # Closing with nothing to linger for is a reset: the client must not take a torn answer for a whole one.
            self._near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._near.close()
        self._far.close()
        self._closed(self)


class Forwarder:
    """A listening port of loopback whose connections lead to a Unix socket."""

    def __init__(self, selector: selectors.BaseSelector, listen_port: int, path: str) -> None:
        """The port accepts connections.

        Raises:
            OSError: the port is taken.
        """
        self._selector = selector
        self._path = path
        self._open: set[_Connection] = set()
        self._waiting: list[_Connection] = []
        self._accepting = False
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(("127.0.0.1", listen_port))
            self._listener.listen(_BACKLOG)
        except OSError:
            self._listener.close()
            raise
        self._listener.setblocking(False)
        self._accept_while_room()

    @property
    def waiting(self) -> bool:
        """Whether connections wait for room in the gateway's queue; `retry` is due then."""
        return bool(self._waiting)

    def retry(self) -> None:
        """Connections that the gateway's queue had no room for have been offered again."""
        waiting, self._waiting = self._waiting, []
        self._waiting = [connection for connection in waiting if not connection.connect(self._path)]

    def _accept_while_room(self) -> None:
        room = len(self._open) < CONNECTION_LIMIT
        if room and not self._accepting:
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        elif not room and self._accepting:
            self._selector.unregister(self._listener)
        self._accepting = room

    def _accept(self, _mask: int) -> None:
        try:
            near, _ = self._listener.accept()
        except OSError:
            return  # the client gave up meanwhile
        connection = _Connection(self._selector, near, self._forget)
        self._open.add(connection)
        if not connection.connect(self._path):
            self._waiting.append(connection)
        self._accept_while_room()

    def _forget(self, connection: _Connection) -> None:
        self._open.discard(connection)
        if self._listener.fileno() >= 0:
            self._accept_while_room()

    def close(self) -> None:
        """The port and all connections are closed."""
        if self._accepting:
            self._selector.unregister(self._listener)
            self._accepting = False
        self._listener.close()
        for connection in tuple(self._open):
            connection.close(broken=True)
        self._waiting.clear()
