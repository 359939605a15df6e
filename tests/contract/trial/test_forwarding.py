"""What the forwarder promises: bytes unchanged, ends and breaks passed on, slow readers felt, many at once."""

from __future__ import annotations

import hashlib
import selectors
import socket
import struct
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from supervisor import forward

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 30


class Pair:
    """A forwarder at work in a thread, and the listening socket of the gateway that it leads to."""

    def __init__(self, folder: Path, backlog: int = 128) -> None:
        self.path = str(folder / "gateway.sock")
        self.gateway = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.gateway.settimeout(PATIENCE_S)
        self.gateway.bind(self.path)
        self.gateway.listen(backlog)
        self._selector = selectors.DefaultSelector()
        self.forwarder = forward.Forwarder(self._selector, 0, self.path)
        self.port = self.forwarder._listener.getsockname()[1]
        wake, self._stop = socket.socketpair()
        self._selector.register(wake, selectors.EVENT_READ)
        self._wake = wake
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            for key, mask in self._selector.select(0.005 if self.forwarder.waiting else None):
                if key.fileobj is self._wake:
                    self.forwarder.close()
                    return
                if self._selector.get_map().get(key.fd) is key:
                    key.data(mask)
            self.forwarder.retry()

    def stop(self) -> None:
        self._stop.send(b"x")
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        for end in (self._stop, self._wake, self.gateway):
            end.close()
        self._selector.close()

    def client(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        client.settimeout(PATIENCE_S)
        return client

    def accept(self) -> socket.socket:
        served, _ = self.gateway.accept()
        served.settimeout(PATIENCE_S)
        return served


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with running(Pair(tmp_path)) as pair:
        yield pair


@contextmanager
def running(pair: Pair) -> Iterator[Pair]:
    try:
        yield pair
    finally:
        pair.stop()


def read_all(end: socket.socket) -> bytes:
    data = bytearray()
    while part := end.recv(65536):
        data += part
    return bytes(data)


def send_until_it_stalls(end: socket.socket) -> int:
    sent = 0
    while True:
        try:
            sent += end.send(bytes(65536))
        except TimeoutError:
            return sent


def test_a_question_and_its_answer_pass_at_once(pair: Pair) -> None:
    """Small messages in both directions aren't held back for more."""
    with pair.client() as client, pair.accept() as served:
        client.sendall(b"a")
        assert served.recv(10) == b"a"
        served.sendall(b"b")
        assert client.recv(10) == b"b"
        client.sendall(b"c")
        assert served.recv(10) == b"c"


def test_an_end_in_one_direction_leaves_the_other_open(pair: Pair) -> None:
    """A client that has said everything still hears the answer."""
    with pair.client() as client, pair.accept() as served:
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        assert read_all(served) == b"question"
        served.sendall(b"answer")
        served.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"answer"


def test_an_answer_may_end_while_the_question_goes_on(pair: Pair) -> None:
    """The other direction is as good."""
    with pair.client() as client, pair.accept() as served:
        served.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
        client.sendall(b"more")
        client.shutdown(socket.SHUT_WR)
        assert read_all(served) == b"more"


def test_megabytes_in_both_directions_at_once_arrive_unchanged(pair: Pair) -> None:
    """Neither direction waits for the other, and no byte is lost, doubled or moved."""
    blob = b"".join(hashlib.sha256(str(place).encode()).digest() for place in range(200_000))
    received: dict[str, bytes] = {}

    def talk(end: socket.socket, name: str) -> None:
        def send() -> None:
            end.sendall(blob)
            end.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        received[name] = read_all(end)
        sender.join()

    with pair.client() as client, pair.accept() as served:
        threads = [
            threading.Thread(target=talk, args=(client, "client")),
            threading.Thread(target=talk, args=(served, "served")),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert received == {"client": blob, "served": blob}


def test_a_reader_that_does_not_read_stops_its_writer(pair: Pair) -> None:
    """What a stalled client hasn't read stays with the gateway, not in the supervisor's memory."""
    with pair.client() as client, pair.accept() as served:
        served.settimeout(0.2)
        sent = send_until_it_stalls(served)
        # Kernel buffers of two sockets and one of ours; without an end to it this would be unbounded.
        assert sent < 64 * 1024 * 1024
        served.settimeout(PATIENCE_S)
        served.shutdown(socket.SHUT_WR)
        assert len(read_all(client)) == sent


def test_a_gateway_that_breaks_off_arrives_as_a_break(pair: Pair) -> None:
    """A torn answer can't be taken for a whole one."""
    with pair.client() as client, pair.accept() as served:
        client.sendall(b"unread question")
        served.recv(3)
        served.close()
        with pytest.raises(ConnectionResetError):
            read_all(client)


def test_a_client_that_breaks_off_is_noticed_by_the_gateway(pair: Pair) -> None:
    """The gateway sees an end of the connection, so that it can stop answering."""
    client = pair.client()
    with pair.accept() as served:
        client.close()
        assert served.recv(1) == b""


def test_a_client_is_reset_when_the_gateway_is_gone(tmp_path: Path) -> None:
    """Nobody waits for a socket that nobody listens on; the reset may be there before the client knows it is connected."""
    with running(Pair(tmp_path)) as pair:
        pair.gateway.close()
        with pytest.raises(ConnectionResetError), pair.client() as client:
            client.recv(1)


def test_more_connections_than_are_kept_open_are_served_in_turn(pair: Pair) -> None:
    """Beyond the limit a connection waits until another ends."""
    count = forward.CONNECTION_LIMIT + 5
    clients = [pair.client() for _ in range(count)]
    served = [pair.accept() for _ in range(forward.CONNECTION_LIMIT)]
    pair.gateway.settimeout(0.1)
    with pytest.raises(TimeoutError):
        pair.gateway.accept()
    pair.gateway.settimeout(PATIENCE_S)
    for place in range(5):
        clients[place].close()
        served[place].close()
    served += [pair.accept() for _ in range(5)]
    for client in clients[5:]:
        client.sendall(b"x")
    assert [end.recv(1) for end in served[5:]] == [b"x"] * forward.CONNECTION_LIMIT
    for end in [*clients, *served]:
        end.close()


def test_a_full_queue_of_the_gateway_is_waited_for(tmp_path: Path) -> None:
    """A gateway that is slow to accept gets every connection in the end."""
    with running(Pair(tmp_path, backlog=0)) as pair:
        clients = [pair.client() for _ in range(6)]
        for place, client in enumerate(clients):
            client.sendall(bytes([place]))
        served = [pair.accept() for _ in clients]
        assert sorted(end.recv(1) for end in served) == [bytes([place]) for place in range(6)]
        for end in [*clients, *served]:
            end.close()


def test_the_port_is_the_trials_own(tmp_path: Path) -> None:
    """A port that somebody else holds is an error before the client starts; it listens on loopback alone."""
    with running(Pair(tmp_path)) as pair:
        assert pair.forwarder._listener.getsockname()[0] == "127.0.0.1"
        with selectors.DefaultSelector() as other, pytest.raises(OSError, match="Address already in use"):
            forward.Forwarder(other, pair.port, pair.path)


def test_a_client_that_resets_takes_nothing_down(pair: Pair) -> None:
    """Other connections go on."""
    rude = pair.client()
    rude_served = pair.accept()
    with pair.client() as client, pair.accept() as served:
        rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        rude.close()
        assert rude_served.recv(1) == b""
        rude_served.close()
        client.sendall(b"still here")
        assert served.recv(20) == b"still here"
