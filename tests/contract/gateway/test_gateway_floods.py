"""A client that floods the gateway: its memory and its evidence stay bounded, and honest requests are answered after it."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import RunningGateway

HEADERS = {"x-api-key": "client-token"}
BODY_BYTES = 32 * 1024 * 1024 - 1024
# As docs/reference/gateway.md says.
PEAK_BYTES = 400 * 1024 * 1024
MANY_PEAK_BYTES = 64 * 1024 * 1024
START = b'{"model":"m","max_tokens":5,"messages":[{"role":"user","content":'
REQUESTS = 10_000
STATUS = b"HTTP/1.1 "


def text(filler: bytes) -> bytes:
    return START + b'"' + filler + b'"}]}'


def many(item: bytes) -> bytes:
    return START + b"[" + b",".join([item] * (BODY_BYTES // (len(item) + 1))) + b"]}]}"


def peak_bytes(gateway: RunningGateway) -> int:
    """The most memory that the process ever held."""
    with open(f"/proc/{gateway.process.pid}/status", encoding="ascii") as status:
        (line,) = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (text(b"a" * BODY_BYTES), 200),
        (text(b"a" * BODY_BYTES + "\U0001f600".encode()), 200),
        (text(b'\\"' * (BODY_BYTES // 2)), 402),
        (text(b"\\u00e9" * (BODY_BYTES // 6)), 200),
        (many(b"[]"), 400),
        (many(b"1.5"), 400),
        (many(b'""'), 400),
        (many(b'"\\\\"'), 400),
        (many(b'{"type":"x"}'), 400),
        (START + b'"' + b'\\"' * (BODY_BYTES // 2), 402),
        (b"\xff" * BODY_BYTES, 400),
    ],
    ids=[
        "text",
        "wide",
        "quotes",
        "escapes",
        "lists",
        "numbers",
        "texts",
        "backslashes",
        "blocks",
        "endless",
        "binary",
    ],
)
def test_large_bodies_take_bounded_memory(start: Callable[..., RunningGateway], body: bytes, status: int) -> None:
    """Whatever 32 MB are made of, the gateway neither grows beyond its bound nor records beyond its cap."""
    limit_bytes = 64 * 1024 * 1024
    gateway = start(record_limit_bytes=limit_bytes)
    with httpx.Client(base_url=gateway.url, timeout=120) as client:
        assert client.post("/v1/messages", content=body, headers=HEADERS).status_code == status
    assert peak_bytes(gateway) < PEAK_BYTES
    gateway.end()
    assert [line["request_bytes"] for line in gateway.exchanges()] == [len(body)]
    assert sum(file.stat().st_size for file in (gateway.folder / "gateway").iterdir()) <= limit_bytes


def requests(connection: int, count: int) -> Iterator[bytes]:
    for number in range(count):
        body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": f"{number}"}]})
        head = f"POST /v1/messages?{connection} HTTP/1.1\r\nHost: x\r\nx-api-key: client-token\r\n"
        yield f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.slow
def test_many_requests_take_bounded_memory_and_room(start: Callable[..., RunningGateway]) -> None:
    """Ten thousand requests, sent before any answer is read, are all counted; what finds no room isn't recorded."""
    limit_bytes = 1_000_000
    gateway = start(record_limit_bytes=limit_bytes)
    host, port = gateway.ready["tcp"].split(":")
    answers: list[int] = []

    def flood(connection: int) -> None:
        with socket.create_connection((host, int(port)), timeout=120) as client:
            sender = threading.Thread(target=client.sendall, args=(b"".join(requests(connection, REQUESTS // 4)),))
            sender.start()
            received, tail = 0, b""
            while received < REQUESTS // 4 and (data := client.recv(65536)):
                received += (tail + data).count(STATUS)
                tail = (tail + data)[1 - len(STATUS) :]
            sender.join()
            answers.append(received)

    threads = [threading.Thread(target=flood, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answers) == REQUESTS
    assert peak_bytes(gateway) < MANY_PEAK_BYTES
    said = gateway.end()
    assert (said["exchanges"], said["record_limit_reached"]) == (REQUESTS, True)
    assert len(gateway.exchanges()) + said["unrecorded"] == REQUESTS
    assert sum(file.stat().st_size for file in (gateway.folder / "gateway").iterdir()) <= limit_bytes
