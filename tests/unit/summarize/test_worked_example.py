"""A study of three tasks and two repetitions, computed by hand.

Uncached input tokens are the only tokens; claude-sonnet-4-5 asks 3 micro-dollars for one.

    task  repetition   tokens off  tokens on   references found off, on (of 3)
    a     1                   100         50   1  3
    a     2                   300        150   0  3
    b     1                   200        100   2  1
    b     2                   200        300   1  2
    c     1                 1,000        400   0  2
    c     2                   500        200   3  3
    sum                     2,300      1,200   7 of 18, 14 of 18

Task medians of tokens: off 200, 200, 750; on 100, 200, 300; their medians 200 and 200.
Task medians of the references' share, in ppm: off (333,333 + 0) / 2 = 166,666.5 -> 166,666 (half to even), 500,000, 500,000;
on 1,000,000, 500,000, (666,667 + 1,000,000) / 2 = 833,333.5 -> 833,334; their medians 500,000 and 833,334.

Tokens in order: off 100, 200, 200, 300, 500, 1,000; on 50, 100, 150, 200, 300, 400. Quartiles stand at places 1.25, 2.5 and 3.75 from 0:
off 200, 250 and 300 + 0.75 x 200 = 450; on 100 + 0.25 x 50 = 112.5, 175 and 200 + 0.75 x 100 = 275.
"""

from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.summary import ArmTotal, Contrast, Exclusion, Summary, TotalsRow
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, Usage, make_run

TOKENS = {
    "a.r1": (100, 50),
    "a.r2": (300, 150),
    "b.r1": (200, 100),
    "b.r2": (200, 300),
    "c.r1": (1_000, 400),
    "c.r2": (500, 200),
}
FOUND = {"a.r1": (1, 3), "a.r2": (0, 3), "b.r1": (2, 1), "b.r2": (1, 2), "c.r1": (0, 2), "c.r2": (3, 3)}
FEW_TASKS = Unavailable("3 tasks with complete blocks; an interval needs at least 5")


def usage(tokens: int, found: int) -> Usage:
    return Usage(1, tokens, 0, 0, 0, 1_000, 0, found, 1)


def example(outcomes: dict[str, Outcome] | None = None) -> Run:
    usages = {
        f"{block}.{arm}": usage(TOKENS[block][index], FOUND[block][index])
        for block in TOKENS
        for index, arm in enumerate(("off", "on"))
    }
    return make_run(
        RunSpec(tasks=("a", "b", "c"), repetitions=2, arms=("off", "on"), usages=usages, outcomes=outcomes or {})
    )


def summary_of(run: Run) -> Summary:
    return summarize(run.context, run.plan, run.records, run.scores)


def totals(summary: Summary, measure: str, view: int = 0) -> TotalsRow:
    return next(row for row in summary.views[view].totals if row.measure == measure)


def contrast(summary: Summary, measure: str, view: int = 0) -> Contrast:
    return next(row for row in summary.views[view].contrasts if row.measure == measure)


def arm_total(arm: str, total: int, out_of: int, mean_scaled: int) -> ArmTotal:
    return ArmTotal(arm=arm, total=Measured(total), out_of=Measured(out_of), mean_scaled=Measured(mean_scaled))


def test_pooled_totals_and_means() -> None:
    """2,300 and 1,200 tokens over 6 blocks; 3 micro-dollars each; means in thousandths."""
    summary = summary_of(example())
    assert totals(summary, "total_tokens") == TotalsRow(
        measure="total_tokens",
        n_blocks=6,
        n_tasks=3,
        excluded=(),
        arms=(arm_total("off", 2_300, 6, 383_333), arm_total("on", 1_200, 6, 200_000)),
    )
    assert totals(summary, "cost_microusd").arms == (
        arm_total("off", 6_900, 6, 1_150_000),
        arm_total("on", 3_600, 6, 600_000),
    )


def test_shares_are_found_out_of_labelled() -> None:
    """7 and 14 of 18 references: 388,889 and 777,778 ppm."""
    assert totals(summary_of(example()), "references").arms == (
        arm_total("off", 7, 18, 388_889),
        arm_total("on", 14, 18, 777_778),
    )


