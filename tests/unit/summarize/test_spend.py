"""What a run used in all: failed and repeated attempts, cut answers as far as they are known, the memory's own calls apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.collect.attempt import collect_attempt
from runner.core.outcomes import Outcome
from runner.core.prices import FIXTURE_MODEL
from runner.core.quantities import Measured, Unavailable
from runner.core.summary import Spend
from runner.summarize.summary import summarize
from tests.fakes.attempts import exchange, good_control, lines, usage
from tests.fakes.records import Run, RunSpec, Usage, make_run, model_usage

if TYPE_CHECKING:
    from runner.core.quantities import Quantity
    from runner.core.usage import ModelUsage

# 100 input tokens of claude-sonnet-4-5 at 3 dollars per million.
USED = Usage(1, 100, 0, 0, 0, 1_000, 0, 1, 1)


def spend_of(run: Run, arm: str = "memory") -> Spend:
    summary = summarize(run.context, run.plan, run.records, ())
    return next(item for item in summary.spend if item.arm == arm)


def with_usage(observed: tuple[ModelUsage, ...], memory: tuple[ModelUsage, ...] = ()) -> Run:
    """One trial an arm; the treatment's used this."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    record = next(item for item in run.records if item.arm == "memory")
    changes = {"observed": observed, "observed_memory": memory}
    last = record.attempts[0].model_copy(update=changes)
    return run.with_records({record.trial: record.model_copy(update={**changes, "attempts": (last,)})})


def observed(*exchanges: dict[str, Any]) -> tuple[ModelUsage, ...]:
    """What the gateway's log of these exchanges comes to, as a fixture's."""
    found = collect_attempt(good_control().but(exchanges=lines(*exchanges)).evidence()).observed
    return tuple(item.model_copy(update={"model": FIXTURE_MODEL}) for item in found)


def test_failed_and_repeated_attempts_count() -> None:
    """A failed trial's tokens are spent; an attempt whose gateway died is told as not known, not as free."""
    spec = RunSpec(
        tasks=("a", "b"),
        repetitions=1,
        usages={"a.r1.memory": USED, "b.r1.memory": USED},
        outcomes={"a.r1.memory": Outcome.TIMEOUT, "b.r1.memory": Outcome.GATEWAY_FAILED},
        retried=frozenset({"a.r1.memory"}),
    )
    assert spend_of(make_run(spec)) == Spend(
        arm="memory",
        trials=2,
        attempts=3,
        repeated=1,
        tokens=100,
        cost_microusd=300,
        memory_tokens=0,
        memory_cost_microusd=0,
        attempts_without_tokens=1,
        attempts_without_cost=1,
        charged_microusd=Unavailable("nothing is capped"),
        attempts_without_charge=0,
    )


def test_an_earlier_attempt_s_usage_is_spent_although_no_figure_counts_it() -> None:
    """Totals use the last attempt; money went into both."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1, usages={"a.r1.memory": USED}))
    record = next(item for item in run.records if item.arm == "memory")
    first = record.attempts[0].model_copy(update={"outcome": Outcome.INFRASTRUCTURE})
    second = record.attempts[0].model_copy(update={"number": 2})
    both = record.model_copy(update={"attempts": (first, second)})
    found = spend_of(run.with_records({record.trial: both}))
    assert (found.attempts, found.tokens, found.cost_microusd) == (2, 200, 600)


def test_of_a_cut_answer_the_input_is_spent() -> None:
    """1,000 input tokens are known, the output isn't: 3,000 micro-dollars or more, beside the whole answer's 750."""
    none = {"output_tokens": 0, "cache_read_input_tokens": 0}
    none |= {"cache_write_5m_input_tokens": 0, "cache_write_1h_input_tokens": 0}
    cut = {**usage(input_tokens=1_000, **none), "output_tokens": {"unavailable": "cut before the final usage"}}
    whole = usage(**{"input_tokens": 0, **none, "output_tokens": 50})
    found = spend_of(with_usage(observed(exchange(1, usage=whole), exchange(2, cut=True, usage=cut))))
    assert (found.tokens, found.cost_microusd) == (1_050, 3_750)
    assert (found.attempts_without_tokens, found.attempts_without_cost) == (1, 1)


def test_refused_requests_and_a_provider_s_errors_spend_nothing() -> None:
    """Nothing was generated for them, and nothing about them is unknown."""
    none = {"unavailable": "the answer is an error"}
    refused = exchange(1, status=402, refused="cap_exceeded", usage=none)
    found = spend_of(with_usage(observed(refused, exchange(2, status=529, usage=none))))
    assert (found.attempts, found.tokens, found.cost_microusd, found.attempts_without_cost) == (1, 0, 0, 0)


def test_the_memory_s_own_calls_are_part_of_the_spend_and_shown_apart() -> None:
    """Under a token of their own: 1,000 of them at 3 dollars per million."""
    own = (model_usage(FIXTURE_MODEL, Usage(1, 1_000, 0, 0, 0, 0, 0, 0, 0)),)
    found = spend_of(with_usage((model_usage(FIXTURE_MODEL, USED),), own))
    assert (found.tokens, found.cost_microusd) == (1_100, 3_300)
    assert (found.memory_tokens, found.memory_cost_microusd) == (1_000, 3_000)


def test_what_has_no_price_is_told_and_adds_nothing() -> None:
    """A rate that the table doesn't have: its tokens are known, its cost isn't."""
    odd = model_usage(FIXTURE_MODEL, USED).model_copy(update={"rate": ("speed=warp",)})
    found = spend_of(with_usage((odd, model_usage(FIXTURE_MODEL, USED))))
    assert (found.tokens, found.cost_microusd) == (200, 300)
    assert (found.attempts_without_tokens, found.attempts_without_cost) == (0, 1)


def with_charges(*charges: Quantity) -> Run:
    """One trial an arm; the attempts of the treatment's count so much against the caps."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    record = next(item for item in run.records if item.arm == "memory")
    attempts = tuple(
        record.attempts[0].model_copy(update={"number": number, "charged_microusd": charge})
        for number, charge in enumerate(charges, 1)
    )
    return run.with_records({record.trial: record.model_copy(update={"attempts": attempts})})


def test_what_caps_counted_stands_beside_what_is_known() -> None:
    """Of every attempt; one of which nobody knows it is told, for its whole grant counts."""
    run = with_charges(Measured(1_200), Measured(34), Unavailable("exchanges.jsonl is missing"))
    found = spend_of(run)
    assert (found.charged_microusd, found.attempts_without_charge) == (Measured(1_234), 1)
    control = spend_of(run, "off")
    assert (control.charged_microusd, control.attempts_without_charge) == (Unavailable("nothing is capped"), 0)


def test_an_arm_without_attempts_says_nothing_about_caps() -> None:
    """There may have been some."""
    assert spend_of(with_charges()).charged_microusd == Unavailable("no attempt was made")


def test_lost_evidence_is_never_free() -> None:
    """Nothing is known of the one exchange, all of the other."""
    lost = Unavailable("lost from exchanges.jsonl: 1 exchange")
    unknown = model_usage(FIXTURE_MODEL, USED).model_copy(
        update=dict.fromkeys(("input_tokens", "output_tokens", "cache_read_input_tokens"), lost)
    )
    found = spend_of(with_usage((unknown, model_usage(FIXTURE_MODEL, USED))))
    assert (found.tokens, found.cost_microusd, found.attempts_without_cost) == (100, 300, 1)
