"""The order of a study: counterbalanced, and the same on every machine and every version of Python."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from runner.core.plan import Plan, balanced_orders, by_digest, make_plan, phases_of

TASKS = ("alpha", "beta", "gamma")


def plan(arms: tuple[str, ...] = ("off", "on"), *, seed: str = "s", repetitions: int = 2) -> Plan:
    return make_plan(study="demo", seed=seed, control="off", arms=arms, tasks=TASKS, repetitions=repetitions)


def test_the_order_is_literal() -> None:
    """Written down once: whoever changes it changes what every locked study means."""
    assert [trial.trial for trial in plan().trials] == [
        "alpha.r1.on",
        "alpha.r1.off",
        "gamma.r1.off",
        "gamma.r1.on",
        "beta.r1.off",
        "beta.r1.on",
        "alpha.r2.off",
        "alpha.r2.on",
        "gamma.r2.on",
        "gamma.r2.off",
        "beta.r2.on",
        "beta.r2.off",
    ]


def test_three_arms_are_ordered_literally() -> None:
    """Six rows of a Williams design, begun at another row by each task."""
    orders: dict[str, list[str]] = {}
    for trial in plan(("off", "on", "other"), repetitions=1).trials:
        orders.setdefault(trial.task, []).append(trial.arm)
    assert orders == {
        "alpha": ["off", "on", "other"],
        "gamma": ["on", "other", "off"],
        "beta": ["other", "off", "on"],
    }


def test_orders_of_two_are_ab_and_ba() -> None:
    """Repetitions of one task go AB, BA: its order is ABBA."""
    assert balanced_orders(2) == ((0, 1), (1, 0))
    assert balanced_orders(1) == ((0,),)


def test_orders_of_four_are_a_williams_design() -> None:
    """The square of the paper."""
    assert balanced_orders(4) == ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))


@pytest.mark.parametrize("count", range(2, 13))
def test_each_arm_stands_in_each_place_and_follows_each_other_equally_often(count: int) -> None:
    """For every number of arms that a study may have."""
    orders = balanced_orders(count)
    assert len(orders) == (count if count % 2 == 0 else 2 * count)
    places = Counter((place, item) for order in orders for place, item in enumerate(order))
    assert set(places.values()) == {len(orders) // count}
    assert len(places) == count * count
    follows = Counter(pair for order in orders for pair in itertools.pairwise(order))
    assert set(follows.values()) == {len(orders) // count}
    assert len(follows) == count * (count - 1)


def test_repetitions_are_the_outer_loop() -> None:
    """A run that stops early has every task about equally often."""
    assert [trial.repetition for trial in plan(repetitions=3).trials] == [1] * 6 + [2] * 6 + [3] * 6


def test_a_block_is_one_task_and_repetition_back_to_back() -> None:
    """Its trials stand together, and count their places."""
    for first, second in zip(*[iter(plan().trials)] * 2, strict=True):
        assert (first.block, first.task, first.repetition) == (second.block, second.task, second.repetition)
        assert (first.position, second.position) == (0, 1)
        assert second.sequence == first.sequence + 1
        assert first.block == f"{first.task}.r{first.repetition}"
        assert first.trial == f"{first.block}.{first.arm}"


def test_another_seed_gives_another_order() -> None:
    """The seed decides which tasks come first, and which arm is which letter."""
    assert len({tuple(trial.trial for trial in plan(seed=f"s{number}").trials) for number in range(20)}) > 10


def test_the_declared_order_of_arms_and_tasks_does_not_matter() -> None:
    """Whoever sorts a study file anew gets the same schedule."""
    one = make_plan(study="d", seed="s", control="off", arms=("off", "on"), tasks=TASKS, repetitions=2)
    other = make_plan(study="d", seed="s", control="off", arms=("on", "off"), tasks=TASKS[::-1], repetitions=2)
    assert one.trials == other.trials


def test_names_are_ordered_by_digest() -> None:
    """Literal: SHA-256 of the canonical JSON of seed, scope and name."""
    assert by_digest("s", "tasks", TASKS) == ("beta", "alpha", "gamma")


def test_a_control_that_goes_first_is_done_before_any_other_arm() -> None:
    """In the order of tasks and repetitions; the other arms stay balanced among themselves, block by block."""
    found = make_plan(
        study="s",
        seed="x",
        control="off",
        arms=["off", "a", "b"],
        tasks=["t", "u"],
        repetitions=2,
        control_first=True,
    )
    told = [(planned.trial, planned.position) for planned in found.trials]
    assert sorted(told[:4]) == [("t.r1.off", 0), ("t.r2.off", 0), ("u.r1.off", 0), ("u.r2.off", 0)]
    assert [planned.sequence for planned in found.trials] == list(range(12))
    orders = {
        planned.block: [other.arm for other in found.trials[4:] if other.block == planned.block]
        for planned in found.trials
    }
    assert orders["t.r1"] == orders["u.r2"] == orders["t.r2"][::-1] == orders["u.r1"][::-1]
    first, rest = phases_of(found.trials, "off")
    assert (len(first), len(rest)) == (4, 8)
    assert phases_of(rest, "off") == (rest,)
