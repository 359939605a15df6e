"""Whatever is compared, each arm has its share of every place."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from runner.core.plan import Plan, balanced_orders, make_plan

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
ARMS = st.lists(NAMES, min_size=2, max_size=6, unique=True)
TASKS = st.lists(NAMES, min_size=1, max_size=6, unique=True)
SEEDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def plan(arms: list[str], tasks: list[str], seed: str, repetitions: int) -> Plan:
    return make_plan(study="p", seed=seed, control=arms[0], arms=arms, tasks=tasks, repetitions=repetitions)


@given(ARMS, TASKS, SEEDS, st.integers(1, 3))
def test_every_trial_stands_once_in_whole_blocks(
    arms: list[str], tasks: list[str], seed: str, repetitions: int
) -> None:
    """All arms of a task and repetition back to back, numbered in order."""
    trials = plan(arms, tasks, seed, repetitions).trials
    assert [trial.sequence for trial in trials] == list(range(len(tasks) * len(arms) * repetitions))
    assert len({trial.trial for trial in trials}) == len(trials)
    size = len(arms)
    for start in range(0, len(trials), size):
        block = trials[start : start + size]
        assert {trial.block for trial in block} == {block[0].block}
        assert {trial.arm for trial in block} == set(arms)
        assert [trial.position for trial in block] == list(range(size))


@given(ARMS, TASKS, SEEDS)
def test_over_a_whole_round_each_arm_stands_equally_often_in_each_place_of_each_task(
    arms: list[str], tasks: list[str], seed: str
) -> None:
    """A round has as many repetitions as there are balanced orders: two for two arms."""
    orders = len(balanced_orders(len(arms)))
    trials = plan(arms, tasks, seed, orders).trials
    places = Counter((trial.task, trial.arm, trial.position) for trial in trials)
    assert len(places) == len(tasks) * len(arms) ** 2
    assert set(places.values()) == {orders // len(arms)}


@given(TASKS, SEEDS, st.integers(1, 5))
def test_two_arms_are_balanced_within_every_task_up_to_one_repetition(
    tasks: list[str], seed: str, repetitions: int
) -> None:
    """ABBA: an odd repetition more favours one of them, and over tasks the other one."""
    trials = plan(["off", "on"], tasks, seed, repetitions).trials
    first = Counter((trial.task, trial.arm) for trial in trials if trial.position == 0)
    for task in tasks:
        assert abs(first[task, "off"] - first[task, "on"]) == repetitions % 2
    for repetition in range(1, repetitions + 1):
        begins = Counter(trial.arm for trial in trials if trial.position == 0 and trial.repetition == repetition)
        assert abs(begins["off"] - begins["on"]) == len(tasks) % 2


@given(ARMS, TASKS, SEEDS, st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_order_of_declarations_does_not_matter(
    arms: list[str], tasks: list[str], seed: str, repetitions: int, random: object
) -> None:
    """The schedule follows from the names and the seed alone."""
    shuffled_arms, shuffled_tasks = list(arms), list(tasks)
    random.shuffle(shuffled_arms)  # type: ignore[attr-defined]
    random.shuffle(shuffled_tasks)  # type: ignore[attr-defined]
    assert plan(shuffled_arms, shuffled_tasks, seed, repetitions).trials == plan(arms, tasks, seed, repetitions).trials


@given(ARMS, TASKS, SEEDS)
def test_a_longer_study_begins_as_a_shorter_one(arms: list[str], tasks: list[str], seed: str) -> None:
    """More repetitions are added at the end."""
    shorter, longer = plan(arms, tasks, seed, 2).trials, plan(arms, tasks, seed, 3).trials
    assert longer[: len(shorter)] == shorter


@given(ARMS, TASKS, SEEDS)
def test_a_plan_reads_back(arms: list[str], tasks: list[str], seed: str) -> None:
    """From its own bytes."""
    made = plan(arms, tasks, seed, 1)
    assert Plan.from_bytes(made.to_bytes(), "plan.json") == made
