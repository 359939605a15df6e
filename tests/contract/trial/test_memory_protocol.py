"""The real memory server over standard input and output, against the SDK's own client and against raw lines."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.fakes.qdrant_http import FakeQdrant, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

ROOT = Path(__file__).resolve().parents[3]
SERVER = Path(__file__).with_name("injected_memory.py")
REFERENCE = ROOT / "docs" / "reference" / "memory-server.md"
MODEL_DIR = os.environ.get("PAIRBENCH_MODEL_DIR", "")
PATIENCE_S = 60


def payload(text: str) -> dict[str, object]:
    return {"source": f"{text}.md", "start": 0, "end": len(text), "title": text.upper(), "text": text}


@pytest.fixture
def fake() -> Iterator[FakeQdrant]:
    with serving(FakeQdrant({1: ([1.0, 0.0], payload("one")), 2: ([0.0, 1.0], payload("two"))})) as running:
        yield running


def environment(fake: FakeQdrant, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PAIRBENCH_QDRANT_URL": fake.url, **more}


@asynccontextmanager
async def connected(env: dict[str, str], mode: str) -> AsyncIterator[Client]:
    with anyio.fail_after(PATIENCE_S):
        async with Client(
            StdioServerParameters(command=sys.executable, args=[str(SERVER)], env=env), mode=mode
        ) as client:
            yield client


def ask(env: dict[str, str], *calls: tuple[str, dict[str, Any]], mode: str = "legacy") -> list[tuple[bool, str]]:
    """Whether each call failed, and the text of its answer."""

    async def talk() -> list[tuple[bool, str]]:
        answers = []
        async with connected(env, mode) as client:
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                (content,) = result.content
                assert content.type == "text"
                answers.append((bool(result.is_error), content.text))
        return answers

    return anyio.run(talk)


class Raw:
    """The server as a process to which a test writes lines."""

    def __init__(self, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def greet(self) -> Any:
        client = {"name": "test", "version": "1"}
        self.send(
            id=1,
            method="initialize",
            params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
        )
        greeting = self.receive()
        self.send(method="notifications/initialized")
        return greeting

    def end(self) -> tuple[int, bytes]:
        _, log = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, log


@contextmanager
def started(env: dict[str, str]) -> Iterator[Raw]:
    server = Raw(env)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


@pytest.fixture
def raw(fake: FakeQdrant) -> Iterator[Raw]:
    with started(environment(fake)) as server:
        yield server


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_search_is_answered_under_every_version_of_the_protocol(fake: FakeQdrant, mode: str) -> None:
    """The handshake of old and the discovery of new lead to the same tools."""
    answers = ask(environment(fake), ("memory_search", {"query": "x 1 0", "k": 2}), mode=mode)
    text = "[1] id=1 source=one.md bytes=0-3 title=ONE\none\n\n[2] id=2 source=two.md bytes=0-3 title=TWO\ntwo"
    assert answers == [(False, text)]
    assert fake.requests[0][2]["query"] == [1.0, 0.0]


def test_the_tools_are_listed_as_documented(fake: FakeQdrant) -> None:
    """Names, required arguments, and nothing else allowed."""

    async def names() -> dict[str, Any]:
        async with connected(environment(fake), "legacy") as client:
            return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    schemas = anyio.run(names)
    assert list(schemas) == ["memory_search", "memory_get"]
    assert schemas["memory_search"]["required"] == ["query"]
    assert schemas["memory_get"] == {
        "type": "object",
        "properties": {"id": {"type": "integer", "description": "The id of the passage."}},
        "required": ["id"],
        "additionalProperties": False,
    }


def test_errors_are_answers_and_the_server_goes_on(fake: FakeQdrant) -> None:
    """A wrong call, an unknown passage, an unknown tool: then a right one."""
    answers = ask(
        environment(fake),
        ("memory_search", {}),
        ("memory_get", {"id": 77}),
        ("memory_fly", {"query": "x"}),
        ("memory_get", {"id": 2}),
    )
    assert answers == [
        (True, "memory_search: query: expected some words to look for"),
        (True, "memory_get: id: there is no passage 77; use an id that memory_search returned"),
        (True, "There is no tool 'memory_fly'; there are memory_search and memory_get."),
        (False, "id=2 source=two.md bytes=0-3 title=TWO\ntwo"),
    ]


def test_a_qdrant_that_is_away_is_an_answer(fake: FakeQdrant) -> None:
    """The tools are there, each call says what is wrong."""
    env = {**environment(fake), "PAIRBENCH_QDRANT_URL": "http://127.0.0.1:9"}
    text = "the memory at http://127.0.0.1:9 is not reachable: [Errno 111] Connection refused"
    assert ask(env, ("memory_search", {"query": "1"}), ("memory_get", {"id": 1})) == [
        (True, f"memory_search: {text}"),
        (True, f"memory_get: {text}"),
    ]


def test_a_model_that_cannot_be_loaded_is_an_answer(fake: FakeQdrant) -> None:
    """Passages can still be read."""
    answers = ask(environment(fake, FAULT="load"), ("memory_search", {"query": "1"}), ("memory_get", {"id": 1}))
    assert answers == [
        (True, "memory_search: unexpected FileNotFoundError: no model here"),
        (False, "id=1 source=one.md bytes=0-3 title=ONE\none"),
    ]


def test_tools_are_listed_while_the_model_loads(fake: FakeQdrant) -> None:
    """Loading that never ends keeps neither the list nor a passage waiting, nor the process from ending."""
    with started(environment(fake, FAULT="slow")) as raw:
        raw.greet()
        raw.send(id=2, method="tools/list", params={})
        assert [tool["name"] for tool in raw.receive()["result"]["tools"]] == ["memory_search", "memory_get"]
        raw.send(id=3, method="tools/call", params={"name": "memory_search", "arguments": {"query": "1"}})
        raw.send(id=4, method="tools/call", params={"name": "memory_get", "arguments": {"id": 1}})
        assert raw.receive()["id"] == 4
        assert raw.end() == (0, b"")


def test_a_client_that_closes_its_end_ends_the_server(raw: Raw) -> None:
    """Nothing is left behind, and nothing is complained about."""
    greeting = raw.greet()
    assert greeting["result"]["serverInfo"] == {"name": "memory", "version": "1"}
    assert raw.end() == (0, b"")


def test_lines_that_are_no_messages_do_no_harm(raw: Raw) -> None:
    """Rubbish, wrong encodings and unknown methods are survived."""
    raw.greet()
    raw.write(b"rubbish")
    raw.write(b'{"jsonrpc": "2.0", "id": 5}')
    raw.write(b"\xff\xfe\x00")
    raw.write(b"[" * 20_000)
    raw.send(id=6, method="no/such", params={})
    raw.send(id=7, method="tools/call", params={"name": "memory_get", "arguments": {"id": 2}})
    answers = {}
    while 7 not in answers:
        answer = raw.receive()
        answers[answer.get("id")] = answer
    assert answers[6]["error"]["code"] == -32601
    assert answers[7]["result"]["isError"] is False


def test_arguments_that_are_no_object_do_no_harm(raw: Raw) -> None:
    """The protocol refuses them, and the server goes on."""
    raw.greet()
    raw.send(id=2, method="tools/call", params={"name": "memory_search", "arguments": ["x"]})
    assert raw.receive()["error"]["code"] == -32602
    raw.send(id=3, method="tools/call", params={"name": "memory_search", "arguments": None})
    assert raw.receive()["result"]["isError"] is True


def test_a_text_that_has_no_utf8_is_answered(raw: Raw, fake: FakeQdrant) -> None:
    """Half a surrogate pair goes in and comes out as a question mark."""
    fake.points[3] = ([1.0, 1.0], payload("a\ud800"))
    raw.greet()
    raw.write(
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_get","arguments":{"id":3}}}',
    )
    assert raw.receive()["result"]["content"][0]["text"].endswith("\na?")


def test_a_wrong_address_ends_it_with_a_word() -> None:
    """Before it promises any tool."""
    done = subprocess.run(
        [sys.executable, str(SERVER)],
        env={"PATH": os.environ["PATH"], "PAIRBENCH_QDRANT_URL": "ftp://x"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        2,
        b"memory: PAIRBENCH_QDRANT_URL: expected http://host:port, found 'ftp://x'\n",
    )


def test_the_documented_wheels_are_what_a_running_server_imports(fake: FakeQdrant, tmp_path: Path) -> None:
    """The list of the reference page is closed, and the three of the model are the only ones not seen here."""
    path = tmp_path / "modules.json"
    ask(environment(fake, MODULES=str(path)), ("memory_search", {"query": "1 0"}))
    owners = importlib.metadata.packages_distributions()
    imported = {
        _normal(owners[name.partition(".")[0]][0])
        for name, file in json.loads(path.read_text(encoding="utf-8")).items()
        if file and "site-packages" in file and name.partition(".")[0] in owners
    }
    documented = set(re.findall(r"^\| ([a-z-]+) \| [0-9.]+ \|$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE))
    assert documented - imported == {"numpy", "onnxruntime", "tokenizers"}
    # What only this environment has: `_distutils_hack`, which every interpreter here loads, and an option of anyio's.
    assert imported - documented <= {"setuptools", "sniffio"}


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def test_the_shortened_import_gives_the_sdks_own_modules() -> None:
    """Every module of the SDK that the server runs has the file that it has when the whole SDK is imported."""
    program = """
