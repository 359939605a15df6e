"""Studies of retrieval systems: what is read of them, and everything that is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.clients.launching import ANY_OCCASION, arm_difference, launch_of, undeclared_differences
from runner.core.errors import StudyError
from runner.core.resolved import ResolvedQuery
from runner.core.retrieval.queryset import lock_of
from runner.plan.load import load_study
from runner.plan.queries import read_query_set
from tests.fakes.surroundings import COMMAND_STUDY

if TYPE_CHECKING:
    from runner.core.resolved import ResolvedStudy
    from tests.fakes.surroundings import Surroundings

STUDY = """
format = "pairbench/study"
version = 1
name = "demo"
seed = "demo 1"
repetitions = 1
control = "words"
corpora = { notes = "../notes/corpus.toml" }
client = { kind = "retrieval", depth = 20 }

[[arms]]
name = "words"
system = { kind = "bm25" }

[[arms]]
name = "mine"
mcp_servers = [{ name = "mine", command = ["python3", "/workspace/s.py"], tools = ["find"] }]
system = { kind = "mcp", tool = "find", query = "q", results = '(?P<source>\\S+)' }

[[tasks]]
id = "notes"
corpus = "notes"
queries = "set/queryset.toml"
"""
QUERY_SET = """
format = "pairbench/queryset"
version = 1
name = "notes"
description = "Questions."
licence = "CC0-1.0"
corpus = "../../notes/corpus.toml"
queries = { kind = "jsonl", path = "queries.jsonl" }
labels = { kind = "jsonl", path = "labels.jsonl" }
"""
QUERIES = [
    {"id": "a", "text": "Where do we move?", "workspace": "w", "at": "1970-01-01T00:00:05Z", "kind": "literal"},
    {"id": "b", "text": "How tall is it?", "kind": "no_answer", "split": "holdout"},
]
LABELS = [{"query": "a", "source": "notes/plan.md", "grade": 3}]
HERE = "/studies/demo/study.toml"
SERVERS = 'mcp_servers = [{ name = "mine", command = ["python3", "/workspace/s.py"], tools = ["find"] }]'
WORDS = 'system = { kind = "bm25" }'
MCP = 'system = { kind = "mcp", tool = "find", query = "q", results = \'(?P<source>\\S+)\' }'


def study(outside: Surroundings, text: str = STUDY, *, frozen: bool = True) -> Path:
    """The study with its query set, frozen for the corpus."""
    path = outside.study(text)
    folder = path.parent / "set"
    outside.files.put(folder / "queryset.toml", QUERY_SET)
    outside.files.put(folder / "queries.jsonl", "".join(json.dumps(query) + "\n" for query in QUERIES))
    outside.files.put(folder / "labels.jsonl", "".join(json.dumps(label) + "\n" for label in LABELS))
    if frozen:
        corpus = json.loads(outside.files.read(Path("/studies/notes/corpus.lock.json")) or b"")
        found = read_query_set(folder / "queryset.toml", outside.files).sound()
        lock = lock_of(found, "notes", corpus["tree_sha256"])
        outside.files.write(folder / "queryset.lock.json", lock.to_bytes())
    return path


def resolved(outside: Surroundings, text: str = STUDY) -> ResolvedStudy:
    """The study, with every default written out."""
    return load_study(study(outside, text), outside.files).study


def problems(outside: Surroundings, text: str) -> list[str]:
    """Everything that is wrong with the study, without the place of its file."""
    with pytest.raises(StudyError) as caught:
        load_study(study(outside, text), outside.files)
    return [str(problem).removeprefix(f"{HERE}: ") for problem in caught.value.problems]


def test_a_retrieval_study_is_resolved(outside: Surroundings) -> None:
    """Nobody plays the model; systems of ours reach the sidecar without saying so, foreign ones don't."""
    found = resolved(outside)
    assert (found.model.mode, found.client.kind) == ("none", "retrieval")
    assert [(arm.name, arm.sidecar, arm.image) for arm in found.arms] == [
        ("words", True, "retrieval"),
        ("mine", False, "retrieval"),
    ]


