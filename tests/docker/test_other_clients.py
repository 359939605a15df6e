"""Codex, the agent loop and a bare command in real pods: each study runs, verifies, and its usage is what the gateway saw."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.docker.conftest import ROOT

if TYPE_CHECKING:
    from tests.docker.conftest import Program

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        not all(os.environ.get(f"PAIRBENCH_{name}_IMAGE") for name in ("CODEX", "MESSAGES")),
        reason="PAIRBENCH_CODEX_IMAGE or PAIRBENCH_MESSAGES_IMAGE names no image to test",
    ),
]

CLASSES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_5m_input_tokens")


@pytest.fixture(scope="module", params=["codex", "codex-code", "messages", "command"])
def client(request: pytest.FixtureRequest, pairbench: Program) -> str:
    """The study's name, which is the client's kind but for Codex with a model that calls tools from programs."""
    done = pairbench("run", ROOT / "corpora" / "clients" / f"{request.param}.toml", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    return str(request.param)


def records(pairbench: Program, client: str) -> dict[str, dict[str, Any]]:
    """The records of the client's run by trial."""
    lock = json.loads((pairbench.run / "lock.json").read_text("utf-8"))
    assert lock["run"].startswith(f"client-{client}-2")
    lines = (pairbench.run / "records.jsonl").read_text("utf-8").splitlines()
    return {record["trial"]: record for record in map(json.loads, lines)}


def tokens(usages: list[dict[str, Any]]) -> dict[str, int]:
    """The tokens over all models."""
    return {name: sum(usage[name] for usage in usages) for name in CLASSES}


def test_every_trial_of_a_client_completes_and_verifies(pairbench: Program, client: str) -> None:
    """Two tasks in two arms, and every figure again from the evidence."""
    found = records(pairbench, client)
    assert {record["outcome"] for record in found.values()} == {"completed"}
    assert len(found) == 4
    assert all(record["findings"] == [] for record in found.values())
    assert all(record["answer"] for record in found.values())
    assert pairbench.json("verify", "latest")["holds"]


def test_a_client_reports_what_the_gateway_saw(pairbench: Program, client: str) -> None:
    """Whatever the two APIs call their classes; a command reports nothing."""
    for record in records(pairbench, client).values():
        if client == "command":
            assert record["reported"] == []
        else:
            assert tokens(record["reported"]) == tokens(record["observed"]), record["trial"]
        assert {usage["model"] for usage in record["observed"]} == {"scripted-policy (fixture)"}


def test_a_client_asks_its_memory_only_where_it_has_one(pairbench: Program, client: str) -> None:
    """The sidecar of the control hears nothing."""
    for record in records(pairbench, client).values():
        asked = client != "command" and record["arm"] == "memory"
        assert (record["memory_calls"] > 0, record["sidecar_requests"] > 0) == (
            asked,
            asked or record["arm"] == "joined",
        )


def test_what_a_client_of_the_responses_api_was_offered_is_known(pairbench: Program, client: str) -> None:
    """Its shell, or programs that call one; the memory's tools by their own names either way."""
    shell = {"codex": "exec_command", "codex-code": "functions/exec"}.get(client)
    for trial, record in records(pairbench, client).items():
        first = json.loads(pairbench.evidence(trial, "exchanges.jsonl").splitlines()[0])
        memory = {"mcp__memory/memory_search", "mcp__memory/memory_get"} if record["arm"] == "memory" else set()
        if shell is not None:
            assert shell in first["tools"]
            assert {tool for tool in first["tools"] if tool.startswith("mcp__")} == memory


def test_a_client_s_version_is_pinned(pairbench: Program, client: str) -> None:
    """The program in the image says it."""
    lock = json.loads((pairbench.run / "lock.json").read_text("utf-8"))
    expected = {"codex": "0.163.0", "codex-code": "0.163.0", "messages": "1+anthropic-2.14.0", "command": "unversioned"}
    assert lock["client_version"] == expected[client]


def test_a_client_s_requests_went_to_its_own_api(pairbench: Program, client: str) -> None:
    """Codex speaks the Responses API; nothing else reached the gateway."""
    path = "/v1/responses" if client.startswith("codex") else "/v1/messages"
    for trial in records(pairbench, client):
        exchanges = [json.loads(line) for line in pairbench.evidence(trial, "exchanges.jsonl").splitlines()]
        assert exchanges
        assert {(found["owner"], found["method"], found["path"], found["status"]) for found in exchanges} == {
            ("client", "POST", path, 200)
        }
