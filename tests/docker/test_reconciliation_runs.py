"""Real clients where their usage and the gateway's part: each finding by its kind, in records, summary, report and terminal.

What each trial gives is in `corpora/reconciliation/expected.toml`; these findings and no others.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.records import Record
from scripts.faults.expected import compare, read_expected
from tests.docker.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

FOLDER = ROOT / "corpora" / "reconciliation"
EXPECTED = read_expected(FOLDER / "expected.toml")
INPUT = ("input_tokens", "cache_read_input_tokens", "cache_write_5m_input_tokens", "cache_write_1h_input_tokens")
# A word of each kind's detail: trial of a study, kind, pattern.
DETAILS = {
    "claude": [
        ("cut.r1.patient", "client_retries", r"model requests were tried again: 1"),
        ("cut.r1.patient", "resent_requests", r"1 request sent again: exchange 2"),
        ("cut.r1.patient", "cut_stream", r"1 answer cut: exchange 1"),
        (
            "cut.r1.patient",
            "cut_stream_counted",
            r"the client counted 1 answer \(exchange 1\) with \d+ output tokens of .*",
        ),
        ("cut-unsaid.r1.patient", "cut_stream_counted", r"the client left out 1 answer \(exchange 1\)"),
        ("helper.r1.hurried", "subagent_left_out", r"the client left out 1 answer \(exchange \d\) of a sub-agent"),
        ("helper-begun.r1.hurried", "usage_disagrees", r"output_tokens reported \d+, observed \d+ \(1 answer cut: .*"),
        ("helper.r1.patient", "several_results", r"2 results; the last one's usage counts"),
        ("helper-model.r1.patient", "model_remapped", r"claude-sonnet-4-5 was to be asked, found claude-haiku-5-5"),
        ("other-model.r1.patient", "model_substituted", r"claude-sonnet-4-5 -> another-policy \(fixture\): exchange 1"),
        ("usage-none.r1.patient", "usage_missing", r"the client counted nothing for 1 answer \(exchange 2\)"),
        ("usage-empty.r1.patient", "usage_missing", r"1 answer without usage: exchange 1"),
    ],
    "codex": [
        ("cut.r1.off", "cut_stream_counted", r"the client left out 1 answer \(exchange 1\)"),
        ("other-model.r1.off", "model_substituted", r"gpt-5.1-codex -> another-policy \(fixture\): exchange 1"),
        ("usage-none.r1.off", "usage_missing", r"1 answer without usage: exchange 1"),
        ("usage-empty.r1.off", "usage_missing", r"3 answers without usage: exchange 1, 2, 3"),
    ],
    "messages": [
        ("cut.r1.off", "usage_disagrees", r".*input_tokens reported \d+, observed \d+ \(1 answer cut: .*"),
        ("cut-late.r1.off", "cut_stream_counted", r"the client left out 1 answer \(exchange 2\)"),
        ("cut-late.r1.off", "usage_disagrees", r".*input_tokens reported \d+, observed \d+; output_tokens reported .*"),
        ("other-model.r1.off", "model_substituted", r"claude-sonnet-4-5 -> another-policy \(fixture\): exchange 1"),
    ],
}
# Of these some trials end as provider_error, for their answers are cut, or say too little.
ENDS_BADLY = {"codex", "messages"}
NEEDED = {"claude": "TRIAL", "codex": "CODEX", "messages": "MESSAGES"}


@dataclass(frozen=True)
class Ran:
    """A study that ran."""

    name: str
    program: Program
    folder: Path
    records: dict[str, Record]

    def details(self, trial: str, kind: str) -> list[str]:
        return [item.detail for item in self.records[trial].findings if item.kind == kind]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                not os.environ.get(f"PAIRBENCH_{NEEDED[name]}_IMAGE"),
                reason=f"PAIRBENCH_{NEEDED[name]}_IMAGE names no image to test",
            ),
        )
        for name in EXPECTED.studies
    ],
)
def ran(request: pytest.FixtureRequest, pairbench: Program) -> Ran:
    """The study of one client, run by the program."""
    done = pairbench("run", FOLDER / f"{request.param}.toml", "--json")
    assert done.returncode == (1 if request.param in ENDS_BADLY else 0), done.stderr
    assert pairbench.run.name.startswith(f"reconcile-{request.param}-"), done.stderr
    lines = (pairbench.run / "records.jsonl").read_bytes().splitlines()
    records = [Record.from_bytes(line, "records.jsonl") for line in lines]
    return Ran(request.param, pairbench, pairbench.run, {record.trial: record for record in records})


def test_each_trial_gives_its_findings_and_no_others(ran: Ran) -> None:
    """Control trials give none."""
    rows = list(compare(EXPECTED.of_study(ran.name), ran.records.values()))
    assert [(row.scenario, row.arm, row.faults) for row in rows if row.faults] == []
    whole = [record.findings for record in ran.records.values() if record.task == "whole"]
    assert whole == [(), ()]


def test_each_finding_says_what_it_is_about(ran: Ran) -> None:
    """The kind, the exchanges, and where both know a class, its two figures."""
    for trial, kind, pattern in DETAILS[ran.name]:
        details = ran.details(trial, kind)
        assert any(re.fullmatch(pattern, detail) for detail in details), (trial, kind, details)


def test_what_both_know_agrees_class_by_class(ran: Ran) -> None:
    """Where the client counts a cut answer too, its input is the gateway's; what it leaves out is in nothing it reports."""
    for record in ran.records.values():
        document: Any = record.json_value()
        reported, observed = tokens(document["reported"]), tokens(document["observed"])
        kinds = {item.kind for item in record.findings}
        if not record.reported or "usage_disagrees" in kinds:
            continue
        if None in reported.values():
            assert "usage_missing" in kinds, record.trial
            continue
        own = "cut_stream_counted" in kinds and "left out" not in ran.details(record.trial, "cut_stream_counted")[0]
        assert {name: reported[name] for name in INPUT} == {name: observed[name] for name in INPUT}, record.trial
        assert (reported["output_tokens"] > observed["output_tokens"]) == own, record.trial


def test_summary_report_and_terminal_show_each_kind(ran: Ran) -> None:
    """With its trials in the summary, its count everywhere, and an example of its words."""
    wanted: dict[str, set[str]] = {}
    for record in ran.records.values():
        for item in record.findings:
            wanted.setdefault(item.kind, set()).add(record.trial)
    summary = json.loads((ran.folder / "summary.json").read_text("utf-8"))
    groups = {group["kind"]: group for group in summary["findings"]}
    assert {kind: set(groups[kind]["trials"]) for kind in wanted} == wanted
    assert not [trial for group in groups.values() for trial in group["trials"] if trial.startswith("whole.")]
    assert ran.program("report", ran.folder).returncode == 0
    page = (ran.folder / "report.html").read_text("utf-8")
    terminal = ran.program("summary", ran.folder).stdout
    for kind in wanted:
        assert kind in terminal, kind
        assert kind in page, kind
    assert ran.program.json("verify", ran.folder)["holds"]


def tokens(usages: list[dict[str, Any]]) -> dict[str, Any]:
    """The tokens over all models, of those usages that tell a class; None where a client's only one doesn't."""
    found: dict[str, Any] = {}
    for name in (*INPUT, "output_tokens"):
        counts = [usage[name] for usage in usages if isinstance(usage[name], int)]
        found[name] = sum(counts) if counts else None
    return found
