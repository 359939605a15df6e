"""Scorer v1, rule by rule, on a case of five seeds with one class, one reference and two probes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.measure.reconsolidation import v1

CASE: dict[str, Any] = {
    "seeds": [
        {"id": "s1", "status": "live"},
        {"id": "s2", "status": "live"},
        {"id": "s3", "status": "live"},
        {"id": "s4", "status": "live"},
        {"id": "s5", "status": "deleted"},
    ],
    "duplicate_classes": [["s1", "s2"]],
    "required_survivors": ["s1", "s2", "s3", "s4"],
    "hypotheses": [{"id": "h1", "meaning": "The disk fills up because of the dumps.", "support": ["s1", "s3"]}],
    "probes": [
        {"id": "p1", "answers": ["The build starts at 01:30.", "It starts at half past one."]},
        {"id": "p2", "answers": ["Nothing is released."]},
    ],
}
MATCH = {"statement": "The disk fills up because of the dumps.", "support": ["s3", "s1"]}
EMPTY: dict[str, Any] = {
    "groups": [],
    "survivors": [],
    "hypotheses": [],
    "answers": [],
    "boundary_violations": [],
    "invalid": [],
}
PERFECT: dict[str, Any] = {
    **EMPTY,
    "groups": [["s1", "s2"]],
    "survivors": ["s1", "s2", "s3", "s4"],
    "hypotheses": [MATCH],
    "answers": [
        {"probe": "p1", "answer": "the build starts at 01:30"},
        {"probe": "p2", "answer": "Nothing is released."},
    ],
}


def counts(observation: dict[str, Any], *names: str) -> tuple[int, ...]:
    found = v1.score(CASE, {**EMPTY, **observation})
    return tuple(found[name] for name in names)


def test_a_perfect_observation() -> None:
    """Every count of the worked example."""
    assert v1.score(CASE, PERFECT) == {
        "cases": 1,
        "false_merge_pairs": 0,
        "lost_facts": 0,
        "required_survivors": 4,
        "duplicate_classes_covered": 1,
        "duplicate_classes": 1,
        "hypotheses_matched": 1,
        "hypotheses_produced": 1,
        "hypotheses_expected": 1,
        "probes_covered": 2,
        "probes": 2,
        "invalid_observations": 0,
        "boundary_violations": 0,
    }
    assert v1.verdict(v1.total([v1.score(CASE, PERFECT)]))["passed"] is True


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([["s1", "s2"]], (0, 1)),
        ([["s2", "s1"]], (0, 1)),
        # Two groups of one component: s1-s3 and s2-s3 are false, though no group holds s1 and s3.
        ([["s1", "s2"], ["s2", "s3"]], (2, 0)),
        ([["s1", "s3"], ["s3", "s4"], ["s4", "s2"]], (5, 0)),
        ([["s3", "s4"]], (1, 0)),
        ([["s1", "s2"], ["s3", "s4"]], (1, 1)),
        ([["s1", "s2"], ["s1", "s2"]], (0, 1)),
    ],
)
def test_overlapping_groups_are_one_component(groups: list[list[str]], expected: tuple[int, int]) -> None:
    """Pairs of its closure that no class holds are false merges; a class is covered by exactly its members."""
    assert counts({"groups": groups}, "false_merge_pairs", "duplicate_classes_covered") == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([["s1"]], (1, 0, 0)),
        ([[]], (1, 0, 0)),
        ([["s1", "s1", "s2"]], (1, 0, 0)),
        ([["s1", "s2", "nobody"]], (1, 0, 0)),
        ([["s1", "s3", "nobody"]], (1, 1, 0)),
        ([["s1", "s2"], ["s2", "nobody"]], (1, 0, 0)),
    ],
)
def test_an_invalid_group_earns_nothing_and_hides_nothing(groups: list[list[str]], expected: tuple[int, ...]) -> None:
    """Counted as invalid; no class is covered with it, and what it merges wrongly still counts."""
    assert (
        counts({"groups": groups}, "invalid_observations", "false_merge_pairs", "duplicate_classes_covered") == expected
    )


def test_what_no_fact_stands_for_is_lost() -> None:
    """Each required survivor counts; one that nobody knows, and one that stands twice, are invalid."""
    names = ("lost_facts", "invalid_observations")
    assert counts({"survivors": ["s1", "s3"]}, *names) == (2, 0)
    assert counts({"survivors": ["s1", "s2", "s3", "s4", "zz"]}, *names) == (0, 1)
    assert counts({"survivors": ["s1", "s1", "s1", "s2", "s3", "s4"]}, *names) == (0, 2)


@pytest.mark.parametrize(
    ("hypotheses", "expected"),
    [
        ([MATCH], (1, 1, 0)),
        ([{**MATCH, "statement": "  The disk\u00a0fills\n up because of the dumps. "}], (1, 1, 0)),
        ([{**MATCH, "statement": "The disk fills up because of the dumps"}], (0, 1, 0)),
        ([{**MATCH, "statement": "the disk fills up because of the dumps."}], (0, 1, 0)),
        ([{**MATCH, "support": ["s1"]}], (0, 1, 0)),
        ([{**MATCH, "support": ["s1", "s3", "s4"]}], (0, 1, 0)),
        ([MATCH, MATCH], (1, 2, 0)),
        ([{**MATCH, "support": ["s1", "s3", "s3"]}], (0, 1, 1)),
        ([{**MATCH, "support": ["s1", "nobody"]}], (0, 1, 1)),
        ([{**MATCH, "support": []}], (0, 1, 1)),
        ([], (0, 0, 0)),
    ],
)
def test_a_hypothesis_matches_by_text_and_support(hypotheses: list[dict[str, Any]], expected: tuple[int, ...]) -> None:
    """Exactly but for white space and NFC, one to one: a second one of the same is a false positive."""
    found = counts({"hypotheses": hypotheses}, "hypotheses_matched", "hypotheses_produced", "invalid_observations")
    assert found == expected


def test_composed_and_decomposed_letters_are_the_same() -> None:
    """NFC folds them, in hypotheses and answers."""
    assert v1.folded("Cafe\u0301") == "Caf\u00e9"
    assert v1.same_tokens("CAFE\u0301", "caf\u00e9")


@pytest.mark.parametrize(
    ("answer", "accepted", "same"),
    [
        ("The build starts at 01:30.", "the Build starts at 01:30", True),
        ("at 01:30 starts the build", "The build starts at 01:30.", True),
        ("The build starts at 01:31.", "The build starts at 01:30.", False),
        ("The build starts at 01:30 today.", "The build starts at 01:30.", False),
        ("The the build starts at 01:30.", "The build starts at 01:30.", False),
        ("It is -5.", "It is 5.", False),
        ("It is 5%.", "It is 5.", False),
        ("It is written in C++.", "It is written in C.", False),
        ("\u0915\u093f", "\u0915\u0940", False),
        ("It does not retry.", "It does retry.", False),
        ("", "", False),
        (" ... ", "!", False),
        ("(Nothing is released.)", "Nothing is released", True),
    ],
)
def test_an_answer_has_the_same_tokens_each_as_often(answer: str, accepted: str, same: bool) -> None:  # noqa: FBT001
    """Token F1 = 1: order and closing marks don't matter, signs, units, accents and repetitions do."""
    assert v1.same_tokens(answer, accepted) is same