import json, sys
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "short":
    from memory import sdk
    sdk.open_packages()
else:
    import mcp
from memory import serving
print(json.dumps({n: m.__file__ for n, m in sys.modules.items() if n.startswith("mcp") and getattr(m, "__file__", None)}))
"""

    def files(how: str) -> dict[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", program, str(ROOT / "images" / "trial"), how],
            capture_output=True,
            check=True,
        )
        loaded: dict[str, str] = json.loads(done.stdout)
        return loaded

    short, whole = files("short"), files("whole")
    assert {name: whole.get(name) for name in short} == short
    assert "mcp.server.mcpserver" in whole
    assert "mcp.server.mcpserver" not in short


@pytest.mark.skipif(not MODEL_DIR, reason="PAIRBENCH_MODEL_DIR names no folder with model.onnx and tokenizer.json")
def test_the_model_itself_answers(fake: FakeQdrant) -> None:
    """A query becomes 384 components of length one."""
    fake.points = {5: ([1.0] + [0.0] * 383, payload("five"))}
    env = environment(fake, PAIRBENCH_MODEL_DIR=MODEL_DIR)
    done = subprocess.Popen(
        [sys.executable, str(ROOT / "images" / "trial" / "memory" / "server.py")],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert done.stdin is not None
    assert done.stdout is not None
    call = {"name": "memory_search", "arguments": {"query": "That is a happy person"}}
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    for number, (method, params) in enumerate([("initialize", client), ("tools/call", call)]):
        done.stdin.write(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
        )
        done.stdin.flush()
        answer = json.loads(done.stdout.readline())
    done.communicate()
    assert answer["result"]["content"][0]["text"] == "[1] id=5 source=five.md bytes=0-4 title=FIVE\nfive"
    vector = fake.requests[-1][2]["query"]
    assert len(vector) == 384
    assert abs(sum(component * component for component in vector) - 1) < 1e-6
