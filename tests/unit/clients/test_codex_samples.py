"""Every recorded stream of Codex ends in the outcome and the usage that its case has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.collect.attempt import AttemptResult, collect_attempt
from runner.core.evidence import Expectation
from runner.core.launch import McpServer
from runner.core.quantities import Measured, Unavailable
from runner.core.usage import TOKEN_CLASSES
from tests.fakes.attempts import SIDECAR_ID, Attempt, container, exchange, exit_report, lines

SAMPLES = Path(__file__).parents[2] / "golden" / "events" / "codex"
MODEL = "gpt-5.1"
NONE: tuple[int, ...] = ()
# Input without what was cached, output, cached; the provider bills no writes.
TWO_CALLS = (800, 100, 1200, 0, 0)
OK = "completed"
FAILED = "provider_error"
HIGH_DEMAND = "We\u2019re currently experiencing high demand, which may cause temporary errors."


@dataclass(frozen=True)
class Case:
    """One sample and what it has to become."""

    name: str
    exit_code: int
    outcome: str
    reason: str
    """How the reason begins."""
    answer: str = ""
    tokens: tuple[int, ...] = NONE
    retries: int = 0
    tools: tuple[tuple[str, int, int], ...] = ()
    server: bool = False


SHELL = (("command_execution", 1, 0),)
CASES = (
    Case("success", 0, OK, "", "The answer is 42.", TWO_CALLS, tools=SHELL),
    Case("mcp", 0, OK, "", "The answer is 42.", TWO_CALLS, tools=(("mcp__fix__lookup", 1, 0),), server=True),
    # Zeros for what the provider didn't say.
    Case("nousage", 0, OK, "", "The answer is 42.", tools=SHELL),
    # A command with another exit code than 0 is an error; thoughts are no tool.
    Case("command_failed", 0, OK, "", "There is no such file.", TWO_CALLS, tools=(("command_execution", 1, 1),)),
    Case("status_400", 1, FAILED, '{"error": {"message": "provider says 400"'),
    Case("status_401", 1, FAILED, "status 401: unexpected status 401 Unauthorized: provider says 401", retries=2),
    Case("status_402", 1, FAILED, "status 402: unexpected status 402 Payment Required", retries=2),
    Case("status_429", 1, FAILED, "status 429: exceeded retry limit, last status: 429 Too Many Requests"),
    Case("status_500", 1, FAILED, HIGH_DEMAND, retries=2),
    Case("status_503", 1, FAILED, "status 503: unexpected status 503 Service Unavailable", retries=2),
    Case("status_529", 1, FAILED, "status 529: unexpected status 529", retries=2),
    Case("stream_cut", 1, FAILED, "stream disconnected before completion: Transport error", retries=2),
    Case("response_failed", 1, FAILED, "stream disconnected before completion: oh no", retries=2),
    Case("response_incomplete", 1, "cap_exceeded", "Incomplete response returned, reason: max_output_tokens"),
    Case("context_full", 1, FAILED, "Codex ran out of room in the model's context window."),
    Case("unreachable", 1, FAILED, "Connection failed: error sending request", retries=2),
    Case("server_failed", 1, "infrastructure", "the MCP server fix wasn't connected: failed", server=True),
    Case("killed_term", -15, "client_error", "the client ended with signal 15", tools=SHELL),
)


def offered(case: Case) -> list[str]:
    """The tools of a first request, as the gateway names them."""
    return ["exec_command", *(["mcp__fix/lookup"] if case.server else [])]


def collected(case: Case) -> AttemptResult:
    """The sample in a pod in which all else went well."""
    stderr = SAMPLES / f"{case.name}.stderr"
    killed = case.exit_code < 0
    servers = (McpServer("fix", ("python3",), {}, ("lookup",)),) if case.server else ()
    usage = dict(zip(TOKEN_CLASSES, case.tokens, strict=True)) if case.tokens else {"unavailable": "none in the answer"}
    asked = case.outcome == OK
    attempt = Attempt(
        expectation=Expectation("codex", MODEL, (), servers, sidecar=case.server),
        stdout=(SAMPLES / f"{case.name}.jsonl").read_bytes(),
        stderr=stderr.read_bytes() if stderr.exists() else b"",
        exit=exit_report(exit_code=None if killed else case.exit_code, signal=-case.exit_code if killed else None),
        exchanges=lines(
            exchange(1, path="/v1/responses", model_asked=MODEL, model_resolved=MODEL, usage=usage, tools=offered(case))
        )
        if asked
        else b"",
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}" if case.server else "none"),
    )
    return collect_attempt(attempt.evidence())


def test_every_sample_of_codex_stands_in_the_table() -> None:
    """No recorded stream is left out."""
    assert sorted(case.name for case in CASES) == sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sample_of_codex_ends_as_its_case_says(case: Case) -> None:
    """Outcome and reason follow from the turn's end and the exit code, the answer is the last message."""
    result = collected(case)
    assert (result.outcome, result.answer) == (case.outcome, case.answer)
    assert result.reason.startswith(case.reason)
    assert result.reason == "" or case.outcome != OK


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sample_of_codex_reports_what_its_case_says(case: Case) -> None:
    """Cached tokens are taken out of the input; cost and turns are never told, and zeros are no usage."""
    result = collected(case)
    measured = [
        tuple(quantity.value for name in TOKEN_CLASSES if isinstance(quantity := usage.tokens(name), Measured))
        for usage in result.reported
    ]
    assert [tokens for tokens in measured if tokens] == ([case.tokens] if case.tokens else [])
    assert isinstance(result.reported_cost_microusd, Unavailable)
    assert isinstance(result.turns, Unavailable)
    assert [(call.name, call.calls, call.errors) for call in result.tool_calls] == list(case.tools)
    retried = [found.detail for found in result.findings if found.kind == "client_retries"]
    assert retried == ([f"model requests were tried again: {case.retries}"] if case.retries else [])


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("success", []),
        ("mcp", []),
        # Of the client, and of the gateway.
        ("nousage", ["usage_missing", "usage_missing"]),
        ("status_503", ["client_retries"]),
        ("unreachable", ["client_retries"]),
    ],
)
def test_what_a_reader_of_codex_must_know_is_found(name: str, kinds: list[str]) -> None:
    """No cost is no finding, and neither is a model that it doesn't name."""
    assert [found.kind for found in collected(next(case for case in CASES if case.name == name)).findings] == kinds


