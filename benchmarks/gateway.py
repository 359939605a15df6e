"""What does the gateway cost? Latency, throughput, start and memory, beside a direct connection and other proxies.

    python benchmarks/gateway.py [--mitmdump PATH] [--litellm PATH] [--rounds N] [--out FILE]

All of it is measured in one run on loopback, round by round: whatever else the machine does meets everybody. The
upstream streams a short answer of the Messages API, or 50 MB of one; the gateway records every body, and once more with
bodies left out. The floor is a program that copies bytes from one connection to another and knows nothing: what any
proxy costs on this machine, in this language, at this moment. Exit code 1: a bound doesn't hold. Another proxy is
measured where its program is given: install one beside this project, not into it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "images/gateway/gateway/main.py"
TOKEN = "benchmark-token"  # noqa: S105 - worth nothing anywhere
OURS = ("direct", "floor", "pairbench", "left out")
STREAMS = 8
ROUNDS = 12
THROUGHPUT_ROUNDS = 5
REQUESTS_A_ROUND = 10
# A model thinks before it speaks, and speaks word by word: far faster here than any does.
FIRST_S = 0.02
# Streams that rest between their requests, as agents do, meet one another now and then; streams that don't ask all at
# once, in step, over and over again.
PAUSES_S = {"resting": 0.05, "in step": 0.0}
EVENT_S = 0.002
LARGE_BYTES = 50 * 1000 * 1000
BODY = json.dumps(
    {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "stream": True,
        "messages": [{"role": "user", "content": "word " * 8000}],
    }
).encode()
USAGE = '{"input_tokens":1,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}'
EVENTS = [
    f'event: message_start\ndata: {{"type":"message_start","message":{{"model":"m","usage":{USAGE}}}}}\n\n',
    *['event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"word"}}\n\n'] * 20,
    f'event: message_delta\ndata: {{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{USAGE}}}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LARGE_EVENT = b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"%s"}}\n\n' % (
    b"w" * 16300
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@dataclass(frozen=True)
class Route:
    """One way to the upstream."""

    name: str
    port: int
    pid: int | None = None
    ready_s: float = 0.0


async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers whatever comes: a short stream, or a large one where the query asks for it."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            await reader.readexactly(length)
            if b"large" in head.split(b"\r\n", 1)[0]:
                data, sent = chunk(LARGE_EVENT), 0
                writer.write(HEAD)
                while sent < LARGE_BYTES:
                    writer.write(data)
                    await writer.drain()
                    sent += len(data)
            else:
                await asyncio.sleep(FIRST_S)
                writer.write(HEAD)
                for event in EVENTS:
                    writer.write(chunk(event.encode()))
                    await asyncio.sleep(EVENT_S)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    writer.close()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str) -> tuple[float, int]:
    """Seconds to the first byte of the body, and the answer's bytes."""
    head = f"POST {target} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {TOKEN}\r\ncontent-type: application/json\r\n"
    began = time.perf_counter()
    writer.write(f"{head}anthropic-version: 2023-06-01\r\ncontent-length: {len(BODY)}\r\n\r\n".encode() + BODY)
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in answer.split(b"\r\n", 1)[0]:
        raise RuntimeError(answer.decode("latin-1") + (await reader.read(2000)).decode("latin-1"))
    tail = await reader.read(1)
    first = time.perf_counter() - began
    size = len(tail)
    while not tail.endswith(b"0\r\n\r\n"):
        data = await reader.read(1 << 18)
        if not data:
            break
        size += len(data)
        tail = (tail + data)[-5:]
    return first, size


async def latencies(route: Route, pause_s: float, seed: str) -> list[float]:
    """Of one round, in seconds; each stream rests for up to so long before it asks, by the seed."""

    async def stream(number: int) -> list[float]:
        rests = random.Random(f"{seed} {number}")  # noqa: S311 - the same for every route
        reader, writer = await asyncio.open_connection("127.0.0.1", route.port, limit=1 << 20)
        found = []
        for _ in range(REQUESTS_A_ROUND):
            await asyncio.sleep(rests.uniform(0, pause_s))
            found.append((await ask(reader, writer, "/v1/messages"))[0])
        writer.close()
        return found

    return [value for found in await asyncio.gather(*(stream(number) for number in range(STREAMS))) for value in found]


