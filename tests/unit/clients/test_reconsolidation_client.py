"""How memories are started, what their output is taken for, and that no label is among what they are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.clients.client import Ending
from runner.clients.launching import Occasion, arm_difference, launch_of
from runner.clients.reconsolidation import Reconsolidation
from runner.core.quantities import Measured
from runner.core.reconsolidation.corpus import CATEGORIES, ReconsolidationCorpus
from runner.plan.load import load_study
from tests.fakes.attempts import lines
from tests.fakes.files import MemoryFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.resolved import ResolvedStudy

FOLDER = Path(__file__).resolve().parents[3] / "corpora" / "reconsolidation"
START = {"type": "start", "format": "pairbench/reconsolidation-events", "version": 1, "client": "1", "model": "m"}
USAGE = {
    "model": "m",
    "requests": 2,
    "input_tokens": 5,
    "output_tokens": 6,
    "cache_read_input_tokens": 0,
    "cache_write_5m_input_tokens": 0,
    "cache_write_1h_input_tokens": 0,
}
END = {"type": "end", "outcome": "completed", "cases": 2, "turns": 2, "error": None, "usage": [USAGE]}
LABEL_KEYS = {"category", "duplicate_classes", "required_survivors", "hypotheses", "answers", "split", "meaning"}


@pytest.fixture(scope="module")
def study() -> ResolvedStudy:
    """The shipped study."""
    files = MemoryFiles()
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file():
            files.put(path, path.read_text("utf-8"))
    return load_study(FOLDER / "study.toml", files).study


def _files(study: ResolvedStudy) -> Iterator[tuple[str, bytes]]:
    """Every file of `/in` of every trial of the study."""
    for arm in study.arms:
        for task in study.tasks:
            occasion = Occasion("trial", task.prompt, "client-token", "memory-token", task.queries, task.cases)
            for file in launch_of(study, arm, occasion).in_files():
                yield f"{arm.name} {task.id} {file.name}", file.data


def _values(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key and every text within `value`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield "key", key
            yield from _values(item)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item)
    else:
        yield "value", value


def _secrets() -> tuple[set[str], set[str]]:
    """Texts that may stand nowhere in what a trial is given; and words that may be no value of it."""
    corpora = [
        ReconsolidationCorpus.from_bytes((FOLDER / "v1" / f"{split}.json").read_bytes(), split)
        for split in ("development", "holdout")
    ]
    cases = [case for corpus in corpora for case in corpus.cases]
    statements = {seed.statement for case in cases for seed in case.seeds}
    texts = {reference.meaning for case in cases for reference in case.hypotheses}
    texts |= {answer for case in cases for probe in case.probes for answer in probe.answers} - statements
    return texts | {case.id for case in cases}, {*CATEGORIES, "development", "holdout"}


def test_no_label_is_among_what_trials_are_given(study: ResolvedStudy) -> None:
    """No meaning, no answer that isn't a seed's, no name of a case, no category, no split: in no file of any trial."""
    texts, words = _secrets()
    looked = 0
    for name, data in _files(study):
        written = data.decode("utf-8")
        assert [text for text in texts if text in written] == [], name
        if name.endswith(".json"):
            found = set(_values(json.loads(data)))
            assert {key for kind, key in found if kind == "key"} & LABEL_KEYS == set(), name
            assert {value for kind, value in found if kind == "value"} & words == set(), name
            looked += 1
    assert looked == 16


def test_no_reference_stands_in_what_any_container_is_given(study: ResolvedStudy) -> None:
    """Of the gateway's neither, whose scripted model says what it was written to say: in words of its own.

    Case, a period and white space make no other sentence of it.
    """
    meanings = {_plain(text) for text in _meanings()}
    given = {name: data.decode("utf-8") for name, data in _files(study)}
    given |= {f"{arm.name} script": arm.script.to_bytes().decode("utf-8") for arm in study.arms if arm.script}
    assert sum(name.endswith(" script") for name in given) == 2
    found = [(name, text) for name, written in given.items() for text in meanings if text in _plain(written)]
    assert found == []
    repeated = f'{{"statement": "So {next(iter(_meanings()))}"}}'
    assert [text for text in meanings if text in _plain(repeated)] != []


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")


def _meanings() -> list[str]:
    corpora = [
        ReconsolidationCorpus.from_bytes((FOLDER / "v1" / f"{split}.json").read_bytes(), split)
        for split in ("development", "holdout")
    ]
    return [reference.meaning for corpus in corpora for case in corpus.cases for reference in case.hypotheses]


def test_the_search_for_labels_finds_one_that_is_there(study: ResolvedStudy) -> None:
    """Texts in JSON are looked for as they are read, not as they are escaped."""
    texts, words = _secrets()
    name, data = next(item for item in _files(study) if item[0].endswith("reconsolidation.json"))
    given = json.loads(data)
    given["cases"][0]["category"] = "negation"
    found = set(_values(given))
    assert name
    assert ("key", "category") in found
    assert {value for kind, value in found if kind == "value"} & words == {"negation"}
    assert "hold-negation-1" in texts
    assert "The check of Osprey takes longer than that of Merlin because its linter checks generated files." in texts


def test_a_trial_is_given_every_case_under_an_opaque_name(study: ResolvedStudy) -> None:
    """In an order of the seed's, the same in every arm, with clock and budget."""
    files = {name: json.loads(data) for name, data in _files(study) if name.endswith("reconsolidation.json")}
    given = files["connections holdout reconsolidation.json"]
    assert given["cases"] == files["original_only holdout reconsolidation.json"]["cases"]
    assert [case["case"] for case in given["cases"]] == [f"c{number:02}" for number in range(1, 15)]
    assert (given["mode"], given["recall_budget"], given["clock"]) == (
        "connections",
        {"facts": 8},
        "2026-08-01T00:00:00Z",
    )
    assert set(given["cases"][0]["probes"][0]) == {"id", "question"}
    corpus = json.loads((FOLDER / "v1" / "holdout.json").read_bytes())
    seeds = [[seed["statement"] for seed in case["seeds"]] for case in corpus["cases"]]
    opaque = [[seed["statement"] for seed in case["seeds"]] for case in given["cases"]]
    assert sorted(opaque) == sorted(seeds)
    assert opaque != seeds