def test_a_server_without_its_tool_is_seen_on_the_wire() -> None:
    """Codex goes on without a tool that a server lacks; its first request shows it."""
    case = next(case for case in CASES if case.name == "mcp")
    attempt = Attempt(
        expectation=Expectation("codex", MODEL, (), (McpServer("fix", ("x",), {}, ("lookup", "more")),), sidecar=True),
        stdout=(SAMPLES / "mcp.jsonl").read_bytes(),
        exchanges=lines(exchange(1, path="/v1/responses", tools=offered(case))),
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}"),
    )
    result = collect_attempt(attempt.evidence())
    assert (result.outcome, result.reason) == ("infrastructure", "the client started without mcp__fix__more")


@pytest.mark.parametrize(
    "exchanges",
    [
        (),
        (exchange(1, path="/v1/responses", refused="request_limit"),),
        (exchange(1, path="/v1/responses", owner="memory"),),
        (exchange(1, path="/v1/responses", tools=["exec_command"], unlisted_tools=1),),
    ],
    ids=["none", "refused", "another's", "unlisted"],
)
def test_a_treated_success_whose_start_nobody_saw_is_invalid(exchanges: tuple[dict[str, Any], ...]) -> None:
    """Without the first request, or all of its tools, nothing says that the memory was at hand."""
    attempt = Attempt(
        expectation=Expectation("codex", MODEL, (), (McpServer("fix", ("x",), {}, ("lookup",)),), sidecar=True),
        stdout=(SAMPLES / "mcp.jsonl").read_bytes(),
        exchanges=lines(*exchanges),
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}"),
    )
    result = collect_attempt(attempt.evidence())
    assert (result.outcome, result.reason) == (
        "evidence_invalid",
        "the client gave a result and never said that it had started",
    )
