"""Which outcome an attempt has, rule by rule, and which rule wins where two apply."""

from __future__ import annotations

from typing import Any

import pytest

from runner.collect.attempt import collect_attempt
from runner.core.launch import McpServer
from tests.fakes.attempts import (
    COMMAND,
    CONTROL,
    Attempt,
    container,
    credentials,
    exchange,
    exit_report,
    good_control,
    good_treatment,
    init,
    lines,
    result,
    sidecar_request,
    treated,
)

GOOD, TREATED = good_control(), good_treatment()
EARLY = "2026-11-29T17:53:59.43Z"
LATER = "2026-11-29T17:53:59.4350001Z"
NEVER = "0001-01-01T00:00:00Z"


def end(**changes: Any) -> dict[str, Any]:
    """`Attempt.but` for another end of the client."""
    return {"exit": exit_report(**changes)}


def stream(*events: dict[str, Any]) -> dict[str, Any]:
    """`Attempt.but` for another event stream."""
    return {"stdout": lines(*events)}


NO_EXIT = {"exit": None, "without": ("stdout.jsonl", "stderr.txt")}
OOM = container("trial", oom_killed=True)
KILLED = container("trial", oom_killed=True, exit_code=137)

TABLE: list[tuple[str, Attempt, str, str]] = [
    ("a good control", GOOD, "completed", ""),
    ("a good treatment", TREATED, "completed", ""),
    # What the runner did.
    ("cancelled", GOOD.but(hint="cancelled", exit=None), "cancelled", "the run was interrupted"),
    ("cancelled, with a detail", GOOD.but(hint="cancelled", detail="second Ctrl-C"), "cancelled", "second Ctrl-C"),
    ("engine error", GOOD.but(hint="engine_error", detail="no such image"), "infrastructure", "no such image"),
    ("gateway late", GOOD.but(hint="gateway_not_ready"), "gateway_failed", "the gateway was not ready in time"),
    ("sidecar late", GOOD.but(hint="sidecar_not_ready"), "sidecar_failed", "the sidecar was not ready in time"),
    ("host deadline", GOOD.but(hint="host_deadline"), "timeout", "the host's own deadline passed"),
    (
        "not proven gone",
        GOOD.but(gone_proven=False),
        "infrastructure",
        "the trial container was not proven gone before its evidence was read",
    ),
    # What the pod's services did.
    (
        "gateway died first",
        GOOD.but(gateway=container("gateway", finished_at=EARLY, exit_code=1), exchanges=None, exit=None),
        "gateway_failed",
        "the gateway ended before the trial, with exit code 1",
    ),
    (
        "gateway ended with its pod",
        GOOD.but(gateway=container("gateway", finished_at=LATER, exit_code=0)),
        "completed",
        "",
    ),
    (
        "sidecar died first",
        TREATED.but(sidecar=container("sidecar", finished_at=EARLY, exit_code=139, error="core dumped")),
        "sidecar_failed",
        "the sidecar ended before the trial, with exit code 139: core dumped",
    ),
    (
        "sidecar of the control died too",
        GOOD.but(sidecar=container("sidecar", finished_at=EARLY, exit_code=1)),
        "sidecar_failed",
        "the sidecar ended before the trial, with exit code 1",
    ),
    (
        "gateway out of memory",
        GOOD.but(gateway=container("gateway", oom_killed=True)),
        "gateway_failed",
        "the gateway reached its memory limit",
    ),
    (
        "a dead gateway explains a provider error",
        GOOD.but(
            gateway=container("gateway", finished_at=EARLY, exit_code=1),
            **stream(init(), result(is_error=True, terminal_reason="api_error", api_error="connection_failed")),
        ),
        "gateway_failed",
        "the gateway ended before the trial, with exit code 1",
    ),
    ("no sidecar in the study", GOOD.but(sidecar=None, sidecar_log=None), "completed", ""),
    # No exit.json.
    ("never made", GOOD.but(trial=None, **NO_EXIT), "infrastructure", "the trial container was never made"),
    (
        "never started",
        GOOD.but(trial=container("trial", started_at=NEVER, error="exec: not found"), **NO_EXIT),
        "infrastructure",
        "the trial container did not start: exec: not found",
    ),
    (
        "killed at the memory limit, PID 1 and all",
        GOOD.but(trial=KILLED, **NO_EXIT),
        "out_of_memory",
        "the memory limit ended the trial container: exit.json is missing",
    ),
    (
        "no exit.json for no known reason",
        GOOD.but(trial=container("trial", exit_code=137), **NO_EXIT),
        "evidence_invalid",
        "the trial container ended with exit code 137: exit.json is missing",
    ),
    (
        "exit.json of another version",
        GOOD.but(**end(version=2)),
        "evidence_invalid",
        "the trial container ended with exit code 0: exit.json: version: version 2 is not known here, only 1",
    ),
    ("no engine.json", GOOD.but(without=("engine.json",)), "evidence_invalid", "engine.json is missing"),
    # What the supervisor did.
    (
        "supervisor was asked to end",
        GOOD.but(**end(ended_by="cancelled")),
        "cancelled",
        "the trial container was asked",
    ),
    (
        "the pod was not ready",
        TREATED.but(
            stdout=b"", exchanges=b"", **end(ended_by="not_ready", detail="6333 did not answer", exit_code=None)
        ),
        "infrastructure",
        "6333 did not answer",
    ),
    (
        "no such program",
        GOOD.but(stdout=b"", exchanges=b"", **end(ended_by="spawn_failed", detail="no such file", exit_code=None)),
        "infrastructure",
        "no such file",
    ),
    # Evidence that isn't whole.
    ("no stdout.jsonl", GOOD.but(without=("stdout.jsonl",)), "evidence_invalid", "stdout.jsonl is missing"),
    ("no exchanges.jsonl", GOOD.but(exchanges=None), "evidence_invalid", "exchanges.jsonl is missing"),
    ("no sidecar.jsonl", GOOD.but(sidecar_log=None), "evidence_invalid", "sidecar.jsonl is missing"),
    (
        "stdout is shorter than the supervisor says",
        GOOD.but(**end(stdout_bytes=100000)),
        "evidence_invalid",
        "stdout.jsonl holds ",
    ),
    (
        "exchanges are torn",
        GOOD.but(exchanges=lines(exchange(1), exchange(2))[:-20]),
        "evidence_invalid",
        "exchanges.jsonl is damaged in line 2: the stream ends within it",
    ),
    (
        "an exchange stands twice",
        GOOD.but(exchanges=lines(exchange(1), exchange(1))),
        "evidence_invalid",
        "exchanges.jsonl is damaged in line 2: exchange 1 stands twice",
    ),
    (
        "exit code and signal at once",
        GOOD.but(**end(exit_code=0, signal=9)),
        "evidence_invalid",
        "exit.json gives the client not exactly one of an exit code and a signal",
    ),
    # Isolation.
    (
        "a network",
        GOOD.but(trial=container("trial", network_mode="bridge")),
        "evidence_invalid",
        "the network of the trial is 'bridge', not 'none'",
    ),
    (
        "a capability",
        GOOD.but(**end(client=credentials(10002, cap_effective="0000000000000020"))),
        "evidence_invalid",
        "the client has capabilities or could gain some",
    ),
    # Contamination.
    (
        "a server in the control",
        GOOD.but(**stream(treated(), result())),
        "evidence_invalid",
        "the client had the MCP server fix, which its arm lacks",
    ),
    (
        "a server's tool in the control",
        GOOD.but(**stream(init(tools=("Read", "Grep", "Glob", "mcp__stray__look")), result())),
        "evidence_invalid",
        "the client had the MCP server stray, which its arm lacks",
    ),
    (
        "a server at the second start of the control",
        GOOD.but(**stream(init(), treated(), result())),
        "evidence_invalid",
        "the client had the MCP server fix, which its arm lacks",
    ),
    (
        "another server in the treatment",
        TREATED.but(
            **stream(
                init(tools=("Read", "Grep", "Glob", "mcp__fix__lookup"), servers={"fix": "connected", "x": "failed"}),
                result(),
            )
        ),
        "evidence_invalid",
        "the client had the MCP server x, which its arm lacks",
    ),
    (
        "the control reached the sidecar",
        GOOD.but(sidecar_log=lines({"event": "ready"}, sidecar_request(1))),
        "evidence_invalid",
        "the sidecar, which its arm can't reach, had 1 request",
    ),
    (
        "the control used the memory's token",
        GOOD.but(exchanges=lines(exchange(1), exchange(2, owner="memory"))),
        "evidence_invalid",
        "1 request with the token of a memory, which its arm lacks",
    ),
    (
        "a contaminated attempt that timed out",
        GOOD.but(**stream(treated()), **end(ended_by="deadline", exit_code=143)),
        "evidence_invalid",
        "the client had the MCP server fix, which its arm lacks",
    ),
    # Memory.
    (
        "the kernel killed the client",
        GOOD.but(**stream(init()), **end(exit_code=None, signal=9, oom_kills=1)),
        "out_of_memory",
        "the kernel killed the client at the memory limit",
    ),
    (
        "the kernel killed something else",
        GOOD.but(**end(oom_kills=1)),
        "out_of_memory",
        "the kernel killed a process of the trial at the memory limit; the client itself ended with exit code 0",
    ),
    ("the engine's flag, and the kernel killed nothing", GOOD.but(trial=OOM), "completed", ""),
    (
        "the engine's flag, where the kernel's count can't be read",
        GOOD.but(trial=OOM, **end(oom_kills=None)),
        "out_of_memory",
        "the kernel killed a process of the trial at the memory limit; the client itself ended with exit code 0",
    ),
    ("neither flag nor count", GOOD.but(**end(oom_kills=None)), "completed", ""),
    (
        "killed by somebody else",
        GOOD.but(**stream(init()), **end(exit_code=None, signal=9)),
        "client_error",
        "the client ended with signal 9",
    ),
    # Words that aren't the client's.
    (
        "a success behind a failure, with exit code 0",
        GOOD.but(
            **stream(init(), result(is_error=True, terminal_reason="aborted_tools", errors=["Interrupted"]), result())
        ),
        "evidence_invalid",
        "the client's last result is a success, and one before it isn't: aborted_tools: Interrupted",
    ),
    # Room.
    (
        "a success with no room left",
        GOOD.but(**end(full=["/home/agent"])),
        "output_limit",
        "no room was left in /home/agent; the client ended with exit code 0",
    ),
    (
        "no room left anywhere, and then no memory",
        GOOD.but(**end(full=["/home/agent", "/tmp"], oom_kills=2, exit_code=None, signal=9)),
        "out_of_memory",
        "the kernel killed the client at the memory limit",
    ),
    (
        "no room left when the deadline passed",
        GOOD.but(**end(full=["/tmp"], ended_by="deadline", exit_code=None, signal=15)),
        "timeout",
        "the deadline passed",
    ),
    (
        "the memory server died of memory before it connected",
        TREATED.but(
            **stream(init(servers={"fix": "failed"}), result()),
            **end(oom_kills=1),
        ),
        "out_of_memory",
        "the kernel killed a process of the trial at the memory limit; the client itself ended with exit code 0",
    ),
    (
        "the deadline passed after a kill at the limit",
        GOOD.but(**end(ended_by="deadline", oom_kills=1)),
        "timeout",
        "the deadline passed",
    ),
    # Equipment.
    (
        "the server failed",
        TREATED.but(**stream(init(servers={"fix": "failed"}), result())),
        "infrastructure",
        "the MCP server fix wasn't connected: failed",
    ),
    (
        "the server was late",
        TREATED.but(**stream(init(servers={"fix": "pending"}), result())),
        "infrastructure",
        "the MCP server fix wasn't connected: pending",
    ),
    (
        "the server is absent",
        TREATED.but(**stream(init(), result())),
        "infrastructure",
        "the MCP server fix wasn't connected: absent",
    ),
    (
        "the server's tool is absent",
        TREATED.but(**stream(init(servers={"fix": "connected"}), result())),
        "infrastructure",
        "the client started without mcp__fix__lookup",
    ),
    (
        "built-in tools are absent",
        GOOD.but(**stream(init(tools=("Read",)), result())),
        "infrastructure",
        "the client started without Grep, Glob",
    ),
    (
        "the server failed and then time ran out",
        TREATED.but(**stream(init(servers={"fix": "failed"})), **end(ended_by="deadline", exit_code=143)),
        "infrastructure",
        "the MCP server fix wasn't connected: failed",
    ),
    (
        "a result and no start",
        GOOD.but(**stream(result())),
        "evidence_invalid",
        "the client gave a result and never said that it had started",
    ),
    (
        "the start is damaged",
        GOOD.but(stdout=b'{"type":"system","subtype":"init",\n' + lines(result())),
        "evidence_invalid",
        "the client gave a result and never said that it had started",
    ),
    # Limits.
    ("a timeout, though the events look fine", GOOD.but(**end(ended_by="deadline")), "timeout", "the deadline passed"),
    (
        "a timeout before the start",
        GOOD.but(stdout=b"", **end(ended_by="deadline", exit_code=None, signal=9)),
        "timeout",
        "the deadline passed",
    ),
    (
        "too much output",
        GOOD.but(**end(ended_by="output_limit", stdout_truncated=True)),
        "output_limit",
        "the client wrote more",
    ),
    (
        "too many requests",
        GOOD.but(
            exchanges=lines(
                exchange(1), exchange(2, status=400, refused="request_limit", usage={"unavailable": "refused"})
            )
        ),
        "cap_exceeded",
        "the gateway refused request 2: request_limit",
    ),
    (
        "too much money",
        GOOD.but(
            exchanges=lines(
                exchange(
                    1,
                    status=402,
                    refused="cap_exceeded",
                    usage={"unavailable": "refused"},
                    difference=["it may cost up to 16854 micro-dollars", "the cap of the trial leaves 16853"],
                )
            )
        ),
        "cap_exceeded",
        "the gateway refused request 1: cap_exceeded (it may cost up to 16854 micro-dollars, the cap",
    ),
    (
        "too much to record",
        GOOD.but(
            exchanges=lines(
                exchange(1), exchange(2, status=400, refused="record_limit", usage={"unavailable": "refused"})
            )
        ),
        "output_limit",
        "the gateway refused request 2: record_limit",
    ),
    (
        "a refusal that is no limit",
        GOOD.but(
            exchanges=lines(
                exchange(1),
                exchange(2),
                exchange(3, status=404, refused="not_served", usage={"unavailable": "refused"}),
            )
        ),
        "completed",
        "",
    ),
    # The client's word.
    (
        "a success with an exit code",
        GOOD.but(**end(exit_code=1)),
        "evidence_invalid",
        "the client's result is a success, but it ended with exit code 1",
    ),
    (
        "a success and a signal",
        GOOD.but(**end(exit_code=None, signal=11)),
        "evidence_invalid",
        "the client's result is a success, but it ended with signal 11",
    ),
    (
        "an answer that no model gave",
        GOOD.but(exchanges=b""),
        "evidence_invalid",
        "the client's result is a success, but the gateway saw no request of it",
    ),
    (
        "an exit code of 0 and no result",
        GOOD.but(**stream(init())),
        "evidence_invalid",
        "the client ended with exit code 0 and gave no result",
    ),
    (
        "an error with exit code 0",
        GOOD.but(**stream(init(), result(is_error=True, terminal_reason="aborted_tools", errors=["stopped"]))),
        "client_error",
        "aborted_tools: stopped",
    ),
    (
        "a success that did not complete",
        GOOD.but(**stream(init(), result(terminal_reason="tool_deferred"))),
        "client_error",
        "ended with terminal reason tool_deferred",
    ),
    (
        "a damaged line among events",
        GOOD.but(stdout=lines(init()) + b"\xff\xfe not json\n" + lines(result())),
        "completed",
        "",
    ),
    # A command.
    ("a command", GOOD.but(expectation=COMMAND, stdout=b"42\n", exchanges=b""), "completed", ""),
    (
        "a command that fails",
        GOOD.but(expectation=COMMAND, stdout=b"4", stderr=b"oh\nno: it broke\n\n", **end(exit_code=3)),
        "client_error",
        "the client ended with exit code 3: no: it broke",
    ),
    (
        "a command that dies",
        GOOD.but(expectation=COMMAND, stdout=b"", **end(exit_code=None, signal=11)),
        "client_error",
        "the client ended with signal 11",
    ),
]


