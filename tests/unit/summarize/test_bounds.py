"""Four blocks: a.r1, a.r2, b.r1, b.r2; references out of 3 a trial, model requests limited to 20 a trial."""

from __future__ import annotations

from dataclasses import replace

from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.summary import Range, WorstCase
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, Usage, make_run


def usage(requests: int, found: int) -> Usage:
    return Usage(requests, 100, 0, 0, 0, 1_000, 1, found, 1)


USAGES = {
    **{f"{block}.off": usage(10, 1) for block in ("a.r1", "a.r2", "b.r1", "b.r2")},
    **{f"{block}.memory": usage(5, 2) for block in ("a.r1", "a.r2", "b.r1", "b.r2")},
}


def worst(measure: str, lost: str) -> list[WorstCase]:
    run = make_run(RunSpec(tasks=("a", "b"), usages=USAGES, outcomes={lost: Outcome.INFRASTRUCTURE} if lost else {}))
    context = replace(run.context, ceilings={"model_requests": 20})
    summary = summarize(context, run.plan, run.records, run.scores)
    return [item for item in summary.worst_case if item.measure == measure]


def test_a_whole_run_needs_no_bounds() -> None:
    """Nothing is unmeasured."""
    assert worst("references", "") == []


def test_a_share_lies_between_nothing_found_and_everything() -> None:
    """Control 4 of 12; treatment 6 measured, and 0 to 3 more: 2 to 5 of 12 apart."""
    assert worst("references", "b.r2.memory") == [
        WorstCase(
            measure="references",
            arm="memory",
            n_blocks=4,
            unmeasured_control=0,
            unmeasured_treatment=1,
            ratio_ppm=Range(low=Measured(1_500_000), high=Measured(2_250_000)),
            mean_difference_scaled=Range(low=Measured(166_667), high=Measured(416_667)),
        )
    ]


def test_a_limited_amount_lies_below_its_limit() -> None:
    """Control 30 measured and 0 to 20 more; treatment 20: from 20 / 50 to 20 / 30."""
    (found,) = worst("model_requests", "a.r1.off")
    assert found.ratio_ppm == Range(low=Measured(400_000), high=Measured(666_667))
    assert found.mean_difference_scaled == Range(low=Measured(-7_500), high=Measured(-2_500))


def test_an_unlimited_amount_has_one_end_only() -> None:
    """What the lost trial would have taken, nothing limits: a longer control makes any ratio smaller."""
    unlimited = Unavailable("nothing limits this measure in a trial that was not measured")
    (lost_control,) = worst("wall_ms", "a.r1.off")
    assert lost_control.ratio_ppm == Range(low=Measured(0), high=Measured(1_333_333))
    assert lost_control.mean_difference_scaled == Range(low=unlimited, high=Measured(250_000))
    (lost_treatment,) = worst("wall_ms", "a.r1.memory")
    assert lost_treatment.ratio_ppm == Range(low=Measured(750_000), high=unlimited)
