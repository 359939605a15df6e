"""Every recorded stream of the agent loop ends in the outcome and the usage that its case has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.collect.attempt import AttemptResult, collect_attempt
from runner.core.evidence import Expectation
from runner.core.launch import McpServer
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES
from tests.fakes.attempts import SIDECAR_ID, Attempt, container, exchange, exit_report, lines

SAMPLES = Path(__file__).parents[2] / "golden" / "events" / "messages"
MODEL = "claude-sonnet-4-5"
DATED = "claude-sonnet-4-5-20250929"
NONE: tuple[int, ...] = ()
ONE_CALL = (1000, 50, 3000, 500, 1500)
TWO_CALLS = (2000, 100, 6000, 1000, 3000)
OK = "completed"
FAILED = "provider_error"
READ = (("read_file", 1, 0),)


@dataclass(frozen=True)
class Case:
    """One sample and what it has to become."""

    name: str
    exit_code: int
    outcome: str
    reason: str
    """How the reason begins."""
    tokens: tuple[int, ...] = NONE
    turns: int = 0
    retries: int = 0
    tools: tuple[tuple[str, int, int], ...] = ()
    server: bool = False


CASES = (
    Case("success", 0, OK, "", TWO_CALLS, 2, tools=READ),
    Case("success_mcp", 0, OK, "", TWO_CALLS, 2, tools=(("mcp__fix__memory_search", 1, 0),), server=True),
    Case("thinking", 0, OK, "", ONE_CALL, 1),
    Case("usage_missing", 0, OK, "", NONE, 1),
    Case("no_such_tool", 0, OK, "", TWO_CALLS, 2, tools=(("nothing", 1, 1),)),
    # Asked for a file outside the workspace.
    Case("outside", 0, OK, "", TWO_CALLS, 2, tools=(("read_file", 1, 1),)),
    Case("status_529_once", 0, OK, "", ONE_CALL, 1, retries=1),
    Case("server_failed", 1, "infrastructure", "the MCP server fix wasn't connected: failed", server=True),
    Case(
        "max_turns",
        1,
        "cap_exceeded",
        "the limit of 3 turns is reached",
        (3000, 150, 9000, 1500, 4500),
        3,
        tools=(("read_file", 3, 0),),
    ),
    Case("max_tokens", 1, "cap_exceeded", "the model stopped with max_tokens", ONE_CALL, 1),
    Case("refusal", 1, FAILED, "the model refused: the model stopped with refusal", ONE_CALL, 1),
    Case("status_400", 1, FAILED, "status 400: provider says 400"),
    Case("status_401", 1, FAILED, "status 401: provider says 401"),
    Case("status_429", 1, FAILED, "status 429: provider says 429", retries=2),
    Case("status_529", 1, FAILED, "status 529: provider says 529", retries=2),
    Case("error_event", 1, FAILED, "Overloaded"),
    Case("stream_cut", 1, FAILED, "the answer broke off: RemoteProtocolError"),
    Case("stream_short", 1, FAILED, "the answer broke off"),
    Case("unreachable", 1, FAILED, "Connection error.", retries=2),
)


def collected(case: Case) -> AttemptResult:
    """The sample in a pod in which all else went well."""
    servers = (McpServer("fix", ("python3",), {}, ("memory_search",)),) if case.server else ()
    usage = dict(zip(TOKEN_CLASSES, case.tokens, strict=True)) if case.tokens else {"unavailable": "none in the answer"}
    attempt = Attempt(
        expectation=Expectation("messages", MODEL, ("read_file", "grep", "glob"), servers, sidecar=case.server),
        stdout=(SAMPLES / f"{case.name}.jsonl").read_bytes(),
        exit=exit_report(exit_code=case.exit_code),
        exchanges=lines(exchange(1, model_resolved=DATED, usage=usage)) if case.outcome == OK else b"",
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}" if case.server else "none"),
    )
    return collect_attempt(attempt.evidence())


def test_every_sample_of_the_loop_stands_in_the_table() -> None:
    """No recorded stream is left out."""
    assert sorted(case.name for case in CASES) == sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sample_of_the_loop_ends_as_its_case_says(case: Case) -> None:
    """Outcome, reason and answer follow from its result."""
    result = collected(case)
    assert (result.outcome, result.answer) == (case.outcome, "The answer is 42." if case.outcome == OK else "")
    assert result.reason.startswith(case.reason)
    assert result.reason == "" or case.outcome != OK


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sample_of_the_loop_reports_what_its_case_says(case: Case) -> None:
    """Usage by class and by the model that answered, turns, tools and retries; never a cost."""
    result = collected(case)
    measured = [
        tuple(quantity.value for name in TOKEN_CLASSES if isinstance(quantity := usage.tokens(name), Measured))
        for usage in result.reported
    ]
    assert [tokens for tokens in measured if tokens] == ([case.tokens] if case.tokens else [])
    assert all(usage.model == DATED for usage in result.reported)
    assert isinstance(result.reported_cost_microusd, Unavailable)
    assert result.turns == Measured(case.turns)
    assert [(call.name, call.calls, call.errors) for call in result.tool_calls] == list(case.tools)
    retried = [found.detail for found in result.findings if found.kind == "client_retries"]
    assert retried == ([f"model requests were tried again: {case.retries}"] if case.retries else [])


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        # A dated name is the alias that was asked for.
        ("success", []),
        # Of the client, and of the gateway.
        ("usage_missing", ["usage_missing", "usage_missing"]),
        ("status_529_once", ["client_retries"]),
    ],
)
def test_what_a_reader_of_the_loop_must_know_is_found(name: str, kinds: list[str]) -> None:
    """A sample gives the findings of its case and no others."""
    assert [found.kind for found in collected(next(case for case in CASES if case.name == name)).findings] == kinds
