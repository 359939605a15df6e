from dataclasses import replace

from runner.core.outcomes import Outcome
from runner.core.prices import FIXTURE_MODEL
from runner.core.quantities import Measured, Unavailable
from runner.core.records import Finding
from runner.core.summary import FindingGroup, InertTrials, Summary
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, Usage, make_run, model_usage

SPEC = RunSpec(tasks=("a", "b", "c"), repetitions=2)


def summary_of(run: Run) -> Summary:
    return summarize(run.context, run.plan, run.records, run.scores)


def check(summary: Summary, name: str) -> tuple[bool, int, tuple[str, ...]]:
    found = next(item for item in summary.checks if item.name == name)
    return found.passed, found.checked, found.failed


def test_the_order_strata_part_the_complete_blocks() -> None:
    """Each block's control ran either before or after the treatment; the two totals add up to the pooled one."""
    summary = summary_of(make_run(SPEC))
    before, after = (item for item in summary.order_effect if item.measure == "total_tokens")
    pooled = next(row for row in summary.views[0].totals if row.measure == "total_tokens")
    assert (before.control_ran, before.n_blocks, after.control_ran, after.n_blocks) == ("before", 3, "after", 3)
    assert before.control_total.value + after.control_total.value == pooled.arms[0].total.value
    assert before.treatment_total.value + after.treatment_total.value == pooled.arms[1].total.value


def test_an_order_that_no_block_has_is_unavailable() -> None:
    """One block has one order; the other stratum isn't 0."""
    summary = summary_of(make_run(RunSpec(tasks=("a",), repetitions=1)))
    strata = [item for item in summary.order_effect if item.measure == "wall_ms"]
    empty = next(item for item in strata if item.n_blocks == 0)
    assert empty.ratio_ppm == Unavailable("no block has this measure in this order")


def test_treatment_trials_that_never_called_the_memory_are_named() -> None:
    """Completed ones only: a trial that was cut off had no chance."""
    spec = replace(SPEC, inert=frozenset({"b.r1.memory", "c.r1.memory"}), outcomes={"c.r1.memory": Outcome.TIMEOUT})
    assert summary_of(make_run(spec)).inert == (
        InertTrials(arm="memory", completed=5, inert=1, trials=("b.r1.memory",)),
    )


def test_findings_are_grouped_by_kind() -> None:
    """Counts are of findings, trials are named once, the example is the first in the plan."""
    findings = {
        "a.r1.off": (Finding(kind="cut", detail="one"), Finding(kind="cut", detail="two")),
        "a.r1.memory": (Finding(kind="resent", detail="three"),),
    }
    assert summary_of(make_run(replace(SPEC, findings=findings))).findings == (
        FindingGroup(kind="cut", count=2, trials=("a.r1.off",), example="one"),
        FindingGroup(kind="resent", count=1, trials=("a.r1.memory",), example="three"),
    )


def test_a_reported_cost_that_disagrees_is_a_finding() -> None:
    """Never averaged, never dropped; one micro-dollar is the rounding of the client's float."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    first, second = run.records
    nudged = {
        first.trial: first.model_copy(
            update={"reported_cost_microusd": Measured(first.reported_cost_microusd.value + 1)}
        ),
        second.trial: second.model_copy(
            update={"reported_cost_microusd": Measured(second.reported_cost_microusd.value + 2)}
        ),
    }
    groups = summary_of(run.with_records(nudged)).findings
    assert [(group.kind, group.trials) for group in groups] == [("cost_disagrees", (second.trial,))]


def test_a_cost_that_disagrees_is_told_with_both_amounts() -> None:
    """Per trial, so that a reader sees which figure is whose."""
    usage = Usage(1, 1_000, 0, 0, 0, 1_000, 0, 1, 1)
    run = make_run(RunSpec(tasks=("a",), repetitions=1, usages={"a.r1.off": usage, "a.r1.memory": usage}))
    record = run.records[0]
    changed = record.model_copy(update={"reported_cost_microusd": Measured(4_500)})
    (group,) = summary_of(run.with_records({record.trial: changed})).findings
    assert (group.kind, group.count) == ("cost_disagrees", 1)
    assert group.example == "the client reports 4500 micro-dollars; list price gives 3000 micro-dollars"


def test_both_costs_stand_in_every_view_with_their_own_blocks() -> None:
    """A trial that ended without a result has a list price and no word of the client's."""
    summary = summary_of(make_run(replace(SPEC, outcomes={"a.r1.memory": Outcome.TIMEOUT})))
    blocks = {
        (view.treatment, row.measure): (row.n_blocks, [arm.arm for arm in row.arms])
        for view in summary.views
        for row in view.totals
        if row.measure in {"client_cost_microusd", "reported_cost_microusd"}
    }
    assert blocks == {
        ("complete_blocks", "client_cost_microusd"): (5, ["off", "memory"]),
        ("complete_blocks", "reported_cost_microusd"): (5, ["off", "memory"]),
        ("failures_counted", "client_cost_microusd"): (6, ["off", "memory"]),
        ("failures_counted", "reported_cost_microusd"): (5, ["off", "memory"]),
    }


