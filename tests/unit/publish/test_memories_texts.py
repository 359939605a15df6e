"""What a reader is told of memories: who failed scorer v1, by what, and what the counts rest on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from runner.core.quantities import Unavailable
from runner.core.reconsolidation.section import MemoryScore, ReconsolidationSection, RuleCheck
from runner.publish.memories import Memories

if TYPE_CHECKING:
    from runner.core.summary import Summary

COUNTS = {
    "cases": 42,
    "false_merge_pairs": 0,
    "lost_facts": 2,
    "required_survivors": 156,
    "duplicate_classes_covered": 9,
    "duplicate_classes": 15,
    "hypotheses_matched": 12,
    "hypotheses_produced": 30,
    "hypotheses_expected": 27,
    "probes_covered": 84,
    "probes": 102,
    "invalid_observations": 0,
    "boundary_violations": 0,
}
NO_SHARE = Unavailable("it counts what may not be")


def check(name: str, *, met: bool, count: int, of: Any = NO_SHARE, share: Any = NO_SHARE) -> RuleCheck:
    return RuleCheck(name=name, met=met, count=count, of=of, share_ppm=share)


def memories(*scores: MemoryScore, baseline: str = "sha256:b") -> Memories:
    section = ReconsolidationSection(
        scorer="reconsolidation-1",
        corpus_sha256="sha256:c",
        observations_sha256="sha256:o",
        baseline_sha256=baseline,
        scores=scores,
    )
    return Memories(cast("Summary", SimpleNamespace(study=SimpleNamespace(control="off"))), section)


def score(arm: str, checks: tuple[RuleCheck, ...], *, observed: int = 3) -> MemoryScore:
    passed = all(one.met for one in checks) and observed == 3
    return MemoryScore(
        split="holdout",
        arm=arm,
        mode="connections",
        trials=3,
        observed=observed,
        failed=3 - observed,
        counts=COUNTS,
        checks=checks,
        passed=passed,
    )


GOOD = check("lost_facts", met=True, count=0)
LOST = check("lost_facts", met=False, count=2)
SHARE = check("precision", met=False, count=12, of=30, share=400_000)
NOTHING = check("recall", met=False, count=0, of=0, share=Unavailable("there is nothing to divide by"))


def test_each_arm_has_a_sentence() -> None:
    """What it failed by, or that it passed; a trial that wasn't observed is no pass."""
    found = list(
        memories(
            score("good", (GOOD,)), score("bad", (LOST, SHARE, NOTHING)), score("cut", (GOOD,), observed=2)
        ).headlines()
    )
    assert found == [
        "good passed scorer v1 on every split.",
        (
            "bad failed scorer v1 (holdout: lost facts 2, precision of exact connections 40.0\u202f%, "
            "recall of exact connections undefined)."
        ),
        "cut failed scorer v1 (holdout: 1 trial not observed).",
    ]


def test_counts_stand_with_what_they_are_of() -> None:
    """By split, a line an arm."""
    (table,) = memories(score("bad", (LOST,))).scores()
    assert table.caption == "What the memories came to: holdout"
    assert table.lines == (("bad", "3/3", "0", "2/156", "9/15", "12/30", "84/102", "failed"),)
    assert "judged by people" in table.note


def test_rules_that_have_no_share_show_none() -> None:
    """A share of nothing is a dash with its reason."""
    (table,) = memories(score("bad", (LOST, SHARE, NOTHING))).rules()
    assert table.lines == (
        ("Lost facts", "bad", "2", "", "", "failed"),
        ("Precision of exact connections", "bad", "12", "30", "40.0\u202f%", "failed"),
        ("Recall of exact connections", "bad", "0", "0", "\u2014", "failed"),
    )
    assert "there is nothing to divide by" in table.note


def test_what_counts_rest_on_is_named() -> None:
    """And so is a control that was never frozen."""
    assert memories().pins() == (
        "Scorer reconsolidation-1; corpus sha256:c; observations sha256:o; what off answered was frozen as sha256:b."
    )
    assert memories(baseline="").pins().endswith("no control was frozen.")
