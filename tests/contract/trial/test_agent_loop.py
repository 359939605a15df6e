"""The agent loop as a process, against the gateway's scripted model: real SDKs, real files, a real MCP server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGES = Path(__file__).parents[3] / "images"
LOOP = IMAGES / "trial" / "messages" / "main.py"
GATEWAY = IMAGES / "gateway" / "gateway" / "main.py"
TOKENS = {"client": "client-token-0000000", "memory": "memory-token-0000000"}

# A memory of one passage, in the fewest lines that speak the protocol.
SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    tool = {"name": "memory_search", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}
    passage = "[1] id=7 source=limits.md bytes=0-40 title=limits.md\\n# Header limit\\nThe header limit is 8 KB.\\n"
    result = {
        "initialize": {
            "protocolVersion": message.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "memory", "version": "1"},
        },
        "tools/list": {"tools": [tool, {**tool, "name": "other"}]},
        "tools/call": {"content": [{"type": "text", "text": passage}], "isError": False},
    }.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@contextmanager
def gateway(folder: Path, request_limit: int = 20) -> Iterator[str]:
    """The address of a gateway whose evidence is in `folder`."""
    config = {
        "format": "pairbench/gateway-config",
        "version": 1,
        "mode": "scripted",
        "socket": str(folder / "run" / "gateway.sock"),
        "evidence_dir": str(folder / "evidence"),
        "tokens": TOKENS,
        "policy": {"name": "plain-agent", "version": 1},
        "seed": "loop",
        "record_limit_bytes": 1 << 24,
        "request_limit": request_limit,
    }
    path = folder / "gateway.json"
    path.write_text(json.dumps(config))
    command = [sys.executable, str(GATEWAY), str(path), "--tcp", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://{json.loads(process.stdout.readline())['tcp']}"
        finally:
            process.terminate()


def started(
    folder: Path, url: str, servers: dict[str, Any] | None = None, **changes: Any
) -> subprocess.CompletedProcess[str]:
    """The loop, after it has ended."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "limits.md").write_text("# Header limit\nThe header limit is 8 KB.\n")
    config = {
        "format": "pairbench/messages",
        "version": 1,
        "model": "claude-sonnet-4-5",
        "tools": ["read_file", "grep", "glob"],
        "mcp_tools": ["mcp__memory__memory_search"],
        "max_turns": None,
        "max_output_tokens": 4096,
        "max_retries": 0,
        "server_start_ms": 30_000,
        "workspace": str(workspace),
        "instructions": False,
    }
    (folder / "messages.json").write_text(json.dumps(config | changes))
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers or {}}))
    (folder / "prompt.txt").write_text("What is the header limit?")
    environment = {
        "ANTHROPIC_API_KEY": TOKENS["client"],
        "ANTHROPIC_BASE_URL": url,
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
    }
    return subprocess.run(
        [sys.executable, str(LOOP), str(folder / "messages.json")],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def events(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What it said."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def server(*command: str) -> dict[str, Any]:
    """A memory that is started so."""
    return {"memory": {"command": command[0], "args": list(command[1:]), "env": {"LEVEL": "1"}}}


def test_the_loop_searches_reads_and_answers(tmp_path: Path) -> None:
    """Its events begin with the start and end with the result, and its usage is what the gateway saw."""
    with gateway(tmp_path) as url:
        done = started(tmp_path, url)
    found = events(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert found[0] == {
        "type": "start",
        "format": "pairbench/messages-events",
        "version": 1,
        "client": "1",
        "sdk": found[0]["sdk"],
        "model": "claude-sonnet-4-5",
        "tools": ["read_file", "grep", "glob"],
        "servers": [],
    }
    assert [event["name"] for event in found if event["type"] == "tool_result"] == ["grep", "read_file"]
    assert "The header limit is 8 KB." in found[-1]["answer"]
    exchanges = [json.loads(line) for line in (tmp_path / "evidence" / "exchanges.jsonl").read_text().splitlines()]
    (spent,) = found[-1]["usage"]
    assert (spent["model"], spent["requests"]) == ("scripted-policy (fixture)", 3)
    for name in exchanges[0]["usage"]:
        assert spent[name] == sum(exchange["usage"][name] for exchange in exchanges), name


def test_the_loop_asks_its_servers(tmp_path: Path) -> None:
    """Only tools that it was told of are offered."""
    with gateway(tmp_path) as url:
        done = started(tmp_path, url, server(sys.executable, "-c", SERVER))
    found = events(done)
    assert (done.returncode, found[0]["servers"]) == (0, [{"name": "memory", "status": "connected"}])
    assert found[0]["tools"] == ["read_file", "grep", "glob", "mcp__memory__memory_search"]
    assert [event["name"] for event in found if event["type"] == "tool_result"] == ["mcp__memory__memory_search"]
    assert "limits.md#bytes=0-40" in found[-1]["answer"]


@pytest.mark.parametrize(
    ("command", "start_ms"),
    [(("/nonexistent/server",), 30_000), (("/bin/false",), 30_000), (("/bin/sleep", "60"), 300), (("/bin/cat",), 300)],
)
def test_without_its_servers_the_loop_asks_nobody(tmp_path: Path, command: tuple[str, ...], start_ms: int) -> None:
    """One that isn't there, dies, hangs, or speaks something else: the start says that it failed."""
    with gateway(tmp_path) as url:
        done = started(tmp_path, url, server(*command), server_start_ms=start_ms)
    found = events(done)
    assert (done.returncode, found[0]["servers"]) == (1, [{"name": "memory", "status": "failed"}])
    assert (found[-1]["outcome"], found[-1]["error"]["message"]) == ("server_failed", "not connected: memory")
    assert (tmp_path / "evidence" / "exchanges.jsonl").read_bytes() == b""


def test_a_refusal_of_the_gateway_reaches_the_result(tmp_path: Path) -> None:
    """With its status, after one request."""
    with gateway(tmp_path, request_limit=1) as url:
        done = started(tmp_path, url)
    assert (done.returncode, events(done)[-1]["error"]) == (
        1,
        {
            "status": 402,
            "type": "billing_error",
            "message": "Pairbench refused this request: the limit of 1 model requests is reached.",
        },
    )


def test_a_wrong_configuration_ends_the_loop_before_any_event(tmp_path: Path) -> None:
    """Exit code 2 and one line."""
    done = started(tmp_path, "http://127.0.0.1:9", tools=["Read"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("no tool is called 'Read'; there are glob, grep, read_file\n")


def test_the_loop_says_its_version_and_the_sdk_s() -> None:
    """The lock of a run holds both."""
    done = subprocess.run([sys.executable, str(LOOP), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1+anthropic-")


def test_names_found_late_are_the_sdk_s_own() -> None:
    """Packages that don't run their initializers give the same objects as those that do, for half the modules."""
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from messages.lazy import make_lazy
if sys.argv[2] == "late":
    make_lazy("anthropic", "mcp")
import anthropic, mcp.client.session, mcp.client.stdio
for name in ("AsyncAnthropic", "APIStatusError", "APIConnectionError", "AnthropicError", "DefaultAsyncHttpxClient"):
    found = getattr(anthropic, name)
    print(name, issubclass(found, Exception), sorted(vars(found)))
print(len(sys.modules), file=sys.stderr)
"""
    late, early = (
        subprocess.run(
            [sys.executable, "-c", program, str(IMAGES / "trial"), how], capture_output=True, text=True, check=True
        )
        for how in ("late", "early")
    )
    assert late.stdout == early.stdout != ""
    assert int(late.stderr) * 2 < int(early.stderr)
