"""Two runs are held against each other: what must be equal, what may be put side by side, and what can't be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.core import layout
from runner.core.canonical import canonical_bytes, canonical_lines, sha256_digest
from runner.core.comparison import Comparison
from runner.core.errors import EvidenceError, StudyError
from runner.core.quantities import Measured
from runner.core.secret import Secret
from runner.pipeline.comparing import SHOWN, compare
from runner.pipeline.concluding import conclude, read_summary
from runner.pipeline.executing import run_study
from runner.pipeline.fitness import Asked
from runner.pipeline.originals import read_original
from runner.pipeline.rerunning import rerun
from runner.pipeline.sides import Side
from runner.summarize.seal import seal
from tests.fakes.pods import asking_client, client
from tests.fakes.recorded import keyed_gateway, played, recorded
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakes.surroundings import Surroundings

STUDY = CLAUDE_STUDY.replace("repetitions = 2", "repetitions = 1")
LIVE = COMMAND_STUDY.replace(
    'mode = "scripted", policy = "plain-agent"', 'mode = "live", base_url = "https://provider.example"'
)
RECORDED = COMMAND_STUDY.replace('policy = "plain-agent"', 'policy = "plain-agent", record = true')


def ran(outside: Surroundings, text: str = STUDY) -> Path:
    """A run that ended and was concluded."""
    outside.pods.roles.setdefault("trial", asking_client)
    folder = run_study(outside.world, outside.study(text)).folder
    conclude(outside.files, folder)
    return folder


def reran(outside: Surroundings, folder: Path) -> Path:
    """The run once more."""
    made = rerun(outside.world, read_original(outside.files, folder), Asked()).ran.folder
    conclude(outside.files, made)
    return made


def sides(outside: Surroundings, a: Path, b: Path) -> tuple[Side, Side]:
    return Side.of(outside.files, a, "one"), Side.of(outside.files, b, "two")


def compared(outside: Surroundings, a: Path, b: Path) -> Comparison:
    return compare(*sides(outside, a, b))


def with_changed(
    outside: Surroundings, a: Path, b: Path, name: str, change: Callable[[list[Any]], object]
) -> Comparison:
    """What is found when the values of a document of `b` were changed after its seal was looked at."""
    both = sides(outside, a, b)
    values = [json.loads(line) for line in outside.files.held[b / name].splitlines()]
    change(values)
    outside.files.held[b / name] = canonical_lines(values)
    return compare(*both)


def told(found: Comparison) -> list[tuple[str, str, str]]:
    return [(item.document, item.trial, item.field) for item in found.differences]


@pytest.fixture
def pair(outside: Surroundings) -> tuple[Path, Path]:
    """A run, and its rerun."""
    outside.pods.roles["trial"] = asking_client
    folder = ran(outside)
    return folder, reran(outside, folder)


def test_a_rerun_equals_its_original(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """Every document is counted, and what differs is on the list."""
    found = compared(outside, *pair)
    assert (found.kind, found.equal, found.relation) == ("equality", True, "B is a rerun of A (again)")
    assert (found.differences, found.estimates, found.warnings) == ((), (), ())
    assert {"lock.json", "plan.json", "inputs/study.json", "records.jsonl", "scores.jsonl", "summary.json"} <= {
        item.document for item in found.documents
    }
    assert {(item.field, item.reason) for item in found.volatile if item.document == "lock.json"} == {
        ("run", "occasion"),
        ("rerun_of", "occasion"),
    }
    assert all(item.same for item in found.documents)
    assert Comparison.from_bytes(found.to_bytes(), "comparison") == found


def test_two_runs_of_one_study_are_held_to_be_equal(outside: Surroundings) -> None:
    """No provider answers, so nothing may differ; a comment in the study's file makes no other study."""
    outside.pods.roles["trial"] = asking_client
    one, two = ran(outside), ran(outside, "# Again.\n" + STUDY)
    found = compared(outside, one, two)
    assert (found.kind, found.equal) == ("equality", True)
    assert "inputs/files/" in {item.what for item in found.not_compared}


def test_a_replay_equals_what_was_recorded(outside: Surroundings) -> None:
    """Who answers is declared to differ, and nothing that follows from the answers."""
    outside.pods.roles["trial"] = recorded()
    one = ran(outside, RECORDED)
    outside.pods.roles |= {"trial": played(), "gateway": keyed_gateway}
    two = reran(outside, one)
    found = compared(outside, one, two)
    assert (found.relation, found.equal) == ("B is a rerun of A (replay)", True)
    replay = {(item.document, item.field) for item in found.volatile if item.reason == "replay"}
    assert ("inputs/cassette.jsonl", "") in replay
    assert ("inputs/study.json", "model.*") in replay
    third = reran(outside, two)
    assert compared(outside, two, third).equal
    assert compared(outside, one, third).equal