def test_arms_differ_in_their_mode_and_in_who_plays_their_model(study: ResolvedStudy) -> None:
    """Two arms of one mode differ in their scripts alone, and that is said."""
    first, second = (arm_difference(study, study.arm(name)) for name in ("connections", "connections-second"))
    modes = ('- reconsolidation.json: mode = "original_only"', '+ reconsolidation.json: mode = "connections"')
    assert first[:2] == second[:2] == modes
    assert first[2].startswith("+ model: script sha256:")
    assert first[2] != second[2]
    assert len(first) == len(second) == 3


def test_a_program_of_one_s_own_is_started_with_the_same_file(study: ResolvedStudy) -> None:
    """Its command stands in the place of ours."""
    arm = study.arms[1]
    assert arm.system is not None
    system = type(study.arms[1]).model_validate(
        {
            **arm.model_dump(),
            "mcp_servers": (),
            "system": {"kind": "program", "mode": "merge_only", "command": ("python3", "/opt/mine/main.py")},
        }
    )
    launch = launch_of(study, system, Occasion("t", "", "a", "b", (), study.tasks[0].cases))
    assert launch.spec.argv == ("python3", "/opt/mine/main.py", "/in/reconsolidation.json")
    assert launch.spec.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8787"


def test_the_end_says_what_was_used() -> None:
    """As any client's result does; other events say nothing of ours."""
    report = Reconsolidation().parse(lines(START, {"type": "case", "case": "c01"}, END), b"")
    assert (report.ending, report.answer, report.turns) == (Ending.OK, "2 cases", Measured(2))
    assert [(usage.model, usage.requests, usage.input_tokens) for usage in report.reported] == [("m", 2, Measured(5))]
    assert [start.version for start in report.starts] == ["1"]


@pytest.mark.parametrize("events", [(START, {**END, "usage": [], "turns": 0}), (START,), ()])
def test_a_memory_that_asked_nobody_is_believed_its_exit_code(events: tuple[dict[str, Any], ...]) -> None:
    """What it did is in its store: its output need not say anything."""
    assert Reconsolidation().parse(lines(*events), b"").ending is Ending.BY_EXIT_CODE


def test_an_error_at_the_end_is_told() -> None:
    """With who is to blame."""
    error = {"status": 529, "type": "overloaded_error", "message": "Overloaded"}
    report = Reconsolidation().parse(lines(START, {**END, "outcome": "provider_error", "error": error}), b"")
    assert (report.ending, report.reason) == (Ending.PROVIDER_ERROR, "status 529: Overloaded")
    failed = {**END, "outcome": "store_failed", "error": {"status": None, "type": "store_failed", "message": "gone"}}
    assert Reconsolidation().parse(lines(START, failed), b"").ending is Ending.CLIENT_ERROR


def test_damaged_events_are_counted() -> None:
    """A start of another format, an end that contradicts itself."""
    report = Reconsolidation().parse(lines({**START, "version": 2}, {**END, "error": {}}) + b"{\n", b"")
    assert report.corrupt_lines == 3
