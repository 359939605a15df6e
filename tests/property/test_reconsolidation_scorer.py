"""What holds of scorer v1 for every observation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from runner.measure.reconsolidation import v1

if TYPE_CHECKING:
    import random

SEEDS = ["s1", "s2", "s3", "s4", "s5", "s6"]
CASE: dict[str, Any] = {
    "seeds": [{"id": seed, "status": "deleted" if seed == "s6" else "live"} for seed in SEEDS],
    "duplicate_classes": [["s1", "s2"], ["s3", "s4", "s5"]],
    "required_survivors": SEEDS[:5],
    "hypotheses": [
        {"id": "h1", "meaning": "a causes b", "support": ["s1", "s3"]},
        {"id": "h2", "meaning": "c causes d", "support": ["s2", "s4"]},
    ],
    "probes": [{"id": "p1", "answers": ["one"]}, {"id": "p2", "answers": ["two", "zwei"]}],
}
ids = st.sampled_from([*SEEDS, "nobody"])
observations = st.fixed_dictionaries(
    {
        "groups": st.lists(st.lists(ids, max_size=4), max_size=4),
        "survivors": st.lists(ids, max_size=7),
        "hypotheses": st.lists(
            st.fixed_dictionaries(
                {
                    "statement": st.sampled_from(["a causes b", "c  causes d", "e"]),
                    "support": st.lists(ids, max_size=3),
                }
            ),
            max_size=5,
        ),
        "answers": st.lists(
            st.fixed_dictionaries(
                {"probe": st.sampled_from(["p1", "p2", "p3"]), "answer": st.sampled_from(["one", "two", "x"])}
            ),
            max_size=4,
        ),
        "boundary_violations": st.just([]),
        "invalid": st.just([]),
    }
)


@given(observations, st.randoms(use_true_random=False))
def test_order_says_nothing(observation: dict[str, Any], shuffler: random.Random) -> None:
    """Groups, members, survivors, hypotheses, supports and answers may stand in any order."""
    shuffled = {name: shuffler.sample(value, len(value)) for name, value in observation.items()}
    shuffled["groups"] = [shuffler.sample(group, len(group)) for group in shuffled["groups"]]
    shuffled["hypotheses"] = [
        {**one, "support": shuffler.sample(one["support"], len(one["support"]))} for one in shuffled["hypotheses"]
    ]
    assert v1.score(CASE, shuffled) == v1.score(CASE, observation)


@given(observations)
def test_no_count_exceeds_what_it_is_of(observation: dict[str, Any]) -> None:
    """Shares lie between 0 and 1, and no count is negative."""
    found = v1.score(CASE, observation)
    assert min(found.values()) >= 0
    assert found["hypotheses_matched"] <= min(found["hypotheses_produced"], found["hypotheses_expected"])
    assert found["probes_covered"] <= found["probes"]
    assert found["duplicate_classes_covered"] <= found["duplicate_classes"]
    assert found["lost_facts"] <= found["required_survivors"]


@given(observations)
def test_one_output_more_never_raises_precision_by_repetition(observation: dict[str, Any]) -> None:
    """Giving every hypothesis twice matches at most as many references as there are, and produces twice as many."""
    twice = {**observation, "hypotheses": observation["hypotheses"] * 2}
    once, found = v1.score(CASE, observation), v1.score(CASE, twice)
    assert found["hypotheses_matched"] == once["hypotheses_matched"]
    assert found["hypotheses_produced"] == 2 * once["hypotheses_produced"]


@given(observations, observations)
def test_totals_add_up(one: dict[str, Any], other: dict[str, Any]) -> None:
    """The sum over cases is the sum of counts."""
    scores = [v1.score(CASE, one), v1.score(CASE, other)]
    assert v1.total(scores) == {name: scores[0][name] + scores[1][name] for name in v1.COUNTS}


@given(st.lists(st.sets(st.sampled_from(SEEDS), min_size=1), max_size=6))
def test_components_part_what_they_hold(groups: list[set[str]]) -> None:
    """No two components share a member, and each group lies within one."""
    found = v1.components(groups)
    assert sum(len(members) for members in found) == len(set().union(*groups))
    assert all(sum(group <= members for members in found) == 1 for group in groups)