def test_task_medians_and_their_medians() -> None:
    """Medians over repetitions, then over tasks, in the scale of the measure."""
    summary = summary_of(example())
    rows = [row for row in summary.views[0].medians if row.measure == "total_tokens"]
    assert [(row.task, row.n_blocks, *(arm.median_scaled.value for arm in row.arms)) for row in rows] == [
        ("a", 2, 200_000, 100_000),
        ("b", 2, 200_000, 200_000),
        ("c", 2, 750_000, 300_000),
    ]
    shares = next(row for row in summary.views[0].medians_of_medians if row.measure == "references")
    assert [arm.median_scaled for arm in shares.arms] == [Measured(500_000), Measured(833_334)]


def test_quartiles_of_trials() -> None:
    """Lowest, quartiles and highest, in thousandths."""
    row = next(item for item in summary_of(example()).views[0].distributions if item.measure == "total_tokens")
    assert row.n_blocks == 6
    assert [
        (
            arm.arm,
            arm.lowest_scaled.value,
            arm.lower_quartile_scaled.value,
            arm.median_scaled.value,
            arm.upper_quartile_scaled.value,
            arm.highest_scaled.value,
        )
        for arm in row.arms
    ] == [
        ("off", 100_000, 200_000, 250_000, 450_000, 1_000_000),
        ("on", 50_000, 112_500, 175_000, 275_000, 400_000),
    ]


def test_contrasts() -> None:
    """1,200 / 2,300, (1,200 - 2,300) / 6 and 200 - 200; three tasks are too few for an interval."""
    row = contrast(summary_of(example()), "total_tokens")
    assert (row.n_blocks, row.n_tasks, row.arm, row.control) == (6, 3, "on", "off")
    assert row.ratio_ppm.value == Measured(521_739)
    assert row.mean_difference_scaled.value == Measured(-183_333)
    assert row.median_difference_scaled.value == Measured(0)
    assert (row.ratio_ppm.low, row.ratio_ppm.high) == (FEW_TASKS, FEW_TASKS)
    assert (row.levels, row.effective_tasks_milli, row.detectable_ratio_ppm.low) == (0, FEW_TASKS, FEW_TASKS)


def test_contrasts_of_shares() -> None:
    """14 / 7; (14 - 7) / 18; 833,334 - 500,000."""
    row = contrast(summary_of(example()), "references")
    assert row.ratio_ppm.value == Measured(2_000_000)
    assert row.mean_difference_scaled.value == Measured(388_889)
    assert row.median_difference_scaled.value == Measured(333_334)


def test_a_failed_trial_leaves_both_arms_and_stays_visible() -> None:
    """c.r1 on times out: off loses its 1,000 tokens too; counted as a failure it has used 400 and found nothing."""
    summary = summary_of(example({"c.r1.on": Outcome.TIMEOUT}))
    complete = totals(summary, "total_tokens")
    assert complete.excluded == (Exclusion(reason="on: ended timeout", blocks=1),)
    assert complete.arms == (arm_total("off", 1_300, 5, 260_000), arm_total("on", 800, 5, 160_000))
    assert totals(summary, "total_tokens", 1).arms == (
        arm_total("off", 2_300, 6, 383_333),
        arm_total("on", 1_200, 6, 200_000),
    )
    assert totals(summary, "references").arms == (arm_total("off", 7, 15, 466_667), arm_total("on", 12, 15, 800_000))
    assert totals(summary, "references", 1).arms == (
        arm_total("off", 7, 18, 388_889),
        arm_total("on", 12, 18, 666_667),
    )
    # What the client would have reported at its end is unknown, so that measure keeps five blocks in both views.
    assert totals(summary, "turns", 1).excluded == (Exclusion(reason="on: the client gave no result", blocks=1),)
    assert summary.failures_line.startswith("1 trial failed; counting failures changes ")


def test_an_infrastructure_failure_counts_against_nobody() -> None:
    """It leaves both arms in both views, and one view is enough then."""
    summary = summary_of(example({"a.r1.off": Outcome.INFRASTRUCTURE}))
    assert [view.treatment for view in summary.views] == ["complete_blocks"]
    assert totals(summary, "total_tokens").arms == (
        arm_total("off", 2_200, 5, 440_000),
        arm_total("on", 1_150, 5, 230_000),
    )
    assert summary.failures_line == (
        "No trial failed in a way that counts against its arm: counting failures changes nothing."
    )
