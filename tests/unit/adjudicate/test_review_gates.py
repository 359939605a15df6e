"""Each gate of a contract fails for what it is about, and for nothing else; the assessment is written all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.canonical import sha256_digest
from runner.core.errors import StudyError
from runner.core.outcomes import Outcome
from runner.core.reconsolidation.contract import Floor
from runner.core.reconsolidation.observation import Hypothesis, Invalid, Observation, Violation
from runner.core.reconsolidation.packet import Decision, Entry, Packet
from runner.pipeline.reviewing import Scoring, prepare, score
from tests.fakes.files import MemoryFiles
from tests.fakes.reviews import (
    FIXTURE,
    OTHER_PERSON,
    PERSON,
    REGISTER,
    RUN,
    TERMS,
    Made,
    changed,
    decided,
    judge,
    world_of,
    write_run,
)

if TYPE_CHECKING:
    from runner.core.reconsolidation.assessment import Assessment

REVIEW, OUT = Path("/review"), Path("/out")
Decide = Callable[[Entry], Decision]


def assessed(
    made: Made | None = None,
    *people: tuple[str, Decide],
    kind: str = "human",
    newer: Mapping[str, bytes] | None = None,
) -> tuple[Assessment, str, MemoryFiles]:
    """The assessment of a run by these people, by one who judges rightly where none are named."""
    files = MemoryFiles()
    write_run(files, made)
    prepare(world_of(files), RUN, REVIEW)
    packet = Packet.from_bytes(files.read(REVIEW / "public/packet.json") or b"", "packet")
    paths = []
    for name, decide in people or ((PERSON, judge),):
        paths.append(Path(f"/{name}.json"))
        files.write(paths[-1], decided(packet, name, decide, kind).to_bytes())
    floors = {}
    for name, data in (newer or {}).items():
        floors[name] = Path(f"/{name}-now.json")
        files.write(floors[name], data)
    found, text = score(world_of(files), Scoring(REVIEW, tuple(paths), OUT, REGISTER, floors))
    return found, text, files


def failed(found: Assessment) -> set[str]:
    """Gates that aren't passed, with their arm and split."""
    return {
        "/".join(part for part in (gate.gate, gate.arm, gate.split) if part)
        for gate in found.gates
        if gate.verdict != "passed"
    }


def of(trial: str, case: str, **changes: Any) -> Callable[[Observation], Observation | None]:
    """One observation is otherwise; without changes it is missing."""

    def change(seen: Observation) -> Observation | None:
        if (seen.trial, seen.case) != (trial, case):
            return seen
        return seen.model_copy(update=changes) if changes else None

    return change


def silent(_case: Any, _number: int, _arm: str) -> list[Hypothesis]:
    return []


def exact(case: Any, _number: int, _arm: str) -> list[Hypothesis]:
    return [Hypothesis(statement=one.meaning, support=one.support) for one in case.hypotheses]


def repeated(case: Any, number: int, arm: str) -> list[Hypothesis]:
    return exact(case, number, arm) * 2


def without_answers(arm: str) -> Callable[[Observation], Observation]:
    def change(seen: Observation) -> Observation:
        return seen.model_copy(update={"answers": ()}) if seen.trial.endswith(f".{arm}") else seen

    return change


