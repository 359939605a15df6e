"""The sidecar as a process: readiness, log, ending, what survives which end."""

from __future__ import annotations

import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    Start = Callable[..., AbstractContextManager[Any]]

PLANE = {"vectors": {"size": 2, "distance": "Dot"}}


def write(sidecar: Any, *identifiers: int) -> None:
    points = [
        {"id": identifier, "vector": [1.0, identifier], "payload": {"n": identifier}} for identifier in identifiers
    ]
    status, answer = sidecar.ask("PUT", "/collections/c/points?wait=true", {"points": points})
    assert (status, answer["result"]["status"]) == (200, "completed")


def count(sidecar: Any) -> int:
    status, answer = sidecar.ask("POST", "/collections/c/points/count", {})
    assert status == 200
    return int(answer["result"]["count"])


def test_ready_line_says_what_is_served(sidecar: Start) -> None:
    """The first line of the output names port, engine and content of an empty store."""
    with sidecar() as running:
        ready = running.ready()
    assert ready["port"] > 0
    assert {key: ready[key] for key in ("event", "engine", "version", "collections", "points", "logical_digest")} == {
        "event": "ready",
        "engine": "qdrant-edge",
        "version": "1.20.0",
        "collections": [],
        "points": 0,
        "logical_digest": None,
    }


def test_each_request_is_one_line(sidecar: Start) -> None:
    """Every request is logged with the agreed keys, in the order of arrival, without its query."""
    with sidecar() as running:
        assert running.events("request") == []
        running.ask("PUT", "/collections/c?timeout=5", PLANE)
        running.ask("GET", "/collections/nobody")
        write(running, 1)
        events = running.events("request")
    assert [list(event) for event in events] == [
        ["event", "seq", "method", "path", "status", "received_ns", "duration_us"]
    ] * 3
    assert [(event["seq"], event["method"], event["path"], event["status"]) for event in events] == [
        (1, "PUT", "/collections/c", 200),
        (2, "GET", "/collections/nobody", 404),
        (3, "PUT", "/collections/c/points", 200),
    ]
    received = [event["received_ns"] for event in events]
    assert received == sorted(received)
    assert all(event["duration_us"] >= 0 for event in events)


