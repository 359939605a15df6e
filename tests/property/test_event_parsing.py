"""No stream, however damaged, makes parsing or collection raise or write what can't be read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.clients.claude_code import ClaudeCode
from runner.clients.claude_events import claude_events
from runner.clients.client import Ending
from runner.clients.command import Command
from runner.collect.attempt import collect_attempt
from runner.collect.record import make_record
from runner.core.events import Corrupt
from runner.core.evidence import AttemptEvidence
from runner.core.plan import PlannedTrial
from runner.core.records import Record
from tests.fakes.attempts import Attempt, exchange, good_control, good_treatment, init, lines, result

SAMPLES = Path(__file__).parents[1] / "golden" / "events" / "claude-code"
PLANNED = PlannedTrial(trial="t.r1.on", block="t.r1", task="t", arm="on", repetition=1, position=0, sequence=0)
SHORT = lines(init(), result())

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    [
        "subtype",
        "is_error",
        "terminal_reason",
        "result",
        "errors",
        "modelUsage",
        "num_turns",
        "total_cost_usd",
        "permission_denials",
        "api_error_status",
        "message",
        "tools",
        "mcp_servers",
        "model",
        "attempt",
        "tool_use_id",
        "original_model",
    ]
)
kinds = st.sampled_from(["system", "assistant", "user", "result", "rate_limit_event", "x"])
subtypes = st.sampled_from(["init", "api_retry", "permission_denied", "model_fallback", "success", "x"])


@st.composite
def odd_events(draw: st.DrawFn) -> dict[str, Any]:
    """An event of a known kind whose members are anything at all."""
    event: dict[str, Any] = draw(st.dictionaries(keys, values, max_size=6))
    return event | {"type": draw(kinds), "subtype": draw(subtypes)}


@st.composite
def changed_results(draw: st.DrawFn) -> dict[str, Any]:
    """A good result with some members exchanged for anything at all."""
    return result() | draw(st.dictionaries(keys, values, max_size=3))


def written(attempt: Attempt) -> bytes:
    """The record of an attempt, as it is written down; reading it gives it back."""
    record = make_record(PLANNED, [collect_attempt(attempt.evidence())])
    data = record.to_bytes()
    assert Record.from_bytes(data, "record").to_bytes() == data
    return data


@pytest.mark.parametrize("name", ["success", "max_turns", "success_subagent"])
def test_a_stream_cut_at_any_byte_is_read(name: str) -> None:
    """At most its last line is damaged, and without its result it holds none."""
    stream = (SAMPLES / f"{name}.jsonl").read_bytes()
    whole = stream.rindex(b"\n", 0, -1) + 1
    for end in range(len(stream)):
        damaged = [event for event in claude_events(stream[:end]) if isinstance(event, Corrupt)]
        assert len(damaged) <= 1, end
        if end <= whole and name != "success_subagent":
            assert ClaudeCode().parse(stream[:end], b"").ending is Ending.UNSAID, end


@pytest.mark.parametrize("name", ["exit.json", "engine.json", "exchanges.jsonl"])
def test_evidence_cut_within_a_document_is_invalid(name: str) -> None:
    """A raw file that ends anywhere but after a whole document never leaves a completed trial."""
    attempt = good_treatment()
    whole = attempt.files()[name]
    ends = [end for end in range(len(whole) - 1) if whole[end - 1 : end] != b"\n"]
    ends = [*ends[::7], ends[-1]]
    assert len(ends) > 60
    for end in ends:
        evidence = AttemptEvidence({**attempt.files(), name: whole[:end]}, attempt.expectation)
        assert collect_attempt(evidence).outcome == "evidence_invalid", end


@given(st.binary(max_size=300))
def test_any_bytes_are_read_by_any_client(stream: bytes) -> None:
    """Neither client raises, and what they say can be written down."""
    ClaudeCode().parse(stream, stream)
    Command().parse(stream, stream)
    written(good_control().but(stdout=stream, stderr=stream))


@given(st.lists(odd_events() | changed_results(), max_size=4))
def test_any_members_of_known_events_are_read(events: list[dict[str, Any]]) -> None:
    """An event of a known kind and an unknown shape is damage and nothing worse."""
    stream = lines(init()) + b"".join(json.dumps(event).encode() + b"\n" for event in events) + lines(result())
    written(good_control().but(stdout=stream))


@given(st.dictionaries(st.sampled_from(sorted(exchange(1))), values, max_size=3))
def test_any_members_of_an_exchange_are_read(changes: dict[str, Any]) -> None:
    """The gateway's log is read line by line like any other evidence."""
    line = json.dumps(exchange(1) | changes).encode() + b"\n"
    written(good_control().but(exchanges=line + lines(exchange(2))))


@given(st.integers(min_value=0, max_value=len(SHORT) - 1), st.integers(min_value=0, max_value=255))
def test_one_changed_byte_is_read(position: int, value: int) -> None:
    """Wherever it stands."""
    changed = SHORT[:position] + bytes([value]) + SHORT[position + 1 :]
    written(good_control().but(stdout=changed))