def test_any_accepted_answer_will_do() -> None:
    """An alternative covers the probe as the first answer does."""
    assert counts(
        {"answers": [{"probe": "p1", "answer": "It starts at half past one."}]}, "probes_covered", "probes"
    ) == (1, 2)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([("p2", "Nothing is released."), ("p2", "Nothing is released.")], (0, 2)),
        ([("p9", "Nothing is released.")], (0, 1)),
        ([("p2", "Nothing is released."), ("p9", "?")], (1, 1)),
    ],
)
def test_repeated_and_unknown_probes_are_invalid(answers: list[tuple[str, str]], expected: tuple[int, int]) -> None:
    """Two answers to one probe cover nothing, even if both are right."""
    told = [{"probe": probe, "answer": answer} for probe, answer in answers]
    assert counts({"answers": told}, "probes_covered", "invalid_observations") == expected


def test_what_rests_on_a_dead_seed_is_a_violation_whoever_says_so() -> None:
    """A violation that the observation lists, and one that it keeps quiet about, once each."""
    quiet = {"groups": [["s5", "s3"]], "hypotheses": [{"statement": "x", "support": ["s5", "s1"]}]}
    assert counts(quiet, "boundary_violations") == (2,)
    listed = {**quiet, "boundary_violations": [{"kind": "member", "seed": "s5"}, {"kind": "recalled", "seed": "s5"}]}
    assert counts(listed, "boundary_violations") == (3,)
    assert counts({"survivors": ["s5"]}, "boundary_violations") == (1,)


def test_sums_come_before_shares() -> None:
    """One case of 1 of 1 and one of 0 of 3 are 1 of 4, and not the mean of 100 % and 0 %."""
    one = dict.fromkeys(v1.COUNTS, 0) | {"duplicate_classes": 1, "duplicate_classes_covered": 1}
    other = dict.fromkeys(v1.COUNTS, 0) | {"duplicate_classes": 3}
    assert v1.verdict(v1.total([one, other]))["checks"]["duplicate_coverage"] == {
        "count": 1,
        "of": 4,
        "share_ppm": 250_000,
        "met": False,
    }


def test_a_share_of_nothing_is_undefined_and_no_success() -> None:
    """Whoever proposes nothing has no precision."""
    told = v1.verdict(v1.total([v1.score({**CASE, "hypotheses": [], "duplicate_classes": []}, EMPTY)]))
    assert told["checks"]["precision"] == {"count": 0, "of": 0, "share_ppm": "undefined", "met": False}
    assert told["checks"]["recall"]["share_ppm"] == "undefined"
    assert told["checks"]["duplicate_coverage"]["met"] is False
    assert told["passed"] is False


def test_abstaining_everywhere_fails() -> None:
    """Keeping every fact, merging nothing, proposing nothing and answering nothing is no success."""
    kept = {**EMPTY, "survivors": ["s1", "s2", "s3", "s4"]}
    told = v1.verdict(v1.total([v1.score(CASE, kept)]))
    assert told["passed"] is False
    assert {name for name, check in told["checks"].items() if not check["met"]} == {
        "duplicate_coverage",
        "precision",
        "recall",
        "answer_coverage",
    }


@pytest.mark.parametrize(("matched", "produced", "met"), [(4, 5, True), (79, 100, False), (799_999, 1_000_000, False)])
def test_a_threshold_is_held_by_counts(matched: int, produced: int, met: bool) -> None:  # noqa: FBT001
    """No rounding lifts a share over its threshold."""
    totals = dict.fromkeys(v1.COUNTS, 0) | {"hypotheses_matched": matched, "hypotheses_produced": produced}
    assert v1.verdict(totals)["checks"]["precision"]["met"] is met


def test_it_imports_nothing_but_the_standard_library() -> None:
    """So that its digest covers all of it."""
    tree = ast.parse(Path(v1.__file__).read_bytes())
    roots = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    roots |= {(node.module or ".").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert roots <= sys.stdlib_module_names
