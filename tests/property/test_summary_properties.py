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
            assert small.detectable_ratio_ppm == large.detectable_ratio_ppm
            once_found, twice_found = small.mean_difference_scaled, large.mean_difference_scaled
            assert abs(twice_found.value.value - 2 * once_found.value.value) <= 1
            for end in ("low", "high"):
                mine, other = (getattr(found, end) for found in (once_found, twice_found))
                # Deviations have 1,000 times the resolution of what is written, and t at one task less two is 12.7.
                assert isinstance(mine, Measured) == isinstance(other, Measured)
                if isinstance(mine, Measured):
                    assert abs(other.value - 2 * mine.value) <= 2


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
@given(all_usages, st.lists(st.sampled_from(TRIALS), min_size=1, max_size=4, unique=True))
def test_worst_cases_hold_what_the_whole_run_would_have_shown(drawn: dict[str, Usage], lost: list[str]) -> None:
    """Whatever is lost, in one arm or both: shares and limited amounts on both sides, the others where there is an end."""
    whole = run_of(drawn)
    broken = run_of(drawn, dict.fromkeys(lost, Outcome.INFRASTRUCTURE))
    context = replace(broken.context, ceilings={"model_requests": 50})
    shown = {item.measure: item for item in summarize(context, broken.plan, broken.records, broken.scores).worst_case}
    assert {"references", "diagnostic", "model_requests", "cost_microusd", "wall_ms"} <= set(shown)
    for contrast in summary_of(whole).views[0].contrasts:
        bounds = shown.get(contrast.measure)
        if bounds is None:
            continue
        for ends, true in (
            (bounds.mean_difference_scaled, contrast.mean_difference_scaled.value),
            (bounds.ratio_ppm, contrast.ratio_ppm.value),
        ):
            if isinstance(true, Measured):
                assert not isinstance(ends.low, Measured) or ends.low.value <= true.value
                assert not isinstance(ends.high, Measured) or true.value <= ends.high.value
    for measure in ("references", "diagnostic", "model_requests"):
        assert isinstance(shown[measure].mean_difference_scaled.low, Measured)
        assert isinstance(shown[measure].mean_difference_scaled.high, Measured)


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