async def throughput(route: Route) -> float:
    """Bytes a second of one large answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", route.port, limit=1 << 20)
    began = time.perf_counter()
    _, size = await ask(reader, writer, "/v1/messages?large")
    writer.close()
    return size / (time.perf_counter() - began)


def rss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


@contextlib.asynccontextmanager
async def gateway(name: str, port: int, folder: Path, bodies: str) -> AsyncIterator[Route]:
    """Ours, in live mode, as a pod starts it."""
    folder /= bodies
    folder.mkdir()
    key = folder / "key"
    key.write_text("benchmark")
    config = folder / "gateway.json"
    document = {
        "format": "pairbench/gateway-config",
        "version": 1,
        "mode": "live",
        "socket": str(folder / "run/g.sock"),
        "evidence_dir": str(folder / "evidence"),
        "tokens": {"client": TOKEN, "memory": "another-token"},
        "seed": "benchmark",
        "record_limit_bytes": 1 << 30,
        "request_limit": 100_000,
        "bodies": bodies,
        "upstream": {"base_url": f"http://127.0.0.1:{port}", "auth": "api-key", "ca_file": None, "key_file": str(key)},
    }
    config.write_text(json.dumps(document))
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), str(config), "--tcp", "127.0.0.1:0", stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    try:
        yield Route(name, int(ready["tcp"].rpartition(":")[2]), process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        await process.wait()


@contextlib.asynccontextmanager
async def foreign(name: str, arguments: list[str], port: int, environment: dict[str, str]) -> AsyncIterator[Route]:
    """Another proxy, once its port answers."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            break
        if process.returncode is not None:
            raise RuntimeError(f"{name} ended with {process.returncode}")
        await asyncio.sleep(0.01)
    try:
        yield Route(name, port, process.pid, time.perf_counter() - began)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


