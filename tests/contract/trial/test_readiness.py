"""What the supervisor asks before the client starts, and what counts as an answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest
from supervisor import launch, ready

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def answering(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server that gives one answer a connection, and the questions that it heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    heard.append(connection.recv(65536))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/readyz", heard
        thread.join(10)


def wait(urls: tuple[str, ...], path: str | None = None, timeout_ms: int = 10_000) -> None:
    ready.wait(launch.Ready(timeout_ms, urls), path, time.monotonic_ns, lambda _seconds: None)


def test_nothing_to_wait_for_is_ready() -> None:
    """An arm without a memory starts at once."""
    wait(())


def test_a_server_that_answers_is_asked_once() -> None:
    """Its log shows one request."""
    with answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as (url, heard):
        wait((url,))
    (question,) = heard
    assert question.startswith(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:")


def test_a_server_that_is_not_ready_yet_is_asked_again() -> None:
    """503, nonsense and silence aren't readiness."""
    answers = (b"HTTP/1.1 503 Busy\r\n\r\n", b"200 OK\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\n\r\n")
    with answering(*answers) as (url, heard):
        wait((url,))
    assert len(heard) == 4


def test_the_last_problem_is_named() -> None:
    """A person reads what was asked and what came back."""
    with answering(b"HTTP/1.1 404 Not Found\r\n\r\n") as (url, _):
        clock = iter([0, 0, 50_000_000, 50_000_000])
        with pytest.raises(ready.NotReadyError) as caught:
            ready.wait(launch.Ready(10, (url,)), None, lambda: next(clock), lambda _seconds: None)
    assert str(caught.value) == f"{url} did not answer within 10 ms: answered b'HTTP/1.1 404'"


def test_a_socket_that_takes_connections_is_ready(tmp_path: Path) -> None:
    """The gateway isn't asked anything."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gateway:
        gateway.bind(str(tmp_path / "gateway.sock"))
        gateway.listen()
        wait((), str(tmp_path / "gateway.sock"))
        connection, _ = gateway.accept()
        with connection:
            assert connection.recv(1) == b""


def test_a_socket_that_nobody_serves_is_not_ready(tmp_path: Path) -> None:
    """A name that is left of a dead gateway isn't a gateway."""
    path = str(tmp_path / "gateway.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gateway:
        gateway.bind(path)
    with pytest.raises(ready.NotReadyError) as caught:
        wait((), path, timeout_ms=20)
    assert str(caught.value) == f"{path} did not answer within 20 ms: Connection refused"


def test_a_server_that_never_answers_ends_the_wait() -> None:
    """An open connection without an answer costs no more than the time that was given."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(ready.NotReadyError, match="timed out"):
            wait((url,), timeout_ms=50)
