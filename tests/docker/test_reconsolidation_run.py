"""Half of the shipped reconsolidation study in real pods: what stores hold, what the model was told, twice the same."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.reconsolidation.corpus import CATEGORIES
from tests.docker.conftest import ROOT
from tests.fakes.bodies import unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docker.conftest import Program

pytestmark = [pytest.mark.docker, pytest.mark.slow]
CORPUS = ROOT / "corpora" / "reconsolidation"
ARMS = ("original_only", "merge_only", "connections", "connections-second")


@pytest.fixture(scope="module")
def ran(pairbench: Program) -> Program:
    """The program, after two repetitions over the development split."""
    folder = pairbench.folder / "study"
    shutil.copytree(CORPUS, folder)
    study = (folder / "study.toml").read_text("utf-8")
    study = study.replace("repetitions = 3", "repetitions = 2").replace('contract = "contract.toml"\n', "")
    (folder / "study.toml").write_text(study.partition('[[tasks]]\nid = "holdout"')[0], "utf-8")
    done = pairbench("run", folder / "study.toml", "--json")
    assert done.returncode == 0, done.stderr
    return pairbench


def _points(program: Program, trial: str) -> list[Any]:
    lines = program.evidence(trial, "sidecar.jsonl").splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == "point"]


def test_what_the_stores_hold_is_what_the_scripts_and_the_rule_give(ran: Program) -> None:
    """Merged by the rule, connected as the scripts say; what a probe finds follows from the vectors."""
    summary = json.loads((ran.run / "summary.json").read_text("utf-8"))
    scores = {score["arm"]: score for score in summary["reconsolidation"]["scores"]}
    names = ("duplicate_classes_covered", "hypotheses_matched", "hypotheses_produced", "probes_covered")
    assert {arm: [scores[arm]["counts"][name] // 2 for name in names] for arm in ARMS} == {
        "original_only": [0, 0, 0, 24],
        "merge_only": [3, 0, 0, 24],
        "connections": [3, 0, 10, 28],
        "connections-second": [3, 0, 10, 25],
    }
    for arm in ARMS:
        counts = scores[arm]["counts"]
        faults = ("lost_facts", "false_merge_pairs", "invalid_observations", "boundary_violations")
        assert [counts[name] for name in faults] == [0, 0, 0, 0]
        assert scores[arm]["observed"] == 2


def test_a_repetition_leaves_the_same_store(ran: Program) -> None:
    """Point by point, ids included."""
    for arm in ARMS:
        first = _points(ran, f"development.r1.{arm}")
        assert first == _points(ran, f"development.r2.{arm}")
        assert len(first) > 70


def test_the_client_reports_what_the_gateway_saw(ran: Program) -> None:
    """Fourteen requests a trial of a model that is asked, none of any other; tokens agree."""
    records = [json.loads(line) for line in (ran.run / "records.jsonl").read_text("utf-8").splitlines()]
    requests = {record["arm"]: sum(usage["requests"] for usage in record["observed"]) for record in records}
    assert requests == {"original_only": 0, "merge_only": 0, "connections": 14, "connections-second": 14}
    summary = json.loads((ran.run / "summary.json").read_text("utf-8"))
    checks = {check["name"]: check["passed"] for check in summary["checks"]}
    assert checks["usage agrees"]
    assert "order effect" in {item["name"] for item in summary["not_checked"]}


def test_no_label_reaches_the_gateway(ran: Program) -> None:
    """No meaning, no answer that isn't a seed's, no name of a case, no category, in any request."""
    corpus = json.loads((CORPUS / "v1" / "development.json").read_text("utf-8"))
    statements = {seed["statement"] for case in corpus["cases"] for seed in case["seeds"]}
    labels = {case["id"] for case in corpus["cases"]}
    labels |= {reference["meaning"] for case in corpus["cases"] for reference in case["hypotheses"]}
    labels |= {
        answer
        for case in corpus["cases"]
        for probe in case["probes"]
        for answer in (probe["question"], *probe["answers"])
    }
    asked = 0
    for arm in ("connections", "connections-second"):
        for request in _requests(ran.run / "trials" / f"development.r1.{arm}" / "attempt-1"):
            (message,) = json.loads(request)["messages"]
            told = json.loads(message["content"])
            assert [label for label in labels - statements if label in message["content"]] == []
            assert set(told) == {"now", "statements"}
            assert {key for one in told["statements"] for key in one} == {
                "id", "statement", "event", "time", "scope", "by"
            }  # fmt: skip
            assert not {value for one in told["statements"] for value in one.values()} & set(CATEGORIES)
            asked += 1
    assert asked == 28


def _requests(folder: Path) -> list[str]:
    lines = unpacked((folder / "bodies.jsonl.zst").read_bytes()).splitlines()
    return [json.loads(line)["request"] for line in lines]


def test_the_run_verifies(ran: Program) -> None:
    """Observations, counts and baseline follow from what the sidecars printed."""
    found = ran.json("verify", "latest")
    assert found["holds"], found["differences"]