TRIAL = "development.r2.merge_only"
QUANTITY = "dev-quantity-1"
RUNS: dict[str, tuple[Made, set[str]]] = {
    "nothing wrong": (Made(), set()),
    "a trial that timed out": (
        Made(outcomes={TRIAL: Outcome.TIMEOUT}),
        {"complete_repeats/merge_only/development", "measured_rows"},
    ),
    "a case that wasn't observed": (
        Made(change=of(TRIAL, QUANTITY)),
        {"complete_repeats/merge_only/development", "measured_rows", "no_probe_lost/merge_only/development"},
    ),
    "usage that isn't known": (Made(unknown=frozenset({TRIAL})), {"known_usage"}),
    "a false merge": (
        Made(change=of(TRIAL, QUANTITY, groups=(("s1", "s4"), ("s2", "s3")))),
        {"false_merge_pairs/merge_only/development"},
    ),
    "a lost fact": (
        Made(change=of(TRIAL, QUANTITY, survivors=("s1", "s2", "s4"))),
        {"lost_facts/merge_only/development"},
    ),
    "a dead seed recalled": (
        Made(change=of(TRIAL, "dev-expiry-1", boundary_violations=(Violation(kind="recalled", seed="s1"),))),
        {"boundary_violations/merge_only/development"},
    ),
    "something that can't be read": (
        Made(change=of(TRIAL, QUANTITY, invalid=(Invalid(kind="point", detail="no payload"),))),
        {"invalid_observations/merge_only/development"},
    ),
    "duplicates left alone": (
        Made(change=lambda seen: seen.model_copy(update={"groups": ()}) if seen.trial == TRIAL else seen),
        {"duplicate_coverage/merge_only/development"},
    ),
    "a probe that the control covers, lost once": (
        Made(change=of("holdout.r1.connections", "hold-scope-1", answers=())),
        {"no_probe_lost/connections/holdout"},
    ),
    "no answer more than the control": (
        Made(change=lambda seen: seen.model_copy(update={"answers": seen.answers[:1]})),
        {
            *(f"answer_lift/connections/{split}" for split in ("development", "holdout")),
            *(f"answer_lift/connections-second/{split}" for split in ("development", "holdout")),
            *(f"control_references/original_only/{split}" for split in ("development", "holdout")),
        },
    ),
    "a control that answers nothing": (
        Made(change=without_answers("original_only")),
        {f"control_references/original_only/{split}" for split in ("development", "holdout")},
    ),
    "a control that answers nothing in one repeat": (
        Made(change=lambda seen: without_answers("r2.original_only")(seen) if seen.trial[0] == "h" else seen),
        {"control_references/original_only/holdout"},
    ),
    "abstaining everywhere": (
        Made(hypotheses=silent),
        {
            f"{gate}/{arm}/{split}"
            for gate in ("precision", "recall")
            for arm in ("connections", "connections-second")
            for split in ("development", "holdout")
        },
    ),
    "everything twice": (
        Made(hypotheses=repeated),
        {
            f"precision/{arm}/{split}"
            for arm in ("connections", "connections-second")
            for split in ("development", "holdout")
        },
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_gate_fails_for_what_it_is_about(name: str) -> None:
    """And the assessment says which."""
    made, expected = RUNS[name]
    found, text, files = assessed(made)
    assert failed(found) == expected
    assert found.passed is (not expected)
    assert files.read(OUT / "assessment.json") == found.to_bytes()
    assert text.splitlines()[0] == "assessment by people"
    assert "agreement: 1 reviewer, " in text
    assert "gate holdout_claim: passed, 1 time (0)" in text


def test_abstaining_is_undefined_and_no_success() -> None:
    """Nothing proposed has no precision."""
    found, _, _ = assessed(Made(hypotheses=silent))
    gate = next(gate for gate in found.gates if gate.gate == "precision")
    assert (gate.verdict, gate.figure) == ("undefined", "0 of 0")
    assert gate.reasons == ("a share of nothing is undefined, and no success",)


def test_a_repeated_output_is_in_the_denominator_and_matches_nothing() -> None:
    """One match a reference, in each case, arm and repeat."""
    found, _, _ = assessed(Made(hypotheses=repeated))
    arm = next(one for one in found.arms if (one.arm, one.split) == ("connections", "development"))
    assert (arm.produced, arm.labels, arm.matched, arm.repeated) == (54, 27, 27, 27)


def test_uncertain_earns_nothing_though_the_text_is_that_of_a_reference() -> None:
    """Scorer v1 matches what people call uncertain here; neither changes the other."""

    def unsure(entry: Entry) -> Decision:
        return Decision(entry=entry.entry, decision="uncertain", reference=None)

    found, _, _ = assessed(Made(hypotheses=exact), (PERSON, unsure))
    arm = next(one for one in found.arms if (one.arm, one.split) == ("connections", "holdout"))
    v1 = next(one for one in found.v1 if (one.arm, one.split) == ("connections", "holdout"))
    assert (arm.matched, arm.uncertain) == (0, 27)
    assert (v1.counts["hypotheses_matched"], v1.passed) == (27, True)
    assert {"precision/connections/holdout", "recall/connections/holdout", f"attention/{PERSON}"} <= failed(found)


def test_v1_stands_beside_and_is_not_turned_into_a_pass() -> None:
    """People pass other wordings; what scorer v1 says of them stays."""
    found, text, _ = assessed()
    assert found.passed
    assert not any(score.passed for score in found.v1)
    assert "v1 verdict, connections, holdout: not passed (precision, recall)" in text
    assert found.non_activating


def test_a_fixture_passes_no_gate_and_says_so_first() -> None:
    """In the first key of the document and in the first line of the words."""
    found, text, files = assessed(None, (FIXTURE, judge), kind="fixture")
    assert text.splitlines()[0] == "fixture assessment: passes no gate"
    assert (files.read(OUT / "assessment.json") or b"").startswith(b'{"about":"fixture assessment: passes no gate"')
    assert found.passed is False
    assert {gate.verdict for gate in found.gates} == {"fixture"}


def test_both_must_say_equivalent() -> None:
    """Where two people differ the output matches nothing, and alpha says how far they agree."""

    def doubts(entry: Entry) -> Decision:
        said = judge(entry)
        is_doubted = said.decision == "equivalent" and int(entry.entry[-1], 16) % 2 == 0
        return Decision(entry=entry.entry, decision="uncertain", reference=None) if is_doubted else said

    found, _, _ = assessed(None, (PERSON, judge), (OTHER_PERSON, doubts))
    alone, _, _ = assessed()
    matched = sum(arm.matched for arm in found.arms)
    assert found.agreement.reviewers == 2
    assert matched + found.agreement.disagreed == sum(arm.matched for arm in alone.arms)
    assert found.agreement.disagreed == sum(arm.disagreed for arm in found.arms) > 20
    assert 0 < found.agreement.alpha_ppm.value < 1_000_000


def test_whoever_says_equivalent_to_everything_fails_the_attention_checks() -> None:
    """Their other decisions are scored, and shown apart from it."""

    def yes(entry: Entry) -> Decision:
        own = next((item.reference for item in entry.references if item.support == entry.support), None)
        return Decision(entry=entry.entry, decision="equivalent" if own else "not_equivalent", reference=own)

    found, _, _ = assessed(None, (PERSON, yes))
    review = found.reviews[0]
    assert (review.positives, review.positives_right, review.negatives, review.negatives_right) == (2, 2, 2, 0)
    assert failed(found) == {f"attention/{PERSON}"}


def test_attention_checks_are_in_no_denominator() -> None:
    """As many outputs with them as without."""
    with_checks, _, _ = assessed()
    without, _, _ = assessed(changed(Made(), attention_checks=0))
    assert with_checks.arms == without.arms
    assert "attention: the contract asks for no entries whose answer is known" in without.not_checked


PINNED = b'{"format":"f","study":"other","gates":[{"figure":41}],"a/b":{"c":7},"name":"x"}\n'


def newer(figure: int, study: str = "other") -> bytes:
    return b'{"format":"f","study":"%s","gates":[{"figure":%d}],"a/b":{"c":%d},"name":"y"}' % (
        study.encode(),
        figure,
        figure,
    )


@pytest.mark.parametrize(
    ("floor", "data", "figure", "reasons"),
    [
        ({"metric": "/gates/0/figure"}, newer(41), "41", ()),
        ({"metric": "/gates/0/figure"}, newer(40), "40", ()),
        ({"metric": "/a~1b/c"}, newer(8), "8", ()),
        ({"metric": "/a~1b/c", "better": "lower"}, newer(7), "7", ()),
        ({"metric": "/a~1b/c", "better": "lower"}, newer(8), "8", ()),
        ({"metric": "/a~1b/c"}, None, "unavailable", ("no newer file was given: --floor cost=FILE",)),
        (
            {"metric": "/a~1b/c"},
            PINNED,
            "unavailable",
            ("the newer file of floor cost is the one that the contract names: nothing was measured since",),
        ),
        (
            {"metric": "/a~1b/c"},
            newer(9, "mine"),
            "unavailable",
            ("the newer file of floor cost is of another study: f mine, not f other",),
        ),
        (
            {"metric": "/name"},
            newer(9),
            "unavailable",
            (
                'what the file of floor cost has at /name is no integer: "x"',
                'what the newer file of floor cost has at /name is no integer: "y"',
            ),
        ),
        (
            {"metric": "/a~1b/c"},
            b"no JSON",
            "unavailable",
            ("the newer file of floor cost is of another study: nothing, not f other",),
        ),
    ],
)
def test_a_figure_of_another_study_may_not_get_worse(
    floor: dict[str, Any], data: bytes | None, figure: str, reasons: tuple[str, ...]
) -> None:
    """The newer file says what it is now, the one that the contract names what it was; both go into the assessment."""
    made, held = with_floor(**floor)
    found, _, _ = assessed(made, newer={} if data is None else {"cost": data})
    gate = next(gate for gate in found.gates if gate.gate == "floor cost")
    is_kept = (figure, held.better) in {("41", "higher"), ("8", "higher"), ("7", "lower")}
    assert (gate.verdict, gate.figure, gate.reasons) == ("passed" if is_kept else "failed", figure, reasons)
    (told,) = found.floors
    assert told.pinned_sha256 == sha256_digest(PINNED)
    assert told.found_sha256 == ("" if data is None else sha256_digest(data))


def with_floor(**floor: Any) -> tuple[Made, Floor]:
    """A run whose contract names a figure of another study."""
    held = Floor(name="cost", file="cost.json", sha256=sha256_digest(PINNED), **floor)
    return replace(changed(Made(), floors=(held,)), floors={"cost": PINNED}), held


@pytest.mark.parametrize(
    ("data", "reason"),
    [(PINNED + b" ", "the file of floor cost isn't the file that the contract names"), (None, "is missing")],
)
def test_a_floor_whose_own_file_is_another_is_not_held(data: bytes | None, reason: str) -> None:
    """Whatever the newer one says."""
    made, _ = with_floor(metric="/a~1b/c")
    found, _, _ = assessed(replace(made, floors={} if data is None else {"cost": data}), newer={"cost": newer(9)})
    gate = next(gate for gate in found.gates if gate.gate == "floor cost")
    assert gate.verdict == "failed"
    assert reason in gate.reasons[0]


def test_a_file_for_no_floor_is_refused() -> None:
    """By the names of those that there are; nothing is written."""
    with pytest.raises(StudyError, match="the contract has no floor 'price'"):
        assessed(with_floor(metric="/a~1b/c")[0], newer={"price": newer(9)})


def test_checks_that_nobody_has_to_know_are_told() -> None:
    """A threshold of nothing is no gate."""
    thresholds = {**TERMS.thresholds.__dict__, "attention": "0"}
    found, text, _ = assessed(changed(Made(), thresholds=thresholds))
    assert not [gate for gate in found.gates if gate.gate == "attention"]
    assert "not checked: attention: the contract asks nobody to know any of them" in text


def test_the_holdout_is_marked_by_the_first_run_that_is_scored() -> None:
    """With its name and the date; the assessment says that this run inspected it."""
    found, _, files = assessed()
    assert found.holdout_inspected == "by this run"
    assert files.read(REGISTER) == (
        b'{"format":"pairbench/holdout-register","inspected":[{"assessment_sha256":"'
        + found.digest().encode()
        + b'","date":"2026-01-02","decisions":["'
        + found.reviews[0].sha256.encode()
        + b'"],"holdout_sha256":"'
        + found.holdout_sha256.encode()
        + b'","lock_sha256":"'
        + found.run.lock_sha256.encode()
        + b'","run":"reconsolidation-1"}],"version":1}\n'
    )
