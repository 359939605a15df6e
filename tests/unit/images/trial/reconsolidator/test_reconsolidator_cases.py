"""What a case leaves in the store, in each mode; and what the launch file has to be."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from messages.replies import ProviderError, Reply
from reconsolidator.connecting import request_for
from reconsolidator.launch import Case, LaunchError, read_launch
from reconsolidator.reconsolidating import Done, Reconsolidator
from reconsolidator.store import Point, Recalled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reconsolidator.launch import Launch

WORDS = ("disk", "full", "fridays", "dumps", "size")


class Words:
    """A text's vector says which of a few words it has."""

    def embed(self, text: str) -> Any:
        found = set(text.casefold().replace(".", "").replace("?", "").split())
        return np.array([float(word in found) for word in WORDS])


class Shelf:
    """Collections in memory, searched exactly."""

    def __init__(self) -> None:
        self.collections: dict[str, list[Point]] = {}

    def create(self, collection: str, dimension: int) -> None:
        assert collection not in self.collections
        assert dimension == 384
        self.collections[collection] = []

    def put(self, collection: str, points: Sequence[Point]) -> None:
        self.collections[collection] += points

    def recall(self, collection: str, vector: Sequence[float], limit: int) -> list[Recalled]:
        scored = [
            (-float(np.dot(point.vector, vector)), point.id, point.payload["kind"], point.payload["statement"])
            for point in self.collections[collection]
            if point.payload.get("status") == "live"
        ]
        return [Recalled(*rest) for _, *rest in sorted(scored)][:limit]

    def payloads(self, collection: str) -> list[Mapping[str, Any]]:
        points = self.collections[collection]
        assert [point.id for point in points] == list(range(1, len(points) + 1))
        return [point.payload for point in points]


class Says:
    """A model that says the same to every request, and keeps what it was asked."""

    def __init__(self, text: str, stop_reason: str = "end_turn") -> None:
        self._reply = Reply("m", stop_reason, [{"type": "text", "text": text}], {"input_tokens": 3, "output_tokens": 4})
        self.asked: list[Any] = []

    async def ask(self, request: Mapping[str, Any]) -> Reply:
        self.asked.append(request)
        return self._reply


SEEDS = [
    {"id": "s1", "statement": "The disk is full on Fridays.", "status": "live"},
    {"id": "s2", "statement": "Dumps stay.", "status": "live"},
    {"id": "s3", "statement": "The disk is  full on Fridays.", "status": "live"},
    {"id": "s4", "statement": "The disk has no size.", "status": "deleted"},
    {"id": "s5", "statement": "The size is 9.", "status": "expired"},
]
PROBES = [{"id": "p1", "question": "Why is the disk full?"}, {"id": "p2", "question": "size disk?"}]


def _given(**changed: Any) -> dict[str, Any]:
    rest = {"event": "e1", "evidence_time": "2026-01-05T09:00:00Z", "scope": "team", "attribution": "ana"}
    return {
        "format": "pairbench/reconsolidation-launch",
        "version": 1,
        "mode": "connections",
        "clock": "2026-08-01T00:00:00Z",
        "recall_budget": {"facts": 2},
        "url": "http://127.0.0.1:6333",
        "model": "m",
        "max_output_tokens": 100,
        "max_retries": 2,
        "threads": 1,
        "cases": [{"case": "c01", "seeds": [{**rest, **seed} for seed in SEEDS], "probes": PROBES}],
    } | changed


def _launch(folder: Path, **changed: Any) -> Launch:
    path = folder / "reconsolidation.json"
    path.write_text(json.dumps(_given(**changed)))
    return read_launch([str(path)])


def _stored(launch: Launch, model: Says | None) -> tuple[list[Mapping[str, Any]], Done]:
    shelf = Shelf()
    system = Reconsolidator(launch, shelf, Words(), model)
    done = asyncio.run(system.reconsolidate(launch.cases[0]))
    assert list(shelf.collections) == ["case-c01"]
    return shelf.payloads("case-c01"), done