def test_a_task_holds_what_a_trial_may_know(outside: Surroundings) -> None:
    """Neither kind nor split; labels are kept beside the study."""
    loaded = load_study(study(outside), outside.files)
    (task,) = loaded.study.tasks
    assert task.prompt == ""
    assert task.queries == (
        ResolvedQuery(id="a", text="Where do we move?", workspace="w", at_s=5),
        ResolvedQuery(id="b", text="How tall is it?", workspace="", at_s=None),
    )
    text = loaded.study.to_bytes()
    assert b"plan.md" not in text
    assert b"no_answer" not in text
    assert b"holdout" not in text
    assert [label.source for label in loaded.query_sets["notes"].labels] == ["notes/plan.md"]


def test_every_file_of_a_query_set_is_kept(outside: Surroundings) -> None:
    """A run can be read again from its own inputs."""
    kept = load_study(study(outside), outside.files).raw
    names = {"set/queryset.toml", "set/queryset.lock.json", "set/queries.jsonl", "set/labels.jsonl"}
    assert names <= set(kept)


def test_a_system_is_part_of_the_study_s_digest(outside: Surroundings) -> None:
    """What is compared is locked."""
    other = STUDY.replace(WORDS, 'system = { kind = "bm25", ignore = ["time"] }')
    assert resolved(outside).digest() != resolved(outside, other).digest()


def test_arms_are_launched_with_their_systems(outside: Surroundings) -> None:
    """They differ in what they declare and in nothing else."""
    found = resolved(outside)
    launch = launch_of(found, found.arm("words"), ANY_OCCASION)
    (config,) = (json.loads(file.data) for file in launch.files if file.name == "retrieval.json")
    assert (config["system"]["kind"], config["depth"], config["threads"], config["warmup"]) == ("bm25", 20, 1, 1)
    assert launch.spec.ready.http == ("http://127.0.0.1:6333/readyz",)
    assert list(undeclared_differences(found, HERE)) == []
    assert "- pod: within reach of the sidecar" in arm_difference(found, found.arm("mine"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # The study
        ("[[tasks]]", '[model]\nmode = "none"\n\n[[tasks]]', "model: a retrieval study has no model"),
        (
            "[[tasks]]",
            '[model]\nmode = "scripted"\npolicy = "plain-agent"\n\n[[tasks]]',
            "model: a retrieval study has no model",
        ),
        ("repetitions = 1", 'repetitions = 1\nlabels = "labels.toml"', "labels: the query sets of a retrieval study"),
        ("depth = 20", "depth = 0", "client.depth: must be greater than or equal to 1"),
        ("depth = 20", "depth = 1001", "client.depth: must be less than or equal to 1000"),
        ("depth = 20", "threads = 3", "client.threads: 3 threads on 2 CPUs"),
        ("depth = 20", 'model = "m"', "client.model: unknown key"),
        ("depth = 20", "warmup = -1", "client.warmup: must be greater"),
        ("repetitions = 1", "repetitions = 1\nlimits = { stdout_bytes = 2048 }", "limits.stdout_bytes: 2 rankings of"),
        # Arms
        (WORDS, "", "arms.words.system: an arm of a retrieval study needs its system"),
        (WORDS, WORDS + '\ninstructions = "x.md"', "arms.words.instructions: a retrieval client takes none"),
        (WORDS, WORDS + "\nsidecar = false", "arms.words.sidecar: a system of kind bm25 searches the sidecar"),
        (WORDS, WORDS + "\n" + SERVERS, "arms.words.mcp_servers: only a system of kind mcp asks a server"),
        (WORDS, 'system = { kind = "magic" }', "arms[0].system: its kind must be one of"),
        (WORDS, 'system = { kind = "bm25", rrf_k = 3 }', "arms[0].system.rrf_k: unknown key"),
        (WORDS, 'system = { kind = "bm25", approximate = true }', "arms[0].system.approximate: unknown key"),
        (WORDS, 'system = { kind = "dense", ignore = ["law"] }', "arms[0].system.ignore[0]: must be"),
        (WORDS, 'system = { kind = "dense", ignore = ["time", "time"] }', "arms[0].system: ignore names a boundary"),
        (WORDS, 'system = { kind = "hybrid", rrf_k = 0 }', "arms[0].system.rrf_k: must be greater"),
        # Foreign systems
        (SERVERS, "", "arms.mine.mcp_servers: a system of kind mcp needs exactly one server"),
        ('tool = "find", ', "", "arms[1].system.tool: missing"),
        ('tool = "find"', 'tool = "look"', "arms.mine.system.tool: the server 'mine' declares no tool 'look'"),
        (MCP, MCP[:-1] + ", limit_value = 3 }", "arms[1].system: limit_value needs limit"),
        (MCP, MCP[:-1] + ', limit = "q" }', "arms[1].system: query, limit, workspace and at are names of different"),
        (r"(?P<source>\S+)", "(", "arms[1].system: results is no regular expression"),
        (r"(?P<source>\S+)", "a{99999999999}(?P<source>x)", "arms[1].system: results is no regular expression"),
        (r"(?P<source>\S+)", r"id=(?P<id>\d+)", "arms[1].system: results needs the group source"),
        (r"(?P<source>\S+)", r"(?P<source>\S+)(?P<rank>x)", "arms[1].system: results has the group 'rank'"),
        (r"(?P<source>\S+)", r"(?P<source>\S+) (?P<start>\d+)", "arms[1].system: results has the groups start and end"),
        (r"(?P<source>\S+)", r"(?P<source>\S*)", "arms[1].system: results matches the empty text"),
        (r"(?P<source>\S+)", "(?P<source>" + "x" * 2000 + ")", "arms[1].system.results: must"),
        (MCP, MCP[:-1] + ", empty = '[' }", "arms[1].system: empty is no regular expression"),
        # Tasks
        ('queries = "set/queryset.toml"', 'prompt = "Why?"', "tasks[0].prompt: a retrieval study asks queries"),
        ('queries = "set/queryset.toml"', 'queries = "set/queryset.toml"\nprompt = "Why?"', "tasks[0]: exactly one of"),
        ('queries = "set/queryset.toml"', "", "tasks[0]: exactly one of prompt, prompt_file, queries, cases"),
    ],
)
def test_each_fault_is_told_with_its_place(outside: Surroundings, old: str, new: str, expected: str) -> None:
    """Where it stands, and what is wrong."""
    assert old in STUDY
    found = problems(outside, STUDY.replace(old, new, 1))
    assert any(problem.startswith(expected) for problem in found), found


