"""A reconsolidation study that doesn't fit together is refused, with every fault's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.core.errors import StudyError
from runner.core.reconsolidation.corpus import ReconsolidationCorpus
from runner.plan.load import LoadedStudy, load_study
from runner.plan.reconsolidation_studies import opaque_names, resolved_cases
from tests.fakes.files import MemoryFiles

FOLDER = Path(__file__).resolve().parents[3] / "corpora" / "reconsolidation"
STUDY = """
format = "pairbench/study"
version = 1
name = "demo"
seed = "demo 1"
repetitions = 2
control = "original_only"
client = { kind = "reconsolidation", model = "m" }
model = { mode = "scripted", policy = "plain-agent" }
schedule = { control_first = true }
arms = [
  { name = "original_only", system = { kind = "reconsolidator", mode = "original_only" } },
  { name = "connect", system = { kind = "reconsolidator", mode = "connections" } },
]
tasks = [{ id = "development", cases = "v1/development.json" }]
"""


def load(text: str) -> LoadedStudy:
    files = MemoryFiles()
    files.put(Path("/s/study.toml"), text)
    files.put(Path("/s/v1/development.json"), (FOLDER / "v1" / "development.json").read_text("utf-8"))
    files.put(Path("/s/v2/broken.json"), "{}")
    return load_study(Path("/s/study.toml"), files)


def test_a_study_of_memories_has_no_workspace() -> None:
    """Every arm reaches its sidecar without saying so, in the image of ours; raw files are kept."""
    loaded = load(STUDY)
    assert [(arm.sidecar, arm.image) for arm in loaded.study.arms] == [(True, "reconsolidator")] * 2
    assert [(task.corpus, task.prompt) for task in loaded.study.tasks] == [("", "")]
    assert loaded.manifest == Path("/s/v1/manifest.json")
    assert "v1/development.json" in loaded.raw


def test_a_study_in_which_nobody_asks_a_model_needs_none() -> None:
    """Neither a name for it nor who plays it."""
    text = STUDY.replace("connections", "merge_only").replace(', model = "m"', "")
    assert load(text.replace('model = { mode = "scripted", policy = "plain-agent" }\n', "")).study.model.mode == "none"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (', model = "m"', "", "client.model: missing: an arm asks a model"),
        ('model = { mode = "scripted", policy = "plain-agent" }\n', "", "model: missing"),
        ('{ mode = "scripted", policy = "plain-agent" }', '{ mode = "none" }', "model.mode: an arm asks a model"),
        ("control_first = true", "slots = 1", "what the control answers is frozen before any other arm starts"),
        (', system = { kind = "reconsolidator", mode = "connections" }', "", "arms.connect.system: an arm of"),
        ('{ kind = "reconsolidator", mode = "connections" }', '{ kind = "bm25" }', "arms.connect.system"),
        ('name = "connect", ', 'name = "connect", sidecar = false, ', "keeps what it knows in the sidecar"),
        ('cases = "v1/development.json"', 'prompt = "x", corpus = "y"', "a reconsolidation study gives cases"),
        ('cases = "v1/development.json"', 'cases = "v1/development.json", corpus = "y"', "a task of cases has no corpus"),
        ('cases = "v1/development.json"', 'cases = "v1/nothing.json"', "there is no file /s/v1/nothing.json"),
        ('cases = "v1/development.json"', 'cases = "v2/broken.json"', "format is None"),
        ('cases = "v1/development.json" }', 'cases = "v1/development.json" }, { id = "b", cases = "v2/broken.json" }', "different folders"),
        ("tasks = [", 'task_files = ["more.toml"]\ntasks = [', "stand in it"),
        ("tasks = [", 'labels = "labels.toml"\ntasks = [', "brings its labels"),
        ("tasks = [", 'corpora = { y = "y.toml" }\ntasks = [', "has no workspaces"),
        ('mode = "connections"', 'mode = "magic"', "mode"),
        ('{ kind = "reconsolidator", mode = "connections" }', '{ kind = "program", mode = "connections" }', "command"),
    ],
)  # fmt: skip
def test_each_fault_is_told(before: str, after: str, message: str) -> None:
    """With the key that it stands at."""
    assert before in STUDY
    with pytest.raises(StudyError) as caught:
        load(STUDY.replace(before, after))
    assert any(message in str(problem) for problem in caught.value.problems), caught.value.diagnostics()


@pytest.mark.parametrize(
    ("client", "more", "message"),
    [
        ('{ kind = "command", command = ["x"] }', "", "only a client of kind reconsolidation runs such a system"),
        ('{ kind = "command", command = ["x"] }', "", "only a reconsolidation study has cases"),
        ('{ kind = "command", command = ["x"] }', "", "corpora: missing"),
        ('{ kind = "command", command = ["x"] }', 'contract = "c.toml"\n', "only a reconsolidation study is reviewed"),
        ('{ kind = "retrieval" }', "", "only a reconsolidation study has cases"),
    ],
)
def test_no_other_study_has_what_belongs_to_one(client: str, more: str, message: str) -> None:
    """Systems, cases, a contract."""
    text = STUDY.replace('{ kind = "reconsolidation", model = "m" }', client).replace("tasks = [", f"{more}tasks = [")
    with pytest.raises(StudyError) as caught:
        load(text)
    assert any(message in str(problem) for problem in caught.value.problems), caught.value.diagnostics()


def _corpus() -> ReconsolidationCorpus:
    return ReconsolidationCorpus.from_bytes((FOLDER / "v1" / "development.json").read_bytes(), "development.json")


def test_names_of_cases_say_nothing_and_follow_from_the_seed() -> None:
    """The order is another for another seed, and for another task."""
    names = opaque_names(_corpus(), "demo 1", "development")
    assert list(names) == [f"c{number:02}" for number in range(1, 15)]
    assert sorted(names.values()) == sorted(case.id for case in _corpus().cases)
    assert list(names.values())[:3] == ["dev-scope-1", "dev-quantity-1", "dev-pattern-2"]
    assert list(opaque_names(_corpus(), "demo 2", "development").values()) != list(names.values())
    assert list(opaque_names(_corpus(), "demo 1", "other").values()) != list(names.values())


def test_a_trial_s_cases_hold_seeds_and_questions_alone() -> None:
    """And the seeds are whole."""
    found: Any = json.loads(json.dumps(resolved_cases(_corpus(), "demo 1", "development").json_value()))
    assert set(found["cases"][0]) == {"case", "seeds", "probes"}
    assert {key for probe in found["cases"][0]["probes"] for key in probe} == {"id", "question"}
    assert set(found["cases"][0]["seeds"][0]) == {
        "id", "statement", "subject", "session", "event", "evidence_time", "scope", "attribution", "status"
    }  # fmt: skip
