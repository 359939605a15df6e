"""What of a retrieval study is found out before anything is built, and what its lock pins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from runner.cli.planning import render_forecast
from runner.core import layout
from runner.core.errors import EvidenceError, StudyError
from runner.core.lock import Lock
from runner.core.passages import Passage, passages_jsonl, read_passages
from runner.core.prices import LIST_PRICES
from runner.core.retrieval.queries import QuerySetLock, ResolvedQuerySet
from runner.pipeline.executing import run_study
from runner.pipeline.folder import read_run
from runner.pipeline.forecasting import forecast_of
from runner.pipeline.locking import plan_study
from tests.fakes.retrieval import STUDY, answering, retrieval_study

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings

GATE = """
[[gates]]
name = "floor"
measure = "{measure}"
arm = "{arm}"
figure = "{figure}"
end = "{end}"
at_least = "0"
{more}
"""


def refused(outside: Surroundings, **gate: str) -> str:
    given = {"measure": "R@2", "arm": "nearest", "figure": "value", "end": "estimate", "more": "", **gate}
    with pytest.raises(StudyError) as caught:
        plan_study(outside.world, retrieval_study(outside, STUDY + GATE.format(**given)))
    return str(caught.value)


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"measure": "R@3"}, "gates.floor.measure: the query set of 'notes' has no R@3: its measures.k is 1, 2"),
        ({"measure": "r@2"}, "gates.floor.measure: 'r@2' is none of R@k, "),
        ({"measure": "r@2"}, "(did you mean R@2?)"),
        ({"more": "at_most = 3"}, "gates.floor.at_most: "),
        (
            {"figure": "mean_difference", "end": "low"},
            "gates.floor: there is no interval of the queries that are meant: 2 queries; an interval needs at least 6",
        ),
        ({"measure": "RR", "more": 'kind = "no_answer"'}, "gates.floor: queries without an answer have no RR"),
        (
            {"measure": "abstention", "more": 'split = "development"'},
            "gates.floor: every query that is meant has an answer: there is none to abstain from",
        ),
        ({"more": 'set = "others"'}, "gates.floor.set: 'others' is not the id of a task"),
        ({"more": 'split = "development"\nkind = "paraphrase"'}, "gates.floor: no query is of this split and kind"),
        ({"arm": "theirs"}, "gates.floor.arm: 'theirs' is not the name of an arm"),
        ({"arm": "words", "figure": "mean_difference"}, "gates.floor.arm: 'words' is not a treatment"),
    ],
)
def test_a_gate_that_nothing_could_judge_is_refused(outside: Surroundings, gate: dict[str, str], said: str) -> None:
    """A measure, set, split or arm that the study doesn't have."""
    assert said in refused(outside, **gate)


def test_rankings_are_gated_in_retrieval_studies_only(outside: Surroundings) -> None:
    """Any other study has none."""
    text = GATE.format(measure="R@2", arm="joined", figure="value", end="estimate", more="")
    from_command = outside.study()
    outside.files.put(from_command, (outside.files.read(from_command) or b"").decode() + text)
    with pytest.raises(StudyError, match="only a retrieval study has rankings"):
        plan_study(outside.world, from_command)


def test_a_label_of_no_source_is_told_before_the_run(outside: Surroundings) -> None:
    """With its line; though it was frozen like that for another corpus, as its lock would say too."""
    path = retrieval_study(outside)
    labels = path.parent / "set" / "labels.jsonl"
    lines = [json.loads(line) for line in (outside.files.read(labels) or b"").splitlines()]
    lines[1]["source"] = "notes/elsewhere.md"
    outside.files.put(labels, "".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(StudyError) as caught:
        plan_study(outside.world, path)
    assert "labels_sha256" in str(caught.value)


def test_a_set_is_resolved_to_the_names_of_trec_files(outside: Surroundings) -> None:
    """Labels beside the study, with the sources of the corpus."""
    planned = plan_study(outside.world, retrieval_study(outside))
    made = planned.query_sets["notes"]
    assert [(label.query, label.source, label.grade) for label in made.labels] == [
        ("move", "notes/plan.md", 3),
        ("place", "notes/plan.md", 2),
    ]
    assert (made.corpus, made.ks) == ("notes", (1, 2))


def test_the_lock_pins_what_is_asked_and_how_it_is_judged(outside: Surroundings) -> None:
    """The set's own lock, its resolved form, and an index with sparse vectors from the image of retrieval."""
    path = retrieval_study(outside)
    outside.pods.roles["trial"] = answering({})
    folder = run_study(outside.world, path).folder
    lock = Lock.from_bytes(outside.files.read(folder / layout.LOCK) or b"", layout.LOCK)
    pin = lock.query_sets["notes"]
    frozen = QuerySetLock.from_bytes(outside.files.read(path.parent / "set" / "queryset.lock.json") or b"", "lock")
    made = outside.files.read(folder / layout.query_set("notes")) or b""
    assert pin.lock_sha256 == frozen.digest()
    assert pin.resolved_sha256 == ResolvedQuerySet.from_bytes(made, "set").digest()
    assert (pin.queries, pin.labels) == (3, 2)
    assert "retrieval" in {image.name for image in lock.images}
    index = outside.files.read(folder / layout.index_tar("notes")) or b""
    assert b'"sparse":{"bm25":{"modifier":"idf"}}' in index


def test_a_set_that_asks_otherwise_than_the_study_is_refused(outside: Surroundings) -> None:
    """Rankings of other queries would be measured with these labels."""
    path = retrieval_study(outside)
    outside.pods.roles["trial"] = answering({})
    folder = run_study(outside.world, path).folder
    name = folder / layout.query_set("notes")
    outside.files.write(name, (outside.files.read(name) or b"").replace(b"How tall is it?", b"How wide is it?"))
    with pytest.raises(EvidenceError, match="its queries aren't those of the study"):
        read_run(outside.files, folder)


def test_passages_are_read_as_they_are_written() -> None:
    """With and without boundaries; anything else is refused with its line."""
    passages = (
        Passage(1, "a.md", 0, 3, "a", "abc"),
        Passage(2, "b.md", 0, 3, "b", "äöü", workspace="w", status="deleted", known_from_s=5, expires_s=9),
    )
    data = passages_jsonl(passages)
    assert read_passages(data, "p") == passages
    for bad in (data.replace(b'"start":0', b'"start":"0"'), data.replace(b'"end":3,', b""), b"[]\n"):
        with pytest.raises(EvidenceError, match="p line 1: not a passage"):
            read_passages(bad, "p")
    with pytest.raises(EvidenceError, match="not the passages as they are written"):
        read_passages(data.replace(b'"id":1,', b'"id":1,"more":2,'), "p")


def test_a_study_without_a_model_promises_no_request(outside: Surroundings) -> None:
    """Neither in figures nor in words: time is all that its limits bound."""
    planned = plan_study(outside.world, retrieval_study(outside))
    found = forecast_of(planned.study, planned.plan, LIST_PRICES)
    assert (found.requests, [level.number for level in found.levels if level.level == "request"]) == (0, [0])
    console = Console(record=True, width=200)
    render_forecast(found, console)
    said = console.export_text()
    assert said.startswith("a trial: at most ")
    for word in ("request", "caps", "output", "tokens"):
        assert word not in said
