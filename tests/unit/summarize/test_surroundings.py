from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.summary import ArmVersions, Summary
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, Usage, make_run

if TYPE_CHECKING:
    from runner.core.records import Record

SPEC = RunSpec(tasks=("a", "b", "c", "d", "e", "f"), repetitions=1)


def summary_of(run: Run) -> Summary:
    return summarize(run.context, run.plan, run.records, run.scores)


def changed(run: Run, arm: str, change: dict[str, object]) -> Run:
    return run.with_records({r.trial: r.model_copy(update=change) for r in run.records if r.arm == arm})


def test_cache_warmth_by_arm_and_place_in_the_block() -> None:
    """One block, 600 of 1,000 input tokens read from the cache by what ran first, 900 by what ran second."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    first, second = (trial.trial for trial in run.plan.trials)
    usages = {first: Usage(1, 100, 7, 600, 300, 1_000, 1, 1, 1), second: Usage(1, 50, 7, 900, 50, 1_000, 1, 1, 1)}
    rows = summary_of(make_run(RunSpec(tasks=("a",), repetitions=1, usages=usages))).cache_warmth
    shares = {(row.position, row.read_share_ppm, row.input_side_tokens, row.trials) for row in rows}
    assert shares == {(0, Measured(600_000), Measured(1_000), 1), (1, Measured(900_000), Measured(1_000), 1)}


def test_cold_starts_are_named() -> None:
    """Start-ups of 750 ms five times and 2,000 ms once: the last is more than twice the median."""
    usages = {f"{task}.r1.off": Usage(1, 10, 1, 0, 0, 1_000, 0, 1, 1) for task in "abcde"}
    usages["f.r1.off"] = Usage(1, 10, 1, 0, 0, 26_000, 0, 1, 1)
    found = next(item for item in summary_of(make_run(replace(SPEC, usages=usages))).cold_starts if item.arm == "off")
    assert (found.trials, found.median_startup_us, found.cold) == (6, Measured(750_000), ("f.r1.off",))


def test_no_start_that_is_known_is_unavailable() -> None:
    """A run in which nothing completed has no median."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1, outcomes={"a.r1.off": Outcome.NOT_RUN}))
    found = next(item for item in summary_of(run).cold_starts if item.arm == "off")
    assert (found.trials, found.median_startup_us) == (0, Unavailable("no start-up is known"))


def test_drift_parts_the_blocks_in_the_order_of_the_plan() -> None:
    """Six blocks, three in each half; together they are the pooled totals; five make halves of three and two."""
    summary = summary_of(make_run(SPEC))
    first, second = (item for item in summary.drift if item.measure == "cost_microusd")
    pooled = next(row for row in summary.views[0].totals if row.measure == "cost_microusd")
    assert (first.half, first.n_blocks, second.half, second.n_blocks) == ("first", 3, "second", 3)
    assert first.control_total.value + second.control_total.value == pooled.arms[0].total.value
    lost = summary_of(make_run(replace(SPEC, outcomes={"a.r1.off": Outcome.INFRASTRUCTURE})))
    assert [item.n_blocks for item in lost.drift if item.measure == "cost_microusd"] == [3, 2]


def test_arms_that_ran_different_clients_are_not_compared() -> None:
    """Totals stay; no contrast has a figure, and the reason is the summary's."""
    run = changed(make_run(SPEC), "memory", {"client_versions": ("2.1.333",)})
    summary = summary_of(run)
    reason = "the arms had different client versions (off: 2.1.332; memory: 2.1.333)"
    assert summary.obstacles == (reason,)
    assert summary.versions[1] == ArmVersions(
        arm="memory", models=("scripted-policy (fixture)",), client_versions=("2.1.333",)
    )
    assert {contrast.ratio_ppm.value for contrast in summary.views[0].contrasts} == {Unavailable(reason)}
    assert {contrast.n_blocks for contrast in summary.views[0].contrasts} == {6}
    assert summary.views[0].totals[0].arms[0].total == summary_of(make_run(SPEC)).views[0].totals[0].arms[0].total


def test_arms_that_different_models_answered_are_not_compared() -> None:
    """A provider that resolves one arm's requests otherwise makes another experiment of it."""
    run = make_run(SPEC)
    context = replace(run.context, model=replace(run.context.model, mode="live", policy=""))

    def answered(record: Record, model: str) -> Record:
        usage = record.observed[0].model_copy(update={"model": model})
        attempt = record.attempts[0].model_copy(update={"observed": (usage,)})
        return record.model_copy(update={"observed": (usage,), "attempts": (attempt,)})

    names = {"off": "claude-sonnet-4-5-20250929", "memory": "claude-sonnet-5-5"}
    records = [answered(record, names[record.arm]) for record in run.records]
    summary = summarize(context, run.plan, records, ())
    assert summary.obstacles == (
        "the arms had different models (off: claude-sonnet-4-5-20250929; memory: claude-sonnet-5-5)",
    )


def test_a_client_that_does_not_say_its_version_stands_in_nobodys_way() -> None:
    """Nothing is known to differ."""
    assert summary_of(changed(make_run(SPEC), "off", {"client_versions": ()})).obstacles == ()
