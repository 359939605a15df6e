"""Makes the golden files of the gateway: `python -m tests.golden.exchange.make`.

They are what a gateway of the configurations beside this script writes for the requests below, on a clock that moves by a
millisecond whenever somebody looks at it. Both sides of the formats test against them: the host makes the configuration
of `script.yaml`, and the gateway plays it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.admission import Admission
from gateway.config import parse_config
from gateway.connection import WireLimits
from gateway.evidence import Evidence
from gateway.gateway import Gateway
from gateway.identifiers import identifier
from gateway.scripted import ScriptedUpstream
from gateway.server import Server

from runner.core.gateway import GatewayConfig, PolicyChoice
from runner.core.model_script import parse_model_script
from tests.fakes.bodies import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
CONFIG = HERE / "gateway.json"
SCRIPT = HERE / "script.yaml"
SCRIPTED_CONFIG = HERE / "gateway-script.json"
FILES = ("exchanges.jsonl", "bodies.jsonl")
SCRIPTED_FILES = {"exchanges.jsonl": "exchanges-script.jsonl", "bodies.jsonl": "bodies-script.jsonl"}
# The last line of this one was cut short, as by a host that lost power.
BROKEN = "exchanges-cut.jsonl"
BROKEN_BYTES = 40

CLIENT = "golden-client"
TOOLS = [
    {"name": "Grep", "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}}},
    {
        "name": "mcp__memory__memory_search",
        "input_schema": {"type": "object", "properties": {"query": {"type": "string"}, "k": {"type": "integer"}}},
    },
]
SYSTEM = [{"type": "text", "text": "You are an agent. " * 300, "cache_control": {"type": "ephemeral"}}]
QUESTION = {"role": "user", "content": [{"type": "text", "text": "What does `send_failed` do to the state?"}]}
PASSAGES = (
    "[1] id=9 source=pkg/conn.py bytes=100-178 title=send_failed\n"
    "def send_failed(self):\n    # the state becomes ERROR, and stays so\n    self.state = ERROR"
)


def conversation(stream: bool, *more: dict[str, Any]) -> dict[str, Any]:  # noqa: FBT001
    """A request of the client."""
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1000,
        "stream": stream,
        "system": SYSTEM,
        "tools": TOOLS,
        "messages": [QUESTION, *more],
    }


def requests() -> Iterator[bytes]:
    """A turn that asks the memory, the answer, a re-send of it, a count, and one refusal of each kind."""
    use_id = identifier("toolu", "golden", 1, 1)
    use = {"type": "tool_use", "id": use_id, "name": "mcp__memory__memory_search", "input": {"query": "x"}}
    result = {"type": "tool_result", "tool_use_id": use_id, "content": PASSAGES, "cache_control": {"type": "ephemeral"}}
    second = (True, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]})
    yield post(conversation(True))
    yield post(conversation(*second))
    yield post(conversation(*second), retry=1)
    yield post({"model": "m", "messages": [QUESTION]}, path="/v1/messages/count_tokens")
    yield post({"model": "m", "max_tokens": 100, "messages": [QUESTION]}, token="golden-memory")
    yield b"HEAD /api/hello HTTP/1.1\r\nHost: gateway\r\nx-api-key: golden-client\r\nConnection: close\r\n\r\n"
    yield post({"model": "m", "max_tokens": 0, "messages": [QUESTION]})
    yield post({"model": "m", "max_tokens": 1, "messages": [QUESTION]}, token="wrong")
    yield post({"model": "m", "max_tokens": 1, "messages": [QUESTION]})


def post(body: dict[str, Any], path: str = "/v1/messages?beta=true", token: str = CLIENT, retry: int = 0) -> bytes:
    """The request on the wire."""
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: gateway\r\nx-api-key: {token}\r\n"
        f"x-stainless-retry-count: {retry}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + data


def scripted_requests() -> Iterator[bytes]:
    """One request for each rule that answers and one for none, in the order of `script.yaml`."""
    use_id = identifier("toolu", "golden", 2, 2)
    use = {"type": "tool_use", "id": use_id, "name": "Grep", "input": {"pattern": "send_failed"}}
    result = {"type": "tool_result", "tool_use_id": use_id, "content": "pkg/conn.py:3:def send_failed(self):"}
    second = ({"role": "assistant", "content": [use]}, {"role": "user", "content": [result]})
    yield post(conversation(True))
    yield post(conversation(True))
    yield post(conversation(True, *second))
    yield post(conversation(True, *second))
    yield post(conversation(False, *second), retry=1)
    yield post({"model": "m", "max_tokens": 100, "messages": [QUESTION]}, token="golden-memory")
    yield post(conversation(True, *second))
    yield post(conversation(True, *second))
    yield post({}, path="/v1/models")
    yield post(conversation(True))


def scripted_config() -> bytes:
    """The configuration that the host makes of `script.yaml`."""
    plain = GatewayConfig.from_bytes(CONFIG.read_bytes(), str(CONFIG))
    script = parse_model_script(SCRIPT.read_bytes(), str(SCRIPT))
    policy = PolicyChoice(name="script", version=1)
    return plain.model_copy(update={"policy": policy, "script": script, "request_limit": 20}).to_bytes()


async def talk(folder: Path, text: str, wanted: Iterator[bytes]) -> None:
    """The files of a gateway with that configuration are in `folder`."""
    config = parse_config(text)
    evidence = Evidence(str(folder / "gateway"), config.record_limit_bytes)
    ticks = count(1_000_000, 1_000_000)
    gateway = Gateway(
        Admission(config.tokens, config.request_limit),
        ScriptedUpstream(config.seed, config.script),
        evidence,
        config.seed,
        now_ns=lambda: next(ticks),
    )
    server = Server(gateway, WireLimits())
    await server.listen(str(folder / "s"), None)
    for request in wanted:
        reader, writer = await asyncio.open_unix_connection(str(folder / "s"))
        writer.write(request)
        await reader.read()
        writer.close()
        await writer.wait_closed()
    await server.close()
    evidence.close()


def made() -> dict[str, bytes]:
    """The golden files by name, as the code of today makes them."""
    files = written(CONFIG.read_text(), requests())
    config = scripted_config()
    scripted = written(config.decode(), scripted_requests())
    return {
        **files,
        BROKEN: files["exchanges.jsonl"][:-BROKEN_BYTES],
        SCRIPTED_CONFIG.name: config,
        **{SCRIPTED_FILES[name]: content for name, content in scripted.items()},
    }


def written(text: str, wanted: Iterator[bytes]) -> dict[str, bytes]:
    """The evidence of a gateway with that configuration."""
    with tempfile.TemporaryDirectory(prefix="gw") as folder:
        asyncio.run(talk(Path(folder), text, wanted))
        kept = Path(folder) / "gateway"
        # Bodies as they are before they are packed: how tightly that is done is no part of the format.
        packed = (kept / "bodies.jsonl.zst").read_bytes()
        return {"exchanges.jsonl": (kept / "exchanges.jsonl").read_bytes(), "bodies.jsonl": unpacked(packed)}


if __name__ == "__main__":
    for name, content in made().items():
        (HERE / name).write_bytes(content)
