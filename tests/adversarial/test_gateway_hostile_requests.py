"""Threat: a client, or code that it runs, sends the gateway whatever bytes it likes, or stops reading or writing.

Nothing of this may end the gateway, make it lose an exchange, or keep it from answering the next honest request.
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from gateway.admission import Admission
from gateway.config import Token
from gateway.connection import WireLimits
from gateway.evidence import Evidence
from gateway.exchange import Answer, Burst, Observation, UsageUnavailable, burst_of
from gateway.gateway import Gateway
from gateway.server import Server

from tests.contract.gateway.conftest import RunningGateway, start

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from pathlib import Path

    from gateway.exchange import Exchange

__all__ = ["start"]

BODY = {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "Where is `x_y`?"}]}
HEADERS = {"x-api-key": "client-token"}
HEAD = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: client-token\r\n"


def talk(gateway: RunningGateway, sent: bytes) -> bytes:
    """Everything that comes back for `sent`, until the gateway closes."""
    received = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(gateway.socket)
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        while data := client.recv(65536):
            received += data
    return received


def is_honest_request_answered(gateway: RunningGateway) -> bool:
    with httpx.Client(base_url=gateway.url) as client:
        return client.post("/v1/messages", json=BODY, headers=HEADERS).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 1000,
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
        HEAD + b"Content-Length: 10\r\n\r\nabc",
        HEAD,
    ],
    ids=[
        "tls",
        "zeros",
        "no-target",
        "no-host",
        "bad-header",
        "huge-header",
        "negative-length",
        "two-lengths",
        "bad-chunk",
        "unknown-coding",
        "short-body",
        "half-head",
    ],
)
def test_malformed_http_is_answered_and_recorded(start: Callable[..., RunningGateway], sent: bytes) -> None:
    """Whatever isn't HTTP gets an error of the provider's shape and a line of evidence."""
    gateway = start()
    status, _, body = talk(gateway, sent).partition(b"\r\n\r\n")
    assert status.split(b" ")[1] in {b"400", b"431"}
    assert json.loads(body)["type"] == "error"
    assert is_honest_request_answered(gateway)
    gateway.end()
    assert [(line["refused"], line["seq"]) for line in gateway.exchanges()] == [("bad_request", 1), (None, 2)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 500_000,
        b'{"model":"m","max_tokens":1,"messages":' + b"[" * 900 + b"]" * 900 + b"}",
        json.dumps(BODY | {"messages": [{"role": "user", "content": [{"type": {}}]}]}).encode(),
        json.dumps(BODY | {"tools": [{"name": []}]}).encode(),
        json.dumps(
            BODY | {"system": [{"type": "text", "text": "x", "cache_control": {"type": [], "ttl": {}}}]}
        ).encode(),
    ],
    ids=["empty", "binary", "deep", "deep-inside", "type-object", "name-list", "control-list"],
)
def test_hostile_bodies_are_bad_requests(start: Callable[..., RunningGateway], body: bytes) -> None:
    """A body that no model could answer is a 400, never a fault of the gateway."""
    gateway = start()
    with httpx.Client(base_url=gateway.url) as client:
        assert client.post("/v1/messages", content=body, headers=HEADERS).status_code == 400
        assert client.post("/v1/messages", json=BODY, headers=HEADERS).status_code == 200
    gateway.end()
    assert [line["refused"] for line in gateway.exchanges()] == ["bad_request", None]


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>" * 200_000 + "x_y",
        "`" * 500_000,
        '"' * 300_000 + "x_y",
        "aB." * 300_000,
        "x" * 2_000_000,
        "[1] id=1 source=" * 100_000,
    ],
    ids=["reminders", "backticks", "quotes", "dots", "one-word", "headers"],
)
def test_hostile_texts_do_not_stall_the_policy(start: Callable[..., RunningGateway], text: str) -> None:
    """Questions and tool results made to slow down a reader are answered like others."""
    gateway = start()
    use = {"type": "tool_use", "id": "t", "name": "mcp__m__memory_search", "input": {"query": [], "pattern": {}}}
    messages = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]},
    ]
    tools = [{"name": "mcp__m__memory_search", "input_schema": 3}, {"name": "Grep", "input_schema": {"properties": []}}]
    with httpx.Client(base_url=gateway.url, timeout=30) as client:
        answer = client.post("/v1/messages", json=BODY | {"messages": messages, "tools": tools}, headers=HEADERS)
    assert answer.status_code == 200


def test_pipelined_requests_are_answered_in_order(start: Callable[..., RunningGateway]) -> None:
    """Two requests sent at once are two exchanges, and the second isn't lost in the first's buffer."""
    gateway = start()
    body = json.dumps(BODY).encode()
    one = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    two = b"GET /other HTTP/1.1\r\nHost: x\r\nx-api-key: client-token\r\nConnection: close\r\n\r\n"
    received = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(gateway.socket)
        client.sendall(one + two)
        while data := client.recv(65536):
            received += data
    assert received.startswith(b"HTTP/1.1 200 ")
    assert received.count(b"HTTP/1.1 404 ") == 1
    gateway.end()
    assert [(line["seq"], line["status"]) for line in gateway.exchanges()] == [(1, 200), (2, 404)]


def test_connect_and_upgrade_switch_nothing(start: Callable[..., RunningGateway]) -> None:
    """The gateway is no tunnel."""
    gateway = start()
    connect = b"CONNECT api.example:443 HTTP/1.1\r\nHost: x\r\nx-api-key: client-token\r\n\r\n"
    upgrade = (
        b"GET / HTTP/1.1\r\nHost: x\r\nx-api-key: client-token\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    )
    for sent in (connect, upgrade):
        assert talk(gateway, sent).startswith(b"HTTP/1.1 404 ")
    assert is_honest_request_answered(gateway)


def test_many_silent_connections_do_not_keep_it_from_ending(start: Callable[..., RunningGateway]) -> None:
    """Connections beyond the limit are dropped; the gateway answers again when they are gone, and ends cleanly."""
    gateway = start()
    with ExitStack() as opened:
        silent = [opened.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(200)]
        for client in silent:
            client.connect(gateway.socket)
        # The last one is beyond the limit: the gateway has accepted all before it when it drops it.
        silent[-1].settimeout(20)
        assert silent[-1].recv(1) == b""
    assert any(is_honest_request_answered_or_dropped(gateway) for _ in range(1000))
    assert gateway.end()["event"] == "stopped"


def is_honest_request_answered_or_dropped(gateway: RunningGateway) -> bool:
    try:
        return is_honest_request_answered(gateway)
    except httpx.TransportError:
        return False


class ChosenUpstream:
    """Answers every request with the same body, or fails."""

    def __init__(self, body: Callable[[], AsyncGenerator[Burst, None]]) -> None:
        self.body = body

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:  # noqa: ARG002
        take_model_request()
        seen = Observation("m", "m", None, True, UsageUnavailable("none"))
        return Answer(200, (("content-type", "text/event-stream"),), self.body(), 10_000_000, lambda: seen)


@asynccontextmanager
async def serving(
    folder: Path, upstream: ChosenUpstream, limits: WireLimits
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, Server]]:
    admission = Admission({"client": Token(b"client-token"), "memory": Token(b"memory-token")}, 10)
    gateway = Gateway(admission, upstream, Evidence(str(folder / "gateway"), 50_000_000), "seed")
    server = Server(gateway, limits)
    path = str(folder / "s")
    await server.listen(path, None)
    reader, writer = await asyncio.open_unix_connection(path)
    yield reader, writer, server
    writer.close()
    await server.close()


def recorded(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "gateway/exchanges.jsonl").read_text().splitlines()]


REQUEST = HEAD + b"Content-Length: 2\r\n\r\n{}"


def test_a_client_that_goes_away_mid_stream_is_cut(tmp_path: Path) -> None:
    """What it got is recorded, marked as cut, and the upstream is asked for no more."""
    gone = asyncio.Event()
    closed: list[bool] = []

    async def body() -> AsyncGenerator[Burst, None]:
        try:
            yield burst_of(b"first")
            await gone.wait()
            while True:
                yield burst_of(b"more" * 1000)
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    async def scenario() -> None:
        async with serving(tmp_path, ChosenUpstream(body), WireLimits()) as (reader, writer, _):
            writer.write(REQUEST)
            await reader.readuntil(b"first")
            writer.close()
            await writer.wait_closed()
            gone.set()

    asyncio.run(asyncio.wait_for(scenario(), 20))
    (line,) = recorded(tmp_path)
    assert (line["status"], line["cut"], line["refused"]) == (200, True, None)
    assert line["response_bytes"] >= 5
    assert closed == [True]


def test_a_client_that_does_not_read_is_cut(tmp_path: Path) -> None:
    """A stream that nobody takes ends after the declared stall."""

    gave_up = asyncio.Event()

    async def body() -> AsyncGenerator[Burst, None]:
        try:
            while True:
                yield burst_of(b"x" * 65536)
        finally:
            gave_up.set()

    async def scenario() -> None:
        limits = WireLimits(write_stall_seconds=0.05)
        async with serving(tmp_path, ChosenUpstream(body), limits) as (reader, writer, server):
            writer.write(REQUEST)
            await writer.drain()
            assert await reader.read(1) == b"H"
            await gave_up.wait()
            await server.close()

    asyncio.run(asyncio.wait_for(scenario(), 20))
    assert [line["cut"] for line in recorded(tmp_path)] == [True]


@pytest.mark.parametrize(
    ("sent", "limits", "status"),
    [
        (b"POST /v1/mess", WireLimits(head_seconds=0.05), 408),
        (HEAD + b"Content-Length: 10\r\n\r\nabc", WireLimits(body_seconds=0.05), 408),
        (HEAD + b"Content-Length: 101\r\n\r\n", WireLimits(body_bytes=100), 413),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n65\r\n" + b"x" * 101, WireLimits(body_bytes=100), 413),
        (HEAD + b"Content-Length: 90\r\n\r\n" + b"x" * 90, WireLimits(bodies_in_memory_bytes=80), 413),
    ],
    ids=["slow-head", "slow-body", "declared-too-large", "chunked-too-large", "memory"],
)
def test_slow_and_large_requests_are_refused(tmp_path: Path, sent: bytes, limits: WireLimits, status: int) -> None:
    """Time and size are bounded, whatever the client declares, and the refusal is recorded."""

    async def body() -> AsyncGenerator[Burst, None]:
        yield burst_of(b"never asked for")

    async def scenario() -> bytes:
        async with serving(tmp_path, ChosenUpstream(body), limits) as (reader, writer, _):
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            return head

    assert asyncio.run(asyncio.wait_for(scenario(), 20)).startswith(b"HTTP/1.1 %d " % status)
    assert [(line["status"], line["refused"], line["cut"]) for line in recorded(tmp_path)] == [
        (status, "bad_request", False)
    ]


def test_a_fault_of_the_gateway_is_an_answer_and_is_recorded(tmp_path: Path) -> None:
    """A programming error in an upstream is a visible `gateway_fault`; the next request is served."""

    class Faulty(ChosenUpstream):
        async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
            if exchange.seq == 1:
                raise ZeroDivisionError
            return await super().answer(exchange, take_model_request)

    async def body() -> AsyncGenerator[Burst, None]:
        yield burst_of(b"fine")

    async def scenario() -> None:
        async with serving(tmp_path, Faulty(body), WireLimits()) as (reader, writer, _):
            writer.write(REQUEST)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 500 ")
            await reader.readuntil(b'"}')
            writer.write(REQUEST)
            await reader.readuntil(b"fine")

    asyncio.run(asyncio.wait_for(scenario(), 20))
    assert [line["refused"] for line in recorded(tmp_path)] == ["gateway_fault", None]


def test_a_full_disk_ends_the_answer_before_its_last_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When evidence can't be written the client isn't told that its answer is complete."""

    async def body() -> AsyncGenerator[Burst, None]:
        yield burst_of(b"unrecorded")

    async def scenario() -> bytes:
        async with serving(tmp_path, ChosenUpstream(body), WireLimits()) as (reader, writer, _):
            monkeypatch.setattr("gateway.evidence.os.write", no_space)
            writer.write(REQUEST)
            return await read_all(reader)

    assert not asyncio.run(asyncio.wait_for(scenario(), 20)).endswith(b"0\r\n\r\n")
    assert recorded(tmp_path) == []


def no_space(file: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


async def read_all(reader: asyncio.StreamReader) -> bytes:
    received = b""
    try:
        while data := await reader.read(65536):
            received += data
    except ConnectionResetError:
        return received
    return received