@pytest.mark.parametrize(("name", "attempt", "outcome", "reason"), TABLE, ids=[row[0] for row in TABLE])
def test_an_attempt_ends_as_its_evidence_says(name: str, attempt: Attempt, outcome: str, reason: str) -> None:
    """The first rule that knows an answer decides, in the order of the rules."""
    found = collect_attempt(attempt.evidence())
    assert (found.outcome, found.reason.startswith(reason)) == (outcome, True), found.reason
    assert (found.reason == "") == (outcome == "completed")


@pytest.mark.parametrize("attempt", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_an_answer_belongs_to_a_completed_attempt_only(attempt: Attempt) -> None:
    """What a client said before it failed is no answer."""
    found = collect_attempt(attempt.evidence())
    assert bool(found.answer) == (found.outcome == "completed")


def test_every_raw_file_has_its_digest() -> None:
    """A result names all that it was derived from."""
    found = collect_attempt(GOOD.evidence())
    assert sorted(found.evidence) == [
        "bodies.jsonl.zst",
        "engine.json",
        "exchanges.jsonl",
        "exit.json",
        "launch.json",
        "sidecar.jsonl",
        "stderr.txt",
        "stdout.jsonl",
    ]
    assert found.evidence["stderr.txt"] == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_sidecar_server_in_an_arm_without_one_is_refused_by_name() -> None:
    """A second server beside the declared one is told apart from it."""
    servers = (McpServer("fix", ("x",), {}, ("lookup",)), McpServer("more", ("y",), {}, ("z",)))
    expectation = CONTROL.__class__("claude-code", CONTROL.model, CONTROL.tools, servers, sidecar=True)
    found = collect_attempt(TREATED.but(expectation=expectation).evidence())
    assert (found.outcome, found.reason) == ("infrastructure", "the MCP server more wasn't connected: absent")


def test_calls_of_declared_servers_are_the_memory_calls() -> None:
    """Only tools that the arm declares count, however often others are called."""
    found = collect_attempt(TREATED.evidence())
    assert (found.memory_calls, found.sidecar_requests) == (1, 2)
    control = collect_attempt(GOOD.evidence())
    assert (control.memory_calls, control.sidecar_requests) == (0, 0)
