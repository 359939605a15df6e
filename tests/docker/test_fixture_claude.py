"""One block of the fixture with the real Claude Code: with its memory it searches it, without it knows of none."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from runner.core.tars import files_of
from tests.docker.conftest import ROOT

if TYPE_CHECKING:
    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

STUDY = """
format = "pairbench/study"
version = 1
name = "one-block"
seed = "one block 1"
repetitions = 1
control = "off"
corpora = {{ h11 = "{corpora}/h11/corpus.toml" }}
model = {{ mode = "scripted", policy = "plain-agent" }}
tasks = [{{ id = "{task}", corpus = "h11", prompt = {prompt} }}]

[client]
kind = "claude-code"
model = "claude-sonnet-4-5"
instructions = "{corpora}/fixture/instructions.md"

[[arms]]
name = "off"

[[arms]]
name = "memory"
sidecar = true

[[arms.mcp_servers]]
name = "memory"
command = ["python3", "/opt/pairbench/memory/server.py"]
tools = ["memory_search", "memory_get"]
"""


@pytest.fixture(scope="module")
def ran(pairbench: Program, corpora: str) -> str:
    """The task of the run, after it ran."""
    tasks = tomllib.loads((ROOT / "corpora/fixture/tasks/h11.toml").read_text("utf-8"))["tasks"]
    task = next(task for task in tasks if task["corpus"] == "h11")
    text = STUDY.format(corpora=corpora, task=task["id"], prompt=json.dumps(task["prompt"]))
    (pairbench.folder / "study.toml").write_text(text, "utf-8")
    done = pairbench("run", "study.toml", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    return str(task["id"])


def test_its_summary_fits_the_published_schema(pairbench: Program, ran: str) -> None:
    """As whoever reads it elsewhere would check."""
    schema = json.loads((ROOT / "docs/reference/summary.schema.json").read_bytes())
    summary = json.loads(pairbench("summary", "--json").stdout)
    assert {row["task"] for row in summary["census"]["rows"]} == {ran}
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(summary)] == []


def events(pairbench: Program, task: str, arm: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in pairbench.evidence(f"{task}.r1.{arm}", "stdout.jsonl").splitlines()]


def uses(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of tools, in order."""
    return [
        part
        for event in found
        if event["type"] == "assistant"
        for part in event["message"]["content"]
        if part["type"] == "tool_use"
    ]


def answers(found: list[dict[str, Any]], calls: set[str]) -> str:
    """What the tools answered to `calls`."""
    return "\n".join(
        text["text"]
        for event in found
        if event["type"] == "user"
        for part in event["message"]["content"]
        if part["type"] == "tool_result" and part["tool_use_id"] in calls
        for text in part["content"]
    )


def records(pairbench: Program) -> dict[str, dict[str, Any]]:
    lines = (pairbench.run / "records.jsonl").read_text("utf-8").splitlines()
    return {record["arm"]: record for record in map(json.loads, lines)}


def test_both_arms_completed_with_an_answer(ran: str, pairbench: Program) -> None:
    """Two trials, one block, usage that the client and the gateway agree on."""
    found = records(pairbench)
    assert {arm: record["outcome"] for arm, record in found.items()} == {"off": "completed", "memory": "completed"}
    for record in found.values():
        assert record["task"] == ran
        assert len(record["answer"]) > 100
        assert [usage["model"] for usage in record["observed"]] == ["scripted-policy (fixture)"]
        assert record["observed"][0]["output_tokens"] == record["reported"][0]["output_tokens"] > 0
        assert "usage_disagrees" not in {finding["kind"] for finding in record["findings"]}


def test_with_the_memory_it_was_searched_and_gave_passages_of_the_corpus(ran: str, pairbench: Program) -> None:
    """Each passage that came back stands, byte for byte, in the workspace of the task."""
    assert records(pairbench)["memory"]["memory_calls"] >= 1
    said = events(pairbench, ran, "memory")
    searches = {use["id"] for use in uses(said) if use["name"] == "mcp__memory__memory_search"}
    assert searches
    passages = re.findall(r"^\[\d+\] id=\d+ source=(\S+) bytes=(\d+)-(\d+)", answers(said, searches), re.MULTILINE)
    assert len(passages) >= 3
    tar = (pairbench.run / "inputs/corpora/h11.tar").read_bytes()
    workspace = files_of(tar, "h11.tar")
    text = answers(said, searches)
    for source, start, end in passages:
        passage = workspace[source][int(start) : int(end)].decode("utf-8")
        assert passage.strip() in text


def test_without_the_memory_there_was_none(ran: str, pairbench: Program) -> None:
    """No server, no tool of one, no request at the sidecar."""
    said = events(pairbench, ran, "off")
    starts = [event for event in said if event["type"] == "system" and event.get("subtype") == "init"]
    assert [event["mcp_servers"] for event in starts] == [[]]
    assert sorted(starts[0]["tools"]) == ["Glob", "Grep", "Read"]
    assert [use["name"] for use in uses(said) if use["name"].startswith("mcp__")] == []
    log = pairbench.evidence(f"{ran}.r1.off", "sidecar.jsonl").splitlines()
    assert [json.loads(line)["event"] for line in log] == ["ready"]
    assert records(pairbench)["off"]["sidecar_requests"] == 0
    assert json.loads(pairbench.evidence(f"{ran}.r1.off", "launch.json"))["ready"]["http"] == []


def test_it_verifies(ran: str, pairbench: Program) -> None:
    """From the evidence alone."""
    assert ran
    assert pairbench.json("verify")["holds"]
    assert pairbench.json("status")["breaches"] == 0