def test_another_answer_is_a_difference_wherever_it_shows(outside: Surroundings) -> None:
    """The first difference is the first trial's answer; its digests follow."""
    outside.pods.roles["trial"] = client(b"an answer\n")
    one = ran(outside, COMMAND_STUDY)
    outside.pods.roles["trial"] = client(b"another\n")
    found = compared(outside, one, reran(outside, one))
    assert not found.equal
    plan = json.loads(outside.files.held[one / layout.PLAN])
    assert [(item.document, item.trial, item.field, item.a, item.b) for item in found.differences] == [
        ("records.jsonl", trial["trial"], "answer", '"an answer"', '"another"') for trial in plan["trials"]
    ]


def test_the_first_difference_comes_first(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """In the order of documents, of trials, and of fields within one."""

    def change(records: list[Any]) -> None:
        records[1]["answer"] = records[2]["answer"] = "other"
        records[1]["attempts"][0]["outcome"] = "timeout"

    found = with_changed(outside, *pair, layout.RECORDS, change)
    one, two = (json.loads(line)["trial"] for line in outside.files.held[pair[0] / layout.RECORDS].splitlines()[1:3])
    assert told(found) == [
        ("records.jsonl", one, "answer"),
        ("records.jsonl", one, "attempts[0].outcome"),
        ("records.jsonl", two, "answer"),
    ]
    assert found.differences_left_out == 0
    assert {item.document: item.different for item in found.documents if item.different} == {"records.jsonl": 3}


def test_a_missing_and_a_surplus_trial_are_differences(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """Each is one, whatever follows it in the file; in the order of the lines."""

    def change(records: list[Any]) -> None:
        records.append({**records[1], "trial": "third.r1.off"})
        del records[1]

    lost = json.loads(outside.files.held[pair[0] / layout.RECORDS].splitlines()[1])["trial"]
    found = with_changed(outside, *pair, layout.RECORDS, change)
    assert [(item.trial, item.field, item.only_in) for item in found.differences] == [
        (lost, "", "A"),
        ("third.r1.off", "", "B"),
    ]


def test_a_trial_that_stands_twice_is_one_too_many(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """Its first line is compared."""
    found = with_changed(outside, *pair, layout.SCORES, lambda lines: lines.insert(1, lines[0]))
    assert [(item.document, item.only_in) for item in found.differences] == [("scores.jsonl", "B")]


def test_another_order_of_lines_is_a_difference(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """Though each line has its equal."""
    found = with_changed(outside, *pair, layout.RECORDS, lambda lines: lines.reverse())
    assert [(item.document, item.trial, item.field, item.only_in) for item in found.differences] == [
        ("records.jsonl", "", "(order of lines)", "")
    ]


@pytest.mark.parametrize("name", [layout.SCORES, layout.PLAN, layout.index_tar("notes"), layout.PRICES])
def test_a_missing_document_is_a_difference(outside: Surroundings, pair: tuple[Path, Path], name: str) -> None:
    """Also a surplus one, seen from the other side."""
    one, two = sides(outside, *pair)
    del outside.files.held[pair[1] / name]
    assert [(item.document, item.field, item.only_in) for item in compare(one, two).differences] == [(name, "", "A")]
    assert [(item.document, item.field, item.only_in) for item in compare(two, one).differences] == [(name, "", "B")]


def test_an_input_that_is_no_json_is_compared_by_its_digest(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """Of a workspace both digests are told."""
    both = sides(outside, *pair)
    name = layout.corpus_tar("notes")
    outside.files.held[pair[1] / name] = b"another"
    (found,) = compare(*both).differences
    assert (found.document, found.b) == (name, f'"{sha256_digest(b"another")}"')


def test_of_very_many_differences_the_first_are_kept(outside: Surroundings, pair: tuple[Path, Path]) -> None:
    """And how many more there are."""

    def change(records: list[Any]) -> None:
        for record in records:
            record["findings"] = [{"kind": str(number), "detail": ""} for number in range(60)]

    found = with_changed(outside, *pair, layout.RECORDS, change)
    assert (len(found.differences), found.differences_left_out) == (SHOWN, 4 * 60 - SHOWN)
    assert len({item.trial for item in found.differences}) == 2


@pytest.mark.parametrize(
    "name", [layout.LOCK, layout.PLAN, layout.RECORDS, layout.SCORES, layout.STUDY, layout.PRICES, layout.SUMMARY]
)
def test_a_run_whose_seal_is_broken_is_compared_with_nothing(outside: Surroundings, name: str) -> None:
    """Its name and the document are told."""
    outside.pods.roles["trial"] = asking_client
    folder = ran(outside)
    data = outside.files.held[folder / name]
    outside.files.held[folder / name] = data.replace(b"1", b"2", 1)
    with pytest.raises(EvidenceError) as caught:
        Side.of(outside.files, folder, "mine")
    assert {problem.document for problem in caught.value.problems} == {f"mine: {name}"}


def test_a_run_without_a_summary_is_compared_with_nothing(outside: Surroundings) -> None:
    """It isn't concluded yet."""
    outside.pods.roles["trial"] = asking_client
    folder = run_study(outside.world, outside.study(STUDY)).folder
    with pytest.raises(StudyError, match=r"^mine: summary\.json: it isn't there: the run has no summary yet") as caught:
        Side.of(outside.files, folder, "mine")
    assert caught.value.exit_code == 2


def test_another_prompt_makes_no_controlled_comparison(outside: Surroundings) -> None:
    """What differs comes first, each thing once, and then the figures of both."""
    outside.pods.roles["trial"] = asking_client
    one, two = ran(outside), ran(outside, STUDY.replace("demo 1", "demo 2"))
    found = compared(outside, one, two)
    assert (found.kind, found.equal, found.relation) == ("uncontrolled", False, "neither is a rerun of the other")
    assert told(found)[0] == ("inputs/study.json", "", "seed")
    assert ("lock.json", "", "study_sha256") not in told(found)
    assert sum(item.different for item in found.documents) == len(found.differences)
    wall = next(item for item in found.estimates if (item.measure, item.figure, item.arm) == ("wall_ms", "mean", "off"))
    assert (wall.a, wall.b, wall.a_within_b) == (wall.b, wall.a, "unknown")
    assert any("both are fixtures" in warning for warning in found.warnings)


def test_other_code_makes_no_controlled_comparison(outside: Surroundings) -> None:
    """Unless the one is a rerun of the other: then it is one of the differences."""
    outside.pods.roles["trial"] = asking_client
    one = ran(outside)
    two = ran(outside)
    lock = json.loads(outside.files.held[two / layout.LOCK])
    lock["harness"]["source_sha256"] = sha256_digest(b"other code")
    relock(outside, two, lock)
    found = compared(outside, one, two)
    assert found.kind == "uncontrolled"
    assert told(found) == [("lock.json", "", "harness.source_sha256"), ("inputs/harness", "", "(the lock's code)")]


def relock(outside: Surroundings, folder: Path, lock: dict[str, Any]) -> None:
    """The run's lock says this, and its sealed summary names it."""
    data = canonical_bytes(lock) + b"\n"
    summary = read_summary(outside.files, folder)
    inputs = summary.inputs.model_copy(update={"lock": sha256_digest(data)})
    sealed = seal(summary.model_copy(update={"inputs": inputs}))
    outside.files.held |= {
        folder / layout.LOCK: data,
        folder / layout.SUMMARY: sealed.summary_bytes,
        folder / layout.CHECKSUM: sealed.checksum_bytes,
    }


def test_a_fixture_never_stands_beside_a_measurement_unsaid(outside: Surroundings) -> None:
    """It is the first thing that is said."""
    outside.pods.roles["trial"] = asking_client
    one, two = ran(outside), ran(outside)
    relock(outside, two, json.loads(outside.files.held[two / layout.LOCK]) | {"evidence": "measurement"})
    found = compared(outside, one, two)
    assert found.kind == "uncontrolled"
    assert [warning.partition(":")[0] for warning in found.warnings] == ["A is a fixture and B is a measurement"]


def test_the_machine_may_be_another_where_no_provider_answers(outside: Surroundings) -> None:
    """It decides no answer; its architecture does belong to what the images are."""
    outside.pods.roles["trial"] = asking_client
    one, two, three = ran(outside), ran(outside), ran(outside)
    lock = json.loads(outside.files.held[two / layout.LOCK])
    relock(outside, two, lock | {"engine": lock["engine"] | {"kernel": "7.0", "cpus": 64}})
    found = compared(outside, one, two)
    assert (found.kind, found.equal) == ("equality", True)
    assert {item.field for item in found.volatile if item.reason == "place"} == {"engine.kernel", "engine.cpus"}
    lock = json.loads(outside.files.held[three / layout.LOCK])
    relock(outside, three, lock | {"engine": lock["engine"] | {"architecture": "arm64"}})
    assert told(compared(outside, one, three)) == [("lock.json", "", "engine.architecture")]


def test_two_measurements_under_equal_conditions_stand_side_by_side(outside: Surroundings) -> None:
    """Each figure with its interval, and whether each point lies in the other's; on another machine, no more."""
    outside.world = replace(outside.world, provider_key=lambda: Secret("sk-a-key"))
    outside.pods.roles |= {"gateway": keyed_gateway, "trial": recorded("claude-sonnet-4-5")}
    one = ran(outside, LIVE)
    two = rerun(outside.world, read_original(outside.files, one), Asked(live=True)).ran.folder
    conclude(outside.files, two)
    found = compared(outside, one, two)
    assert (found.kind, found.equal, found.differences, found.warnings) == ("estimates", False, (), ())
    assert found.relation == "B is a rerun of A (live), measured afresh"
    assert compared(outside, one, ran(outside, LIVE)).kind == "estimates"
    ratio = next(item for item in found.estimates if item.measure == "total_tokens" and item.figure == "ratio")
    assert (ratio.arm, ratio.control, ratio.part, ratio.scale) == ("joined", "off", "complete_blocks", 1_000_000)
    assert (ratio.a, ratio.b, ratio.difference) == (Measured(1_000_000), Measured(1_000_000), Measured(0))
    lock = json.loads(outside.files.held[two / layout.LOCK])
    relock(outside, two, lock | {"engine": lock["engine"] | {"cpus": 64}})
    found = compared(outside, one, two)
    assert (found.kind, told(found)) == ("uncontrolled", [("lock.json", "", "engine.cpus")])