def test_a_missing_query_set_is_told(outside: Surroundings) -> None:
    """By its own name."""
    found = problems(outside, STUDY.replace("set/queryset.toml", "none.toml"))
    assert found == ["/studies/demo/none.toml: there is no such query set"]


def test_a_query_set_must_be_frozen(outside: Surroundings) -> None:
    """And stay what it was frozen as."""
    path = study(outside, frozen=False)
    with pytest.raises(StudyError, match="pairbench corpora lock"):
        load_study(path, outside.files)
    path = study(outside)
    outside.files.put(path.parent / "set" / "labels.jsonl", json.dumps(LABELS[0] | {"grade": 1}) + "\n")
    with pytest.raises(StudyError, match="labels_sha256"):
        load_study(path, outside.files)


def test_a_query_set_belongs_to_the_corpus_that_it_was_frozen_for(outside: Surroundings) -> None:
    """Labels that point into another tree say nothing of this one."""
    path = study(outside)
    lock = path.parent / "set" / "queryset.lock.json"
    data = json.loads(outside.files.read(lock) or b"")
    outside.files.put(lock, json.dumps(data | {"tree_sha256": "sha256:" + "0" * 64}))
    with pytest.raises(StudyError, match="tree_sha256"):
        load_study(path, outside.files)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('{ name = "off" }', '{ name = "off", system = { kind = "bm25" } }', "arms.off.system: only a client of kind"),
        (
            'prompt = "And then?"',
            'queries = "set/queryset.toml"',
            "tasks[1].queries: only a retrieval study asks queries",
        ),
        ('model = { mode = "scripted", policy = "plain-agent" }', "", "model: missing"),
        (
            'model = { mode = "scripted", policy = "plain-agent" }',
            'model = { mode = "none" }',
            "model.mode: only a retrieval study has no model",
        ),
    ],
)
def test_other_studies_have_none_of_it(outside: Surroundings, old: str, new: str, expected: str) -> None:
    """Systems and queries are for a client that asks them, and any other client needs a model."""
    assert old in COMMAND_STUDY
    found = problems(outside, COMMAND_STUDY.replace(old, new))
    assert any(problem.startswith(expected) for problem in found), found


def test_a_wrong_model_is_not_called_missing_too(outside: Surroundings) -> None:
    """One fault, one complaint."""
    found = problems(outside, COMMAND_STUDY.replace('policy = "plain-agent"', 'policy = "none"'))
    assert len([problem for problem in found if problem.startswith("model")]) == 1