def test_health_is_plain_text(sidecar: Start) -> None:
    """The three look-ups of health answer 200 with a sentence, and the root says what this is."""
    with sidecar() as running, socket.create_connection(("127.0.0.1", running.ready()["port"])) as connection:
        reader = connection.makefile("rb")
        for path in ("healthz", "livez", "readyz"):
            connection.sendall(f"GET /{path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            assert reader.readline() == b"HTTP/1.1 200 OK\r\n"
            assert reader.readline().startswith(b"content-type: text/plain")
            length = int(reader.readline().removeprefix(b"content-length: "))
            assert reader.readline() == b"connection: keep-alive\r\n"
            assert b"check passed" in (body := reader.read(2 + length)) or b"ready" in body
        reader.close()
        assert running.ask("GET", "/") == (
            200,
            {"title": "qdrant-edge REST shim (not the official server)", "version": "1.20.0"},
        )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_with_everything_on_disk(sidecar: Start, number: signal.Signals) -> None:
    """After SIGTERM or SIGINT the exit code is 0, and a second start finds every point."""
    with sidecar() as running:
        running.ask("PUT", "/collections/c", PLANE)
        write(running, 1, 2, 3)
        running.process.send_signal(number)
        assert running.process.wait(timeout=30) == 0
    with sidecar() as running:
        assert count(running) == 3
        write(running, 4)
        assert count(running) == 4


def test_signal_during_the_start_is_not_lost(sidecar: Start) -> None:
    """A sidecar that is told to stop before it is ready stops, whatever it is doing."""
    with sidecar() as running:
        assert running.stop() == 0
        assert running.events("request") == []


def test_idle_connections_do_not_delay_the_end(sidecar: Start) -> None:
    """A client that keeps its connection open doesn't keep the sidecar."""
    with sidecar() as running, socket.create_connection(("127.0.0.1", running.ready()["port"])) as connection:
        connection.sendall(b"GET /readyz HTTP/1.1\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        assert running.stop() == 0


def test_signal_during_a_large_write_ends_it(sidecar: Start) -> None:
    """A long write is cut between two of its points, and what was written can be read afterwards."""
    points = [{"id": identifier, "vector": [1.0, identifier]} for identifier in range(100_000)]
    with sidecar() as running:
        running.ask("PUT", "/collections/c", PLANE)
        answers: list[Any] = []

        def upsert() -> None:
            try:
                answers.append(running.ask("PUT", "/collections/c/points", {"points": points})[0])
            except OSError as error:
                answers.append(error)

        writer = threading.Thread(target=upsert)
        writer.start()
        while not count(running) and writer.is_alive():
            pass
        assert running.stop() == 0
        writer.join()
    with sidecar() as running:
        assert 0 < count(running) <= 100_000
    assert len(answers) == 1


def test_acknowledged_points_survive_a_kill(sidecar: Start) -> None:
    """What was acknowledged is there after SIGKILL and a new start."""
    with sidecar() as running:
        running.ask("PUT", "/collections/c", PLANE)
        for identifier in range(50):
            write(running, identifier)
        running.process.kill()
        running.process.wait(timeout=30)
    with sidecar() as running:
        assert count(running) == 50


def test_refused_batch_leaves_no_trace_after_a_restart(sidecar: Start) -> None:
    """The engine logs before it checks: what was refused must not reappear from its log."""
    points = [{"id": 1, "vector": [1.0, 2.0]}, {"id": 2, "vector": [1.0]}, {"id": 3, "vector": [1.0, 2.0]}]
    with sidecar() as running:
        running.ask("PUT", "/collections/c", PLANE)
        status, answer = running.ask("PUT", "/collections/c/points", {"points": points})
        assert status == 400
        assert "expected dim: 2, got 1" in answer["status"]["error"]
        assert count(running) == 0
        running.process.kill()
        running.process.wait(timeout=30)
    with sidecar() as running:
        assert count(running) == 0


def test_second_sidecar_on_one_storage_is_refused(sidecar: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """A storage that is in use can't be opened again: one message, exit code 2."""
    with sidecar() as first:
        first.ask("PUT", "/collections/c", PLANE)
        with sidecar() as second:
            assert second.process.wait(timeout=30) == 2
        assert count(first) == 0
    assert "can't be opened" in capfd.readouterr().err


def test_port_in_use_is_reported(sidecar: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """An address that is taken is named: exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with sidecar("--port", port) as running:
            assert running.process.wait(timeout=30) == 2
    assert f"127.0.0.1:{port}: can't listen: Address already in use" in capfd.readouterr().err


def test_unknown_option_is_reported(sidecar: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """A misspelt option is named, with what there is instead: exit code 2."""
    with sidecar("--indx", "/nowhere") as running:
        assert running.process.wait(timeout=30) == 2
    message = capfd.readouterr().err
    assert "unknown argument '--indx'" in message
    assert "--index" in message


def test_equal_scores_keep_one_order(sidecar: Start) -> None:
    """Points of equal score are the first that were written, and come in one order from every store built of them."""
    points = [{"id": identifier, "vector": [1.0, 0.0]} for identifier in (5, 3, 9, 1, 7, 2, 8, 4, 6)]
    orders = []
    with sidecar() as running:
        for name in ("one", "two", "three"):
            running.ask("PUT", f"/collections/{name}", PLANE)
            running.ask("PUT", f"/collections/{name}/points", {"points": points})
            answer = running.ask("POST", f"/collections/{name}/points/query", {"query": [1.0, 0.0], "limit": 5})[1]
            orders.append([point["id"] for point in answer["result"]["points"]])
    assert sorted(orders[0]) == [1, 3, 5, 7, 9]
    assert orders == [orders[0]] * 3
