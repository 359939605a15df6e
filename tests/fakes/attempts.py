"""Raw evidence of an attempt that went well, of which a test changes what it is about."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from runner.core.evidence import AttemptEvidence, Expectation
from runner.core.launch import McpServer

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL = "claude-sonnet-4-5"
SIDECAR_ID = "5" * 64
ON_SERVERS = (McpServer("fix", ("python3", "/opt/fix.py"), {}, ("lookup",)),)

CONTROL = Expectation("claude-code", MODEL, ("Read", "Grep", "Glob"), (), sidecar=False)
TREATMENT = Expectation("claude-code", MODEL, ("Read", "Grep", "Glob"), ON_SERVERS, sidecar=True)
COMMAND = Expectation("command", "", (), (), sidecar=False)


def lines(*values: Mapping[str, Any]) -> bytes:
    """The values as NDJSON."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def init(
    *, tools: tuple[str, ...] = ("Glob", "Grep", "Read"), servers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Claude Code's first event."""
    return {
        "type": "system",
        "subtype": "init",
        "tools": list(tools),
        "mcp_servers": [{"name": name, "status": status} for name, status in (servers or {}).items()],
        "model": MODEL,
        "claude_code_version": "2.1.332",
    }


def treated() -> dict[str, Any]:
    """Claude Code's first event where the memory is connected."""
    return init(tools=("Glob", "Grep", "Read", "mcp__fix__lookup"), servers={"fix": "connected"})


def model_usage(**changes: Any) -> dict[str, Any]:
    """What one model used, as Claude Code says it."""
    return {
        "inputTokens": 2000,
        "outputTokens": 100,
        "cacheReadInputTokens": 6000,
        "cacheCreationInputTokens": 4000,
        "cacheCreationEphemeral5mInputTokens": 1000,
        "cacheCreationEphemeral1hInputTokens": 3000,
        "costUSD": 0.034155000000000005,
        "costBasis": "list",
    } | changes


def result(**changes: Any) -> dict[str, Any]:
    """Claude Code's last event."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "stop_reason": "end_turn",
        "api_error_status": None,
        "num_turns": 2,
        "result": "The answer is 42.",
        "total_cost_usd": 0.034155000000000005,
        "modelUsage": {MODEL: model_usage()},
        "permission_denials": [],
    } | changes


def credentials(uid: int, **changes: Any) -> dict[str, Any]:
    """A process without any capability."""
    return {
        "uid": uid,
        "gid": uid,
        "cap_effective": "0000000000000000",
        "cap_permitted": "0000000000000000",
        "cap_inheritable": "0000000000000000",
        "cap_bounding": "0000000000000000",
        "no_new_privileges": 1,
        "seccomp": 2,
    } | changes


def exit_report(**changes: Any) -> dict[str, Any]:
    """A client that ended by itself after two and a half seconds."""
    return {
        "format": "pairbench/exit",
        "version": 1,
        "ended_by": "exit",
        "detail": "",
        "exit_code": 0,
        "signal": None,
        "supervisor_started_ns": 1_000_000_000,
        "ready_ns": 1_100_000_000,
        "started_ns": 2_000_000_000,
        "ended_ns": 4_500_999_999,
        "finished_ns": 4_600_000_000,
        "wall_ms": 2500,
        "user_cpu_ms": 380,
        "system_cpu_ms": 120,
        "peak_rss_bytes": 134_000_000,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "killed": [],
        "reaped": 0,
        "oom_kills": 0,
        "full": [],
        "supervisor": credentials(10001, cap_effective="00000000000000e0", cap_permitted="00000000000000e0"),
        "client": credentials(10002),
    } | changes


def exchange(seq: int, **changes: Any) -> dict[str, Any]:
    """One of two requests, each of which used half of what `model_usage` says."""
    return {
        "format": "pairbench/exchange",
        "version": 1,
        "seq": seq,
        "owner": "client",
        "method": "POST",
        "path": "/v1/messages?beta=true",
        "status": 200,
        "request_sha256": f"sha256:{seq:064x}",
        "response_sha256": f"sha256:{seq:064x}",
        "request_bytes": 37542,
        "response_bytes": 900,
        "received_ns": 2_400_000_000 + 100_000_000 * seq,
        "first_byte_ns": 2_410_000_000 + 100_000_000 * seq,
        "last_byte_ns": 2_420_500_000 + 100_000_000 * seq,
        "retry_count": 0,
        "resend_of": None,
        "model_asked": MODEL,
        "model_resolved": MODEL,
        "stop_reason": "end_turn",
        "streamed": True,
        "cut": False,
        "refused": None,
        "usage": usage(),
    } | changes


def usage(**changes: int) -> dict[str, int]:
    """What one of two requests used."""
    return {
        "input_tokens": 1000,
        "output_tokens": 50,
        "cache_read_input_tokens": 3000,
        "cache_write_5m_input_tokens": 500,
        "cache_write_1h_input_tokens": 1500,
    } | changes


def sidecar_request(seq: int, path: str = "/collections/memory/points/query") -> dict[str, Any]:
    """One line of the sidecar's log."""
    return {
        "event": "request",
        "seq": seq,
        "method": "POST",
        "path": path,
        "status": 200,
        "received_ns": 2_450_000_000,
        "duration_us": 900,
    }