class Copying(asyncio.Protocol):
    """One side of a pair of connections: what comes on it goes out on the other."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.other: Copying | None = None
        self.early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            self.early.append(data)
        else:
            self.other.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self.other is not None:
            self.other.transport.close()

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.transport.resume_reading()


async def copy(port: int) -> None:
    """The floor, in a process of its own; says its port, and never ends by itself."""
    loop = asyncio.get_running_loop()
    kept: set[asyncio.Task[None]] = set()

    async def join(near: Copying) -> None:
        _, far = await loop.create_connection(Copying, "127.0.0.1", port)
        near.other, far.other = far, near
        far.transport.writelines(near.early)

    class Near(Copying):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            kept.add(loop.create_task(join(self)))

    server = await loop.create_server(Near, "127.0.0.1", 0)
    print(json.dumps({"tcp": f"127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
    await server.serve_forever()


@contextlib.asynccontextmanager
async def floor(port: int) -> AsyncIterator[Route]:
    """A copy of bytes."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--copy", str(port), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    try:
        yield Route("floor", int(ready["tcp"].rpartition(":")[2]), process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        await process.wait()


def free_port() -> int:
    import socket  # noqa: PLC0415 - here only

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def measure(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Every figure by route."""
    server = await asyncio.start_server(upstream, "127.0.0.1", 0, limit=1 << 20)
    port = int(server.sockets[0].getsockname()[1])
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gw")))
        routes = [Route("direct", port), await stack.enter_async_context(floor(port))]
        for name, bodies in (("pairbench", "kept"), ("left out", "left_out")):
            routes.append(await stack.enter_async_context(gateway(name, port, folder, bodies)))
        if options.mitmdump:
            own = free_port()
            arguments = [
                options.mitmdump,
                "-q",
                "--mode",
                f"reverse:http://127.0.0.1:{port}",
                "--listen-port",
                str(own),
            ]
            arguments += ["--set", "stream_large_bodies=1", "--set", f"confdir={folder / 'mitm'}"]
            routes.append(await stack.enter_async_context(foreign("mitmproxy", arguments, own, {})))
        if options.litellm:
            own = free_port()
            config = folder / "litellm.yaml"
            config.write_text(
                "model_list:\n  - model_name: claude-sonnet-4-5\n    litellm_params:\n"
                "      model: anthropic/claude-sonnet-4-5\n"
                f"      api_base: http://127.0.0.1:{port}\n      api_key: benchmark\n"
            )
            # It accepts one key, and wants a better one than this.
            environment = {"LITELLM_MASTER_KEY": TOKEN, "LITELLM_LOG": "ERROR"}
            environment["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
            arguments = [options.litellm, "--config", str(config), "--port", str(own), "--host", "127.0.0.1"]
            routes.append(await stack.enter_async_context(foreign("litellm", arguments, own, environment)))
        idle = {route.name: rss_bytes(route.pid) if route.pid else 0 for route in routes}
        seconds: dict[tuple[str, str], list[float]] = {(way, route.name): [] for way in PAUSES_S for route in routes}
        rates: dict[str, list[float]] = {route.name: [] for route in routes}
        for number in range(options.rounds + 1):
            for (way, pause_s), route in itertools.product(PAUSES_S.items(), routes):
                found = await latencies(route, pause_s, f"{way} {number}")
                # The first round warms everybody up.
                seconds[way, route.name] += found if number else []
        for _ in range(THROUGHPUT_ROUNDS):
            for route in routes:
                # It takes minutes for as many bytes, which say nothing more.
                if route.name != "litellm":
                    rates[route.name].append(await throughput(route))
        server.close()
    return {
        route.name: {
            **{f"{way}_p50_ms": 1000 * statistics.median(seconds[way, route.name]) for way in PAUSES_S},
            **{f"{way}_p99_ms": 1000 * statistics.quantiles(seconds[way, route.name], n=100)[98] for way in PAUSES_S},
            "mb_a_second": statistics.median(rates[route.name] or [0.0]) / 1e6,
            "ready_s": route.ready_s,
            "idle_mb": idle[route.name] / 1e6,
        }
        for route in routes
    }


def verdicts(figures: dict[str, dict[str, float]]) -> dict[str, bool]:
    """Each bound and whether it holds."""
    direct, ours = figures["direct"], figures["pairbench"]
    keys = [f"{way}_{part}_ms" for way in PAUSES_S for part in ("p50", "p99")]
    added = {name: {key: row[key] - direct[key] for key in keys} for name, row in figures.items()}
    found = {
        **{f"added p50, {way} <= 1.5 ms": added["pairbench"][f"{way}_p50_ms"] <= 1.5 for way in PAUSES_S},
        **{f"added p99, {way} <= 8 ms": added["pairbench"][f"{way}_p99_ms"] <= 8 for way in PAUSES_S},
        "throughput >= 60 % of direct": ours["mb_a_second"] >= 0.6 * direct["mb_a_second"],
        "ready in <= 0.35 s": ours["ready_s"] <= 0.35,
        "idle in <= 60 MB": ours["idle_mb"] <= 60,
    }
    for name in figures:
        if name not in OURS:
            for key in keys:
                held = added["pairbench"][key] <= added[name][key] / 5
                found[f"added {key.removesuffix('_ms').replace('_', ' ')} <= 1/5 of {name}'s"] = held
    return found


def main() -> int:
    """1 when a bound doesn't hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mitmdump", default="", help="its program, of an environment of its own")
    parser.add_argument("--litellm", default="", help="likewise")
    parser.add_argument("--out", type=Path, help="where figures and verdicts go, as JSON")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of eight streams with ten requests each")
    parser.add_argument("--copy", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.copy:
        asyncio.run(copy(options.copy))
    figures = asyncio.run(measure(options))
    held = verdicts(figures)
    for name, row in figures.items():
        print(f"{name:10}", "  ".join(f"{key} {value:8.2f}" for key, value in row.items()))
    for bound, holds in held.items():
        print("holds " if holds else "BROKEN", bound)
    if options.out:
        options.out.write_text(json.dumps({"figures": figures, "bounds": held}, indent=1) + "\n")
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
