"""A small retrieval study in memory, and trials that answer its queries as a test says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runner.pipeline.freezing import freeze_queries
from tests.fakes.attempts import lines
from tests.fakes.pods import leave

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tests.fakes.engine import Behaviour, Box
    from tests.fakes.surroundings import Surroundings

STUDY = """
format = "pairbench/study"
version = 1
name = "demo"
seed = "demo 1"
repetitions = 2
control = "words"
corpora = { notes = "../notes/corpus.toml" }
client = { kind = "retrieval", depth = 20 }
arms = [
  { name = "words", system = { kind = "bm25" } },
  { name = "nearest", system = { kind = "dense" } },
]
tasks = [{ id = "notes", corpus = "notes", queries = "set/queryset.toml" }]
"""
QUERY_SET = """
format = "pairbench/queryset"
version = 1
name = "questions"
description = "Questions."
licence = "CC0-1.0"
corpus = "../../notes/corpus.toml"
queries = { kind = "jsonl", path = "queries.jsonl" }
labels = { kind = "jsonl", path = "labels.jsonl" }
measures = { k = [1, 2] }
"""
QUERIES: list[dict[str, Any]] = [
    {"id": "move", "text": "Where do we move?", "kind": "literal"},
    {"id": "place", "text": "Which town is next?", "kind": "paraphrase", "split": "holdout"},
    {"id": "tall", "text": "How tall is it?", "kind": "no_answer", "split": "holdout", "tags": ["a-secret-tag"]},
]
LABELS = [
    {"query": "move", "source": "notes/plan.md", "grade": 3},
    {"query": "place", "source": "notes/plan.md", "grade": 2},
]
OTHER, PLAN = 1, 2
"""The passages of the corpus, by their sources."""


def retrieval_study(outside: Surroundings, text: str = STUDY) -> Path:
    """The study, its corpus and its query set are there, and frozen."""
    path = outside.study(text)
    folder = path.parent / "set"
    outside.files.put(folder / "queryset.toml", QUERY_SET)
    outside.files.put(folder / "queries.jsonl", "".join(json.dumps(query) + "\n" for query in QUERIES))
    outside.files.put(folder / "labels.jsonl", "".join(json.dumps(label) + "\n" for label in LABELS))
    freeze_queries(outside.world, folder / "queryset.toml")
    return path


def answering(
    answers: Mapping[str, Sequence[int]], change: Callable[[list[dict[str, Any]]], None] = lambda _: None
) -> Behaviour:
    """A trial that answers each query with these passages, best first; `change` may spoil what it prints."""

    def run(box: Box) -> int:
        config = json.loads(box.read("/in/retrieval.json"))
        neighbour = box.neighbour()
        assert neighbour is not None
        events: list[dict[str, Any]] = [
            {
                "type": "start",
                "format": "pairbench/retrieval-events",
                "version": 1,
                "client": "1",
                "system": config["system"],
                "tools": [],
                "servers": [],
                "sidecar": {"title": "qdrant", "version": "1.20.0"},
                "versions": {"qdrant-client": "1.20.0"},
                "depth": config["depth"],
                "threads": config["threads"],
                "queries": len(config["queries"]),
                "startup_us": 900,
            }
        ]
        for number, query in enumerate(config["queries"], 1):
            found = answers.get(query["id"], ())
            events.append(
                {
                    "type": "ranking",
                    "query": query["id"],
                    "results": [{"id": one, "score_e6": 900 - rank} for rank, one in enumerate(found)],
                    "unmapped": 0,
                    "error": "",
                    "embed_us": 100 * number,
                    "search_us": 10,
                    "decode_us": 1,
                    "total_us": 100 * number + 11,
                }
            )
        events.append({"type": "end", "queries": len(config["queries"])})
        change(events)
        leave(box, lines(*events))
        return 0

    return run