def test_the_memory_s_own_requests_are_no_part_of_what_is_compared_with_the_client_s_cost() -> None:
    """The client doesn't see them."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    record = next(item for item in run.records if item.arm == "memory")
    own = (model_usage(FIXTURE_MODEL, Usage(1, 1_000_000, 0, 0, 0, 0, 0, 0, 0)),)
    last = record.attempts[0].model_copy(update={"observed_memory": own})
    changed = record.model_copy(update={"observed_memory": own, "attempts": (last,)})
    assert summary_of(run.with_records({record.trial: changed})).findings == ()


def test_a_price_that_the_client_guessed_stands_beside_the_table_s() -> None:
    """The guess is the record's, the list price the summary's."""
    guess = Finding(kind="cost_guessed", detail="the client guessed the price of x: 4500 micro-dollars")
    usage = Usage(1, 1_000, 0, 0, 0, 1_000, 0, 1, 1)
    spec = RunSpec(tasks=("a",), repetitions=1, usages={"a.r1.off": usage}, findings={"a.r1.off": (guess,)})
    (group,) = summary_of(make_run(spec)).findings
    assert group.example == f"{guess.detail}; list price gives 3000 micro-dollars"


def test_a_model_that_the_table_does_not_have_leaves_the_client_s_cost_alone() -> None:
    """Nobody here can say whether it is right, and that is told."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    unpriced = replace(run, context=replace(run.context, model=replace(run.context.model, asked="nobody")), scores=())
    (group,) = summary_of(unpriced).findings
    assert (group.kind, group.count) == ("cost_guessed", 2)
    assert group.example.endswith(
        "micro-dollars; list price gives none: no list price for model 'nobody' in the table of 2026-11-29"
    )


def test_usage_that_is_not_known_is_no_guessed_price() -> None:
    """Then `usage_missing` says it."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    record = run.records[0]
    observed = (record.observed[0].model_copy(update={"output_tokens": Unavailable("cut")}),)
    last = record.attempts[0].model_copy(update={"observed": observed})
    changed = record.model_copy(update={"observed": observed, "attempts": (last,)})
    partial = replace(run.with_records({record.trial: changed}), scores=())
    assert summary_of(partial).findings == ()


def test_a_control_that_reached_the_memory_fails_the_check() -> None:
    """The instrument says when its own isolation broke."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    control = next(record for record in run.records if record.arm == "off")
    assert check(summary_of(run), "memory out of reach") == (True, 1, ())
    leaked = run.with_records({control.trial: control.model_copy(update={"sidecar_requests": 1})})
    assert check(summary_of(leaked), "memory out of reach") == (False, 1, (control.trial,))


def test_usage_that_the_client_reports_otherwise_fails_the_check() -> None:
    """One output token more on one side is seen."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    first = run.records[0]
    reported = first.reported[0].model_copy(
        update={"output_tokens": Measured(first.reported[0].output_tokens.value + 1)}
    )
    disagreeing = run.with_records({first.trial: first.model_copy(update={"reported": (reported,)})})
    assert check(summary_of(run), "usage agrees") == (True, 2, ())
    assert check(summary_of(disagreeing), "usage agrees") == (False, 2, (first.trial,))


def test_models_and_tools_are_shown_for_complete_blocks() -> None:
    """What one block used, under the only name that a fixture has."""
    usage = Usage(4, 10, 20, 30, 40, 1_000, 2, 1, 1)
    run = make_run(RunSpec(tasks=("a",), repetitions=1, usages={"a.r1.memory": usage}))
    summary = summary_of(run)
    shown = next(item for item in summary.models if item.arm == "memory")
    assert (shown.owner, shown.model, shown.requests) == ("client", FIXTURE_MODEL, 4)
    assert (shown.input_tokens, shown.cache_write_1h_input_tokens) == (Measured(10), Measured(0))
    assert [(item.tool, item.calls) for item in summary.tools if item.arm == "memory"] == [
        ("Grep", 2),
        ("Read", 1),
        ("mcp__memory__memory_search", 2),
    ]


def test_the_memorys_own_requests_are_part_of_the_cost_and_shown_apart() -> None:
    """1,000 input tokens of the memory at 3 micro-dollars each add to the treatment, not to the client's figure."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    record = next(item for item in run.records if item.arm == "memory")
    own = (model_usage(FIXTURE_MODEL, Usage(1, 1_000, 0, 0, 0, 0, 0, 0, 0)),)
    last = record.attempts[0].model_copy(update={"observed_memory": own})
    changed = record.model_copy(update={"observed_memory": own, "attempts": (last,)})
    summary = summary_of(run.with_records({record.trial: changed}))
    totals = {row.measure: row.arms[1].total.value for row in summary.views[0].totals if row.n_blocks}
    assert totals["memory_cost_microusd"] == 3_000
    assert totals["cost_microusd"] == totals["client_cost_microusd"] + 3_000
    assert summary.findings == ()


def test_the_cost_of_client_and_memory_together_is_rounded_once() -> None:
    """0.3 micro-dollars of each are 0.6: rounded apart, both would be nothing."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    record = next(item for item in run.records if item.arm == "memory")
    one_read = (model_usage(FIXTURE_MODEL, Usage(1, 0, 0, 1, 0, 0, 0, 0, 0)),)
    last = record.attempts[0].model_copy(update={"observed": one_read, "observed_memory": one_read})
    changed = record.model_copy(update={"observed": one_read, "observed_memory": one_read, "attempts": (last,)})
    summary = summary_of(replace(run.with_records({record.trial: changed}), scores=()))
    totals = {row.measure: row.arms[1].total for row in summary.views[0].totals}
    assert totals["cost_microusd"] == Measured(1)
    assert (totals["client_cost_microusd"], totals["memory_cost_microusd"]) == (Measured(0), Measured(0))


def test_what_was_not_checked_is_said() -> None:
    """A fixture says first that it knows nothing of a provider's model."""
    names = [item.name for item in summary_of(make_run(SPEC)).not_checked]
    assert names == ["a provider's model", "answer quality", "all figures at once", "second machine"]
