from dataclasses import replace

from runner.core.outcomes import Outcome
from runner.core.prices import LIST_PRICES
from runner.core.quantities import Measured, Unavailable
from runner.measure.cost import trial_cost_microusd
from tests.fakes.records import RunSpec, Usage, make_run

USAGE = Usage(
    requests=3,
    input_tokens=1_000,
    output_tokens=200,
    cache_read=10_000,
    cache_write=400,
    wall_ms=2_000,
    memory_calls=0,
    references_found=0,
    diagnostic_found=0,
)
TRIAL = "a.r1.off"
SPEC = RunSpec(tasks=("a",), repetitions=1, usages={TRIAL: USAGE})


def test_a_trial_costs_what_the_gateway_saw_at_list_price() -> None:
    """1,000 x 3 + 200 x 15 + 10,000 x 0.3 + 400 x 3.75 micro-dollars, priced as the model asked for."""
    record = next(item for item in make_run(SPEC).records if item.trial == TRIAL)
    assert trial_cost_microusd(record, LIST_PRICES, "claude-sonnet-4-5") == Measured(10_500)


def test_a_trial_that_was_not_run_has_no_cost() -> None:
    """Not run isn't free: there is nothing to price."""
    run = make_run(replace(SPEC, outcomes={TRIAL: Outcome.NOT_RUN}))
    record = next(item for item in run.records if item.trial == TRIAL)
    assert trial_cost_microusd(record, LIST_PRICES, "claude-sonnet-4-5") == Unavailable("the trial was not run")


def test_a_trial_whose_gateway_failed_has_no_known_cost() -> None:
    """Requests may have been made that nobody recorded."""
    run = make_run(replace(SPEC, outcomes={TRIAL: Outcome.GATEWAY_FAILED}))
    record = next(item for item in run.records if item.trial == TRIAL)
    assert trial_cost_microusd(record, LIST_PRICES, "claude-sonnet-4-5") == Unavailable(
        "no usage was observed before the end as gateway_failed"
    )
