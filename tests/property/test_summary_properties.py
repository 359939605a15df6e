"""What must hold for every run, whatever its figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, Usage, make_run

if TYPE_CHECKING:
    from random import Random

    from runner.core.summary import Summary, TotalsRow

TASKS = ("a", "b", "c", "d", "e", "f")
TRIALS = [f"{task}.r{repetition}.{arm}" for task in TASKS for repetition in (1, 2) for arm in ("off", "memory")]

usages = st.builds(
    Usage,
    requests=st.integers(1, 50),
    input_tokens=st.integers(1, 10**6),
    output_tokens=st.integers(0, 10**5),
    cache_read=st.integers(0, 10**7),
    cache_write=st.integers(0, 10**6),
    wall_ms=st.integers(1, 10**6),
    memory_calls=st.integers(0, 5),
    references_found=st.integers(0, 3),
    diagnostic_found=st.integers(0, 2),
)
all_usages = st.fixed_dictionaries(dict.fromkeys(TRIALS, usages))
outcomes = st.dictionaries(st.sampled_from(TRIALS), st.sampled_from(list(Outcome)), max_size=5)


def summary_of(run: Run) -> Summary:
    return summarize(run.context, run.plan, run.records, run.scores)


def row(summary: Summary, measure: str) -> TotalsRow:
    return next(item for item in summary.views[0].totals if item.measure == measure)


def run_of(drawn: dict[str, Usage], ends: dict[str, Outcome] | None = None) -> Run:
    return make_run(RunSpec(tasks=TASKS, repetitions=2, usages=drawn, outcomes=ends or {}))


@settings(max_examples=10, deadline=None)
@given(all_usages, outcomes, st.randoms(use_true_random=False))
def test_the_order_of_records_and_scores_does_not_matter(
    drawn: dict[str, Usage], ends: dict[str, Outcome], shuffler: Random
) -> None:
    """The same run gives the same bytes, however its documents are read."""
    run = run_of(drawn, ends)
    records, scores = list(run.records), list(run.scores)
    shuffler.shuffle(records)
    shuffler.shuffle(scores)
    assert summarize(run.context, run.plan, records, scores).to_bytes() == summary_of(run).to_bytes()


@settings(max_examples=10, deadline=None)
@given(all_usages)
def test_doubling_every_amount_doubles_differences_and_leaves_ratios(drawn: dict[str, Usage]) -> None:
    """Contrasts have the right dimension, intervals included."""
    doubled = {
        name: replace(
            usage,
            input_tokens=2 * usage.input_tokens,
            output_tokens=2 * usage.output_tokens,
            cache_read=2 * usage.cache_read,
            cache_write=2 * usage.cache_write,
            wall_ms=2 * usage.wall_ms,
        )
        for name, usage in drawn.items()
    }
    once, twice = summary_of(run_of(drawn)), summary_of(run_of(doubled))
    for small, large in zip(once.views[0].contrasts, twice.views[0].contrasts, strict=True):
        if small.measure in {"total_tokens", "input_tokens", "wall_ms"}:
            assert small.ratio_ppm == large.ratio_ppm
            for end in ("value", "low", "high"):
                mine, other = (getattr(item.mean_difference_scaled, end).value for item in (small, large))
                assert abs(other - 2 * mine) <= 1


@settings(max_examples=10, deadline=None)
@given(all_usages, st.sampled_from(TRIALS))
def test_an_infrastructure_failure_takes_its_block_out_of_every_arm(drawn: dict[str, Usage], lost: str) -> None:
    """Both arms lose exactly that block, and the census gains the failure."""
    whole, broken = summary_of(run_of(drawn)), summary_of(run_of(drawn, {lost: Outcome.INFRASTRUCTURE}))
    before, after = row(whole, "total_tokens"), row(broken, "total_tokens")
    block = lost.rpartition(".")[0]
    for index, arm in enumerate(("off", "memory")):
        usage = drawn[f"{block}.{arm}"]
        used = usage.input_tokens + usage.output_tokens + usage.cache_read + usage.cache_write
        assert before.arms[index].total.value - after.arms[index].total.value == used
    assert (before.n_blocks, after.n_blocks) == (12, 11)
    assert [item.trial for item in broken.census.rows if item.outcome is Outcome.INFRASTRUCTURE] == [lost]


@settings(max_examples=10, deadline=None)
@given(all_usages, st.sampled_from(TASKS))
def test_removing_labels_changes_no_cost(drawn: dict[str, Usage], task: str) -> None:
    """What an answer is checked against has no part in what it cost."""
    run = run_of(drawn)
    none = Unavailable("the task has no labels")
    update = {"references_found": none, "references_total": 0, "diagnostic_found": none, "diagnostic_total": 0}
    unlabelled = run.with_scores(
        {score.trial: score.model_copy(update=update) for score in run.scores if score.trial.startswith(f"{task}.")}
    )
    assert row(summary_of(run), "cost_microusd") == row(summary_of(unlabelled), "cost_microusd")
    assert row(summary_of(unlabelled), "references").n_blocks == 10


@settings(max_examples=10, deadline=None)
@given(all_usages, outcomes)
def test_every_block_is_used_or_left_out_with_a_reason(drawn: dict[str, Usage], ends: dict[str, Outcome]) -> None:
    """Each measure accounts for all blocks, in both treatments; an interval holds its own figure's ends in order."""
    summary = summary_of(run_of(drawn, ends))
    for view in summary.views:
        for item in view.totals:
            assert item.n_blocks + sum(exclusion.blocks for exclusion in item.excluded) == 12
        for contrast in view.contrasts:
            for estimate in (contrast.ratio_ppm, contrast.mean_difference_scaled, contrast.median_difference_scaled):
                if isinstance(estimate.low, Measured):
                    assert estimate.low.value <= estimate.high.value
    assert sum(count.trials for count in summary.census.by_arm) == 24