def test_the_control_keeps_every_live_seed_and_answers_from_what_it_recalls(tmp_path: Path) -> None:
    """As a fact of its own; what expired or was deleted is never stored, and answers are no statements."""
    payloads, done = _stored(_launch(tmp_path, mode="original_only"), None)
    assert payloads == [
        {"kind": "fact", "members": ["s1"], "statement": "The disk is full on Fridays.", "status": "live"},
        {"kind": "fact", "members": ["s2"], "statement": "Dumps stay.", "status": "live"},
        {"kind": "fact", "members": ["s3"], "statement": "The disk is  full on Fridays.", "status": "live"},
        {"kind": "answer", "probe": "p1", "answer": "The disk is full on Fridays.", "recalled": [1, 3]},
        {"kind": "answer", "probe": "p2", "answer": "The disk is full on Fridays.", "recalled": [1, 3]},
    ]
    assert (done.facts, done.hypotheses, done.malformed, done.answers) == (3, 0, 0, 2)


def test_duplicates_become_one_fact(tmp_path: Path) -> None:
    """And the recall budget holds more different statements."""
    payloads, _ = _stored(_launch(tmp_path, mode="merge_only"), None)
    assert [(payload["kind"], payload.get("members")) for payload in payloads[:3]] == [
        ("fact", ["s1", "s3"]),
        ("fact", ["s2"]),
        ("answer", None),
    ]
    assert payloads[2]["recalled"] == [1, 2]


def test_what_the_model_connects_is_kept_and_recalled(tmp_path: Path) -> None:
    """Word for word, duplicates and unknown support included."""
    entry = {"statement": "The disk is full because dumps stay.", "support": ["s1", "s9"]}
    payloads, done = _stored(_launch(tmp_path), Says(json.dumps({"connections": [entry, entry, 5]})))
    kept = {"kind": "hypothesis", **entry, "status": "live"}
    assert payloads[2:4] == [kept, kept]
    assert payloads[4] == {"kind": "answer", "probe": "p1", "answer": entry["statement"], "recalled": [1, 3]}
    assert (done.facts, done.hypotheses, done.malformed) == (2, 2, 1)


def test_the_model_sees_live_seeds_and_no_question(tmp_path: Path) -> None:
    """By their ids, with event, time, scope and attribution."""
    launch = _launch(tmp_path)
    request = request_for(launch, launch.cases[0])
    (message,) = request["messages"]
    assert json.loads(message["content"])["statements"][0] == {
        "id": "s1",
        "statement": "The disk is full on Fridays.",
        "event": "e1",
        "time": "2026-01-05T09:00:00Z",
        "scope": "team",
        "by": "ana",
    }
    assert [seed["id"] for seed in json.loads(message["content"])["statements"]] == ["s1", "s2", "s3"]
    assert "Why is the disk full" not in json.dumps(request)
    assert (request["model"], request["max_tokens"]) == ("m", 100)


def test_an_answer_that_was_cut_is_none(tmp_path: Path) -> None:
    """Half of a model's connections would look like all of them."""
    launch = _launch(tmp_path)
    with pytest.raises(ProviderError) as caught:
        _stored(launch, Says('{"connections": []}', "max_tokens"))
    assert caught.value.message == "the model stopped with max_tokens"


def test_live_seeds_only_count_as_live(tmp_path: Path) -> None:
    """The launch file says of each seed what became of it."""
    case: Case = _launch(tmp_path).cases[0]
    assert [seed.id for seed in case.live()] == ["s1", "s2", "s3"]


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "other"},
        {"version": 2},
        {"cases": "none"},
        {"recall_budget": {"facts": 0}},
        {"threads": True},
        {"model": None},
        {"cases": [{"case": "c01", "seeds": [{"id": "s1"}], "probes": []}]},
    ],
)
def test_a_launch_that_is_not_what_it_should_be_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    """With the file's name."""
    with pytest.raises(LaunchError, match=r"reconsolidation\.json"):
        _launch(tmp_path, **changed)


def test_one_file_is_asked_for() -> None:
    """No more, no less."""
    with pytest.raises(LaunchError, match="usage"):
        read_launch([])


def test_a_mode_that_there_is_not_is_named(tmp_path: Path) -> None:
    """With those that there are."""
    with pytest.raises(
        LaunchError, match="no mode is called 'magic'; there are original_only, merge_only, connections"
    ):
        _launch(tmp_path, mode="magic")
