from runner.core.outcomes import Outcome
from runner.core.summary import OutcomeCount, Summary, TaskCount
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, make_run

SPEC = RunSpec(
    tasks=("a", "b"),
    repetitions=2,
    outcomes={"a.r1.memory": Outcome.TIMEOUT, "b.r2.off": Outcome.CANCELLED, "b.r2.memory": Outcome.NOT_RUN},
    retried=frozenset({"a.r2.off"}),
)


def summary_of(run: Run) -> Summary:
    return summarize(run.context, run.plan, run.records, run.scores)


def test_every_planned_trial_has_a_row_in_the_order_of_the_plan() -> None:
    """Nothing that was planned disappears."""
    run = make_run(SPEC)
    census = summary_of(run).census
    assert [row.trial for row in census.rows] == [trial.trial for trial in run.plan.trials]
    assert (census.blocks, census.complete_blocks) == (4, 2)


def test_a_row_says_why_its_block_is_incomplete() -> None:
    """The trial that completed beside a failed one says which one failed."""
    rows = {row.trial: row for row in summary_of(make_run(SPEC)).census.rows}
    assert (rows["a.r1.off"].outcome, rows["a.r1.off"].why_not) == (Outcome.COMPLETED, "memory ended timeout")
    assert rows["b.r2.off"].why_not == "off ended cancelled; memory ended not_run"
    assert (rows["a.r2.off"].block_complete, rows["a.r2.off"].why_not, rows["a.r2.off"].attempts) == (True, "", 2)


def test_counts_by_arm_and_task() -> None:
    """Failures, and ends that count against nobody, are counted apart."""
    census = summary_of(make_run(SPEC)).census
    assert census.by_arm == (
        OutcomeCount(arm="off", outcome=Outcome.COMPLETED, trials=3),
        OutcomeCount(arm="off", outcome=Outcome.CANCELLED, trials=1),
        OutcomeCount(arm="memory", outcome=Outcome.COMPLETED, trials=2),
        OutcomeCount(arm="memory", outcome=Outcome.TIMEOUT, trials=1),
        OutcomeCount(arm="memory", outcome=Outcome.NOT_RUN, trials=1),
    )
    assert census.by_task[1] == TaskCount(task="a", arm="memory", planned=2, completed=1, failed=1, other=0)
    assert census.by_task[3] == TaskCount(task="b", arm="memory", planned=2, completed=1, failed=0, other=1)


def test_a_planned_trial_without_a_record_was_not_run() -> None:
    """An interrupted run shows what it owes, and the check says so."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    summary = summarize(run.context, run.plan, run.records[:1], run.scores[:1])
    missing = run.records[1].trial
    row = next(row for row in summary.census.rows if row.trial == missing)
    assert (row.outcome, row.reason) == (Outcome.NOT_RUN, "no record of it exists")
    check = next(check for check in summary.checks if check.name == "census")
    assert (check.passed, check.checked, check.failed) == (False, 2, (missing,))