def container(name: str, **changes: Any) -> dict[str, Any]:
    """A container as isolated as it has to be."""
    ended = name == "trial"
    return {
        "id": SIDECAR_ID if name == "sidecar" else "7" * 64,
        "image": f"sha256:{'a' * 64}",
        "network_mode": "none",
        "read_only": True,
        "user": "0:0" if ended else "10003:10003",
        "cap_add": ["KILL", "SETGID", "SETPCAP", "SETUID"] if ended else [],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "memory_bytes": 2147483648,
        "pids_limit": 256,
        "nano_cpus": 2_000_000_000,
        "mounts": [
            {"destination": "/in", "type": "volume", "read_only": True},
            {"destination": "/workspace", "type": "volume", "read_only": True},
            {"destination": "/pod", "type": "volume", "read_only": False},
        ]
        if ended
        else [],
        "exit_code": 0 if ended else None,
        "oom_killed": False,
        "error": "",
        "started_at": "2026-11-29T17:53:57.1Z",
        "finished_at": "2026-11-29T17:53:59.435Z" if ended else "0001-01-01T00:00:00Z",
    } | changes


@dataclass(frozen=True)
class Attempt:
    """The parts of an attempt's evidence."""

    expectation: Expectation = CONTROL
    stdout: bytes = field(default_factory=lambda: lines(init(), result()))
    stderr: bytes = b""
    exit: Mapping[str, Any] | None = field(default_factory=exit_report)
    exchanges: bytes | None = field(default_factory=lambda: lines(exchange(1), exchange(2)))
    sidecar_log: bytes | None = field(default_factory=lambda: lines({"event": "ready", "port": 6333}))
    trial: Mapping[str, Any] | None = field(default_factory=lambda: container("trial"))
    sidecar: Mapping[str, Any] | None = field(default_factory=lambda: container("sidecar"))
    gateway: Mapping[str, Any] | None = field(default_factory=lambda: container("gateway"))
    hint: str = ""
    detail: str = ""
    gone_proven: bool = True
    without: tuple[str, ...] = ()
    """Files that were not found."""

    def files(self) -> dict[str, bytes]:
        """The raw files by name."""
        files = {
            "stdout.jsonl": self.stdout,
            "stderr.txt": self.stderr,
            "launch.json": b"{}\n",
            "bodies.jsonl.zst": b"",
        }
        if self.exit is not None:
            kept = {"stdout_bytes": len(self.stdout), "stderr_bytes": len(self.stderr)}
            files["exit.json"] = json.dumps(kept | dict(self.exit)).encode()
        if self.exchanges is not None:
            files["exchanges.jsonl"] = self.exchanges
        if self.sidecar_log is not None:
            files["sidecar.jsonl"] = self.sidecar_log
        engine = {
            "format": "pairbench/engine-facts",
            "version": 1,
            "gateway": self.gateway,
            "sidecar": self.sidecar,
            "trial": self.trial,
            "outcome_hint": self.hint,
            "detail": self.detail,
            "pod_ms": 3100,
            "gone_proven": self.gone_proven,
        }
        files["engine.json"] = json.dumps(engine).encode()
        return {name: data for name, data in files.items() if name not in self.without}

    def evidence(self) -> AttemptEvidence:
        """The evidence that `collect_attempt` takes."""
        return AttemptEvidence(self.files(), self.expectation)

    def but(self, **changes: Any) -> Attempt:
        """The same attempt with other parts."""
        return replace(self, **changes)


def good_control() -> Attempt:
    """An attempt of the control that ended well."""
    return Attempt()


def good_treatment() -> Attempt:
    """An attempt of an arm with a memory that ended well."""
    call = {
        "type": "assistant",
        "message": {"model": MODEL, "content": [{"type": "tool_use", "id": "t1", "name": "mcp__fix__lookup"}]},
    }
    answer = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "42"}]}}
    return Attempt(
        expectation=TREATMENT,
        stdout=lines(treated(), call, answer, result()),
        sidecar_log=lines({"event": "ready", "port": 6333}, sidecar_request(1, "/readyz"), sidecar_request(2)),
        trial=container("trial", network_mode=f"container:{SIDECAR_ID}"),
    )
