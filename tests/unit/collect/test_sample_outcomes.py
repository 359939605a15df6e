"""Every recorded stream of Claude Code ends in the outcome and the usage that its case has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.collect.attempt import collect_attempt
from runner.core.evidence import Expectation
from runner.core.launch import McpServer
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES
from tests.fakes.attempts import MODEL, SIDECAR_ID, Attempt, container, exchange, exit_report, lines

SAMPLES = Path(__file__).parents[2] / "golden" / "events" / "claude-code"

FILE_TOOLS = ("Read", "Grep", "Glob")
NONE: tuple[int, ...] = ()
TWO_CALLS = (2000, 100, 6000, 1000, 3000)
NO_USAGE = "the client reported no usage"
NO_RESULT = "the client gave no result"


@dataclass(frozen=True)
class Case:
    """One sample and what it has to become."""

    name: str
    exit_code: int
    outcome: str
    reason: str
    """How the reason begins."""
    answer: str
    tokens: tuple[int, ...]
    """Reported: input, output, cache read, cache write 5 m, 1 h; none when nothing was reported."""
    cost_microusd: int | str
    turns: int | str
    retries: int = 0
    tools: tuple[str, ...] = FILE_TOOLS
    server: bool = False


OK = "completed"
CASES = (
    Case("success", 0, OK, "", "The answer is 42.", TWO_CALLS, 34155, 2),
    Case("success_grep", 0, OK, "", "Found.", TWO_CALLS, 34155, 2),
    Case("success_partial", 0, OK, "", "The answer is 42.", TWO_CALLS, 34155, 2),
    Case("success_thinking", 0, OK, "", "The answer is 42.", TWO_CALLS, 34155, 2),
    Case("success_mcp", 0, OK, "", "MCP says 42.", TWO_CALLS, 34155, 2, server=True),
    # Two results, whose models are cumulative and whose turns are not.
    Case("success_subagent", 0, OK, "", "Main done.", (5000, 250, 15000, 2500, 7500), 85388, 3, tools=("Task", "Read")),
    Case("docker_det_a", 0, OK, "", "The answer is 42.", TWO_CALLS, 34155, 2),
    Case("docker_det_b", 0, OK, "", "The answer is 42.", TWO_CALLS, 34155, 2),
    Case("fmt_json", 0, OK, "", "The answer is 42.", TWO_CALLS, 34155, 2),
    Case("bad_tool", 0, OK, "", "ok", TWO_CALLS, 34155, 2),
    Case("write_denied", 0, OK, "", "wrote?", TWO_CALLS, 34155, 2),
    Case("mcp_denied", 0, OK, "", "MCP says 42.", TWO_CALLS, 34155, 2, server=True),
    Case("stop_empty", 0, OK, "", "", TWO_CALLS, 34155, 2),
    # The client counts two of the three answers that were cut.
    Case("stream_cut", 0, OK, "", "x" * 200, (4000, 102, 12000, 2000, 6000), 66693, 2, retries=2),
    Case("usage_minimal", 0, OK, "", "The answer is 42.", (2000, 100, 0, 0, 0), 7500, 2),
    Case(
        "usage_missing", 0, OK, "", "The answer is 42.", NONE, "the client reported neither input nor output tokens", 2
    ),
    Case(
        "mcp_nocmd",
        0,
        "infrastructure",
        "the MCP server fix wasn't connected: failed",
        "",
        TWO_CALLS,
        34155,
        2,
        server=True,
    ),
    Case(
        "mcp_delay8_timeout3",
        0,
        "infrastructure",
        "the MCP server fix wasn't connected: pending",
        "",
        TWO_CALLS,
        34155,
        2,
        server=True,
    ),
    Case("api_400_toolong", 1, "provider_error", "status 400: Prompt is too long", "", NONE, NO_USAGE, 1),
    Case("api_401_retries2", 1, "provider_error", "status 401: Invalid API key", "", NONE, NO_USAGE, 1, retries=2),
    Case("api_403", 1, "provider_error", "status 403: Failed to authenticate", "", NONE, NO_USAGE, 1),
    Case("api_404_model", 1, "provider_error", "status 404: There's an issue", "", NONE, NO_USAGE, 1),
    Case("api_429_retries2", 1, "provider_error", "status 429: API Error", "", NONE, NO_USAGE, 1, retries=2),
    Case("api_529_retries2", 1, "provider_error", "status 529: API Error", "", NONE, NO_USAGE, 1, retries=2),
    Case("api_529_fallback", 1, "provider_error", "status 529: API Error", "", NONE, NO_USAGE, 1, retries=4),
    Case(
        "api_529_turn2_retries2",
        1,
        "provider_error",
        "status 529: API Error",
        "",
        (1000, 50, 3000, 500, 1500),
        17078,
        2,
        retries=2,
    ),
    Case("docker_unreachable", 1, "provider_error", "connection_failed: API Error", "", NONE, NO_USAGE, 1, retries=1),
    Case("stop_refusal", 1, "provider_error", "the model refused: API Error", "", TWO_CALLS, 34155, 2),
    Case(
        "stop_max_tokens",
        1,
        "cap_exceeded",
        "API Error: Claude's response exceeded the 32000 output token maximum",
        "",
        (4000, 200, 12000, 2000, 6000),
        68310,
        4,
    ),
    Case(
        "max_turns",
        1,
        "cap_exceeded",
        "Reached maximum number of turns (3)",
        "",
        (3000, 150, 9000, 1500, 4500),
        51233,
        4,
    ),
    # Its usage leaves the call out that crossed the limit; its models hold it.
    Case(
        "max_budget",
        1,
        "cap_exceeded",
        "Reached maximum budget ($0.5)",
        "",
        (100000, 10000, 3000, 500, 1500),
        507953,
        1,
    ),
    Case("max_budget_ok", 1, "cap_exceeded", "Reached maximum budget ($0.02)", "", TWO_CALLS, 34155, 2),
    # An interrupted client ends with exit code 0.
    Case("kill_midstream_int", 0, "client_error", "aborted_streaming: ", "", (2000, 75, 6000, 1000, 3000), 33743, 3),
    Case(
        "kill_mcp_kill",
        -9,
        "client_error",
        "the client ended with signal 9",
        "",
        NONE,
        NO_RESULT,
        NO_RESULT,
        server=True,
    ),
    Case(
        "kill_mcp_term",
        143,
        "client_error",
        "the client ended with exit code 143",
        "",
        NONE,
        NO_RESULT,
        NO_RESULT,
        server=True,
    ),
    Case(
        "bad_flag",
        1,
        "client_error",
        "the client ended with exit code 1: error: unknown option '--no-such-flag'",
        "",
        NONE,
        NO_RESULT,
        NO_RESULT,
    ),
)


def attempt_of(case: Case) -> Attempt:
    """The sample in a pod in which all else went well."""
    stderr = SAMPLES / f"{case.name}.stderr"
    killed = case.exit_code < 0
    servers = (McpServer("fix", ("python3",), {}, ("lookup", "slow")),) if case.server else ()
    usage = dict(zip(TOKEN_CLASSES, case.tokens, strict=True)) if case.tokens else {"unavailable": "none in the answer"}
    return Attempt(
        expectation=Expectation("claude-code", MODEL, case.tools, servers, sidecar=case.server),
        stdout=(SAMPLES / f"{case.name}.jsonl").read_bytes(),
        stderr=stderr.read_bytes() if stderr.exists() else b"",
        exit=exit_report(exit_code=None if killed else case.exit_code, signal=-case.exit_code if killed else None),
        exchanges=lines(exchange(1, usage=usage)) if case.outcome in {OK, "infrastructure"} else b"",
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}" if case.server else "none"),
    )


def test_every_sample_stands_in_the_table() -> None:
    """No recorded stream is left out."""
    assert sorted(case.name for case in CASES) == sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sample_ends_as_its_case_says(case: Case) -> None:
    """Outcome, reason and answer follow from the result, never from subtype or exit code alone."""
    result = collect_attempt(attempt_of(case).evidence())
    assert result.outcome == case.outcome
    assert result.reason.startswith(case.reason)
    assert result.reason == "" or case.outcome != OK
    assert result.answer == case.answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sample_reports_what_its_case_says(case: Case) -> None:
    """Usage, cost and turns are those of the results; what the client didn't see is unavailable."""
    result = collect_attempt(attempt_of(case).evidence())
    measured = [
        tuple(quantity.value for name in TOKEN_CLASSES if isinstance(quantity := usage.tokens(name), Measured))
        for usage in result.reported
    ]
    assert [tokens for tokens in measured if tokens] == ([case.tokens] if case.tokens else [])
    assert all(usage.model == MODEL for usage in result.reported)
    cost, turns = result.reported_cost_microusd, result.turns
    assert (cost.reason if isinstance(cost, Unavailable) else cost.value) == case.cost_microusd
    assert (turns.reason if isinstance(turns, Unavailable) else turns.value) == case.turns
    retried = [found.detail for found in result.findings if found.kind == "client_retries"]
    assert retried == ([f"model requests were tried again: {case.retries}"] if case.retries else [])


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("success", [("Read", 1, 0)]),
        ("success_mcp", [("mcp__fix__lookup", 1, 0)]),
        ("success_subagent", [("Agent", 1, 0), ("Read", 1, 0)]),
        ("max_turns", [("Read", 3, 0)]),
        ("bad_tool", [("NoSuchTool", 1, 1)]),
        ("write_denied", [("Write", 1, 1)]),
        ("mcp_denied", [("mcp__fix__lookup", 1, 1)]),
        ("kill_mcp_kill", [("mcp__fix__slow", 1, 0)]),
        ("stop_empty", []),
    ],
)
def test_tool_calls_are_counted_by_name(name: str, calls: list[tuple[str, int, int]]) -> None:
    """Each call counts once, and as an error when its result says so."""
    case = next(case for case in CASES if case.name == name)
    result = collect_attempt(attempt_of(case).evidence())
    assert [(call.name, call.calls, call.errors) for call in result.tool_calls] == calls


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("success", []),
        ("success_mcp", []),
        ("success_subagent", ["several_results"]),
        # Of the client, and of the gateway.
        ("usage_missing", ["usage_missing", "usage_missing"]),
        ("stop_empty", ["empty_answer"]),
        ("mcp_denied", ["permission_denied"]),
        ("api_529_fallback", ["client_retries", "model_fallback"]),
    ],
)
def test_what_a_reader_must_know_is_found(name: str, kinds: list[str]) -> None:
    """A sample gives the findings of its case and no others."""
    case = next(case for case in CASES if case.name == name)
    result = collect_attempt(attempt_of(case).evidence())
    assert [found.kind for found in result.findings] == kinds


def test_two_identical_runs_report_the_same() -> None:
    """What differs between two runs of the same case (ids, times) reaches no figure."""
    first, second = (
        collect_attempt(attempt_of(next(case for case in CASES if case.name == name)).evidence())
        for name in ("docker_det_a", "docker_det_b")
    )
    assert (first.answer, first.reported, first.turns, first.tool_calls, first.findings) == (
        second.answer,
        second.reported,
        second.turns,
        second.tool_calls,
        second.findings,
    )
