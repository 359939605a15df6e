"""Where nothing can be compared the reason is the true one, and nothing else compares the arms instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.summary import Exclusion
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, Usage, make_run

if TYPE_CHECKING:
    from runner.core.summary import Summary


def summary_of(run: Run) -> Summary:
    return summarize(run.context, run.plan, run.records, run.scores)


def reasons(summary: Summary, view: int) -> set[object]:
    return {contrast.ratio_ppm.value for contrast in summary.views[view].contrasts}


def test_without_a_complete_block_that_is_the_reason() -> None:
    """It is no matter of the measure; with failures counted there are blocks."""
    spec = RunSpec(tasks=("a", "b"), repetitions=1, outcomes={f"{t}.r1.memory": Outcome.TIMEOUT for t in "ab"})
    summary = summary_of(make_run(spec))
    assert reasons(summary, 0) == {Unavailable("no block is complete")}
    cost = next(row for row in summary.views[1].totals if row.measure == "total_tokens")
    assert cost.n_blocks == 2


def test_where_every_block_met_infrastructure_failures_the_reason_says_so() -> None:
    """Beside a failure that counts, so that both treatments are shown."""
    outcomes = {"a.r1.memory": Outcome.TIMEOUT, "a.r1.off": Outcome.INFRASTRUCTURE, "b.r1.off": Outcome.NOT_RUN}
    summary = summary_of(make_run(RunSpec(tasks=("a", "b"), repetitions=1, outcomes=outcomes)))
    assert reasons(summary, 1) == {Unavailable("in no block did every arm complete or fail")}


def test_a_measure_that_no_complete_block_has_names_itself() -> None:
    """The blocks are complete; the client's own report is missing."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    nothing = Unavailable("the client gave no result")
    summary = summary_of(run.with_records({r.trial: r.model_copy(update={"turns": nothing}) for r in run.records}))
    (turns,) = (item for item in summary.views[0].contrasts if item.measure == "turns")
    assert turns.ratio_ppm.value == Unavailable("no block has this measure in every arm")


def test_an_incomplete_block_is_left_out_for_that_and_not_for_a_measure() -> None:
    """An arm without turns, and another that ran out of time: every measure names the second."""
    run = make_run(RunSpec(tasks=("a", "b"), repetitions=1, outcomes={"a.r1.memory": Outcome.TIMEOUT}))
    silent = {r.trial: r.model_copy(update={"turns": Unavailable("no result")}) for r in run.records if r.arm == "off"}
    rows = summary_of(run.with_records(silent)).views[0].totals
    ended, unknown = (Exclusion(reason=f"{why}", blocks=1) for why in ("memory: ended timeout", "off: no result"))
    assert {row.excluded for row in rows if row.measure != "turns"} == {(ended,)}
    assert [row.excluded for row in rows if row.measure == "turns"] == [(ended, unknown)]


def test_arms_that_may_not_be_compared_are_compared_nowhere() -> None:
    """Neither by order, nor by halves, nor at worst: those are ratios of the same two arms."""
    run = make_run(RunSpec())
    changed = {r.trial: r.model_copy(update={"client_versions": ("9",)}) for r in run.records if r.arm == "memory"}
    summary = summary_of(run.with_records(changed))
    assert summary.obstacles == ("the arms had different client versions (off: 2.1.332; memory: 9)",)
    assert (summary.order_effect, summary.drift, summary.worst_case) == ((), (), ())


def test_no_interval_holds_a_difference_of_shares_beyond_one() -> None:
    """The memory finds everything in all tasks but one, the control nothing: +83.3 points, and 100 at most."""
    tasks = ("a", "b", "c", "d", "e", "f")
    usages = {f"{task}.r1.off": Usage(2, 10, 10, 10, 10, 1_000, 0, 0, 1) for task in tasks}
    usages |= {f"{task}.r1.memory": Usage(2, 10, 10, 10, 10, 1_000, 1, 3 * (task != "f"), 1) for task in tasks}
    summary = summary_of(make_run(RunSpec(tasks=tasks, repetitions=1, usages=usages)))
    (found,) = (item for item in summary.views[0].contrasts if item.measure == "references")
    assert found.mean_difference_scaled.value == Measured(833_333)
    assert found.mean_difference_scaled.high == Measured(1_000_000)
    assert isinstance(found.mean_difference_scaled.low, Measured)
    assert found.mean_difference_scaled.low.value < 833_333
