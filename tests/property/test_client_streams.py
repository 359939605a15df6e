"""No stream of Codex or of the agent loop, however damaged, raises or becomes what can't be written down again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.clients.client import Ending
from runner.clients.codex import Codex
from runner.clients.codex_events import CodexStream
from runner.clients.codex_wire import offered_tools
from runner.clients.messages import Messages
from runner.clients.messages_events import messages_events
from runner.collect.attempt import collect_attempt
from runner.collect.record import make_record
from runner.core.events import Corrupt
from runner.core.evidence import Expectation
from runner.core.launch import McpServer
from runner.core.plan import PlannedTrial
from runner.core.records import Record
from tests.fakes.attempts import SIDECAR_ID, Attempt, container, exchange, lines

if TYPE_CHECKING:
    from runner.clients.client import ClientReport

SAMPLES = Path(__file__).parents[1] / "golden" / "events"
PLANNED = PlannedTrial(trial="t.r1.on", block="t.r1", task="t", arm="on", repetition=1, position=0, sequence=0)
FIX = McpServer("fix", ("x",), {}, ("lookup",))

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = {
    "codex": ["item", "usage", "error", "message", "thread_id"],
    "messages": [
        "outcome",
        "answer",
        "turns",
        "error",
        "usage",
        "tools",
        "servers",
        "content",
        "model",
        "id",
        "attempt",
    ],
}
KINDS = {
    "codex": ["item.started", "item.completed", "turn.completed", "turn.failed", "error", "x"],
    "messages": ["start", "assistant", "tool_result", "retry", "result", "x"],
}
INNER = [
    "id",
    "type",
    "text",
    "server",
    "tool",
    "status",
    "input_tokens",
    "output_tokens",
    "message",
    "name",
    "requests",
]


@st.composite
def odd_streams(draw: st.DrawFn, kind: str) -> bytes:
    """Events of known kinds whose members are anything at all, or objects with members that matter."""
    inner = st.dictionaries(st.sampled_from(INNER), values, max_size=5)
    members = st.dictionaries(st.sampled_from(MEMBERS[kind]), values | inner | st.lists(inner, max_size=2), max_size=6)
    events = draw(st.lists(st.tuples(members, st.sampled_from(KINDS[kind])), max_size=5))
    return b"".join(json.dumps(event | {"type": name}).encode() + b"\n" for event, name in events)


def parsed(kind: str, stream: bytes, stderr: bytes = b"") -> ClientReport:
    """The client's report."""
    return (Codex() if kind == "codex" else Messages()).parse(stream, stderr)


def written(kind: str, stream: bytes, *tools: str) -> None:
    """The record of an attempt with that output can be written down and read again."""
    expectation = Expectation(kind, "m", (), (FIX,), sidecar=True)
    attempt = Attempt(
        expectation=expectation,
        stdout=stream,
        stderr=stream[-300:],
        exchanges=lines(exchange(1, tools=list(tools))),
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}"),
    )
    data = make_record(PLANNED, [collect_attempt(attempt.evidence())]).to_bytes()
    assert Record.from_bytes(data, "record").to_bytes() == data


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("codex", "mcp"),
        ("codex", "command_failed"),
        ("codex", "status_503"),
        ("messages", "success_mcp"),
        ("messages", "max_turns"),
        ("messages", "status_529_once"),
    ],
)
def test_a_stream_of_any_client_cut_at_any_byte_is_read(kind: str, name: str) -> None:
    """At most its last line is damaged, and without its end it holds no result."""
    stream = (SAMPLES / kind / f"{name}.jsonl").read_bytes()
    whole = stream.rindex(b"\n", 0, -1) + 1
    for end in range(len(stream)):
        events = CodexStream().events(stream[:end]) if kind == "codex" else messages_events(stream[:end])
        assert sum(isinstance(event, Corrupt) for event in events) <= 1, end
        if end <= whole:
            assert parsed(kind, stream[:end]).ending is Ending.UNSAID, end


@pytest.mark.parametrize("kind", ["codex", "messages"])
def test_a_stream_nested_without_end_is_damage_to_any_client(kind: str) -> None:
    """It can't exhaust the reader's stack."""
    assert parsed(kind, b'{"type":' * 100_000 + b"\n").corrupt_lines == 1


@given(st.sampled_from(["codex", "messages"]), st.binary(max_size=300))
def test_any_bytes_are_a_stream_of_any_client(kind: str, stream: bytes) -> None:
    """Output and standard error alike."""
    written(kind, stream)
    parsed(kind, stream, b"required MCP servers failed to initialize: " + stream)


@given(odd_streams("codex"))
def test_any_members_of_codex_events_are_read(stream: bytes) -> None:
    """An event of a known kind and an unknown shape is damage and nothing worse."""
    written("codex", stream)


@given(odd_streams("messages"))
def test_any_members_of_the_loop_s_events_are_read(stream: bytes) -> None:
    """An event of a known kind and an unknown shape is damage and nothing worse."""
    written("messages", stream)


@given(st.lists(st.text(max_size=20) | st.text(max_size=20).map("mcp__fix/{}".format), max_size=5))
def test_any_names_are_tools_of_servers_or_not(tools: list[str]) -> None:
    """What a hostile client sends to the gateway is read like its stream."""
    written("codex", b"", *tools)
    assert len(offered_tools(tools, (FIX,))) == sum(tool.startswith("mcp__") and "/" in tool for tool in tools)
