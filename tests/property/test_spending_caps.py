"""Caps hold: whatever concurrent trials ask, however long answers take, a provider bills no more than the study's cap.

Purse and gateways run in this process; the provider is a coroutine that bills what it likes within a request's bounds.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from gateway.asked import asked_of
from gateway.capped import CappedUpstream
from gateway.exchange import Answer, BrokenOffError, Exchange, Observation, Request, Usage, UsageUnavailable
from gateway.provider_errors import RefusedError
from gateway.spending import Spending, read_spending

from runner.core.plan import PlannedTrial
from runner.core.prices import LIST_PRICES
from runner.core.spending import spending_for
from runner.core.study import Caps
from runner.execute.purse import Purse
from tests.fakes.orders import capped_study

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.execute.purse import Grant

MODEL = "claude-sonnet-4-5"
TRIALS = 16
TRIAL_CAP = 2_000_000
STUDY_CAP = TRIAL_CAP * 7 // 2
REQUESTS = 6


def body(draw: random.Random) -> bytes:
    """A request of random size; some ask for a cache, for one hour even."""
    control = draw.choice(
        [{}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    )
    text = {"type": "text", "text": "x" * draw.randrange(1, 60_000), **control}
    request = {
        "model": MODEL,
        "max_tokens": draw.randrange(1, 30_000),
        "messages": [{"role": "user", "content": [text]}],
    }
    return json.dumps(request).encode()


class Provider:
    """Answers within what a request allows, and adds up what it bills."""

    def __init__(self, spending: Spending, draw: random.Random, billed: list[int]) -> None:
        self._spending = spending
        self._draw = draw
        self._billed = billed

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        take_model_request()
        draw = self._draw
        asked = asked_of(exchange.request, self._spending.bounds)
        for _ in range(draw.randrange(4)):
            await asyncio.sleep(0)
        # Everything may be billed as the dearest class that the request allows.
        classes = dict.fromkeys(vars(Usage(0, 0, 0, 0, 0)), 0)
        classes[draw.choice(asked.input_classes)] = draw.choice(
            [asked.input_tokens, draw.randrange(asked.input_tokens)]
        )
        classes["output_tokens"] = draw.choice([asked.output_tokens, draw.randrange(asked.output_tokens)])
        usage = Usage(**classes)
        region: dict[str, object] = {"inference_geo": "us"}
        details = draw.choice([None, region])
        cost = self._spending.cost_microusd(MODEL, usage, details)
        assert cost is not None
        fate = draw.choice(["whole", "whole", "whole", "silent", "broken", "refused"])
        if fate == "refused":
            return _answer(529, UsageUnavailable("the answer is an error"), None)
        self._billed.append(cost)
        if fate == "broken":
            raise BrokenOffError(reset=True)
        return _answer(200, usage if fate == "whole" else UsageUnavailable("the answer has no usage"), details)


def _answer(status: int, usage: Usage | UsageUnavailable, details: dict[str, object] | None) -> Answer:
    seen = Observation(MODEL, MODEL, "end_turn", streamed=False, usage=usage, details=details)
    return Answer(status, (), b"", 0, lambda: seen)


async def one_trial(grant: Grant, draw: random.Random, billed: list[int]) -> int:
    """What a trial's gateway charged; its requests overlap."""
    study = capped_study(Caps(trial_microusd=TRIAL_CAP, study_microusd=STUDY_CAP, output_tokens=30_000))
    spending = read_spending(json.loads(spending_for(study, LIST_PRICES, grant.microusd, grant.of).model_dump_json()))
    upstream = CappedUpstream(Provider(spending, draw, billed), spending)
    exchanges = [Exchange(n, 0, Request("POST", "/v1/messages", (), body(draw))) for n in range(1, REQUESTS + 1)]

    async def ask(exchange: Exchange) -> None:
        for _ in range(draw.randrange(6)):
            await asyncio.sleep(0)
        try:
            answer = await upstream.answer(exchange, lambda: None)
        except (RefusedError, BrokenOffError):
            return
        await asyncio.sleep(0)
        answer.observe()

    await asyncio.gather(*map(ask, exchanges))
    return sum(exchange.charged_microusd or 0 for exchange in exchanges)


@pytest.mark.parametrize("said", [{"speed": "warp"}, {"service_tier": "priority"}, {"server_tools": {"oracle": 1}}])
def test_an_answer_at_a_rate_that_nobody_declared_is_charged_its_worst_case(said: dict[str, object]) -> None:
    """What it cost isn't known: the standard rate would be a guess."""
    study = capped_study(Caps(trial_microusd=TRIAL_CAP, output_tokens=30_000))
    spending = read_spending(json.loads(spending_for(study, LIST_PRICES, TRIAL_CAP, "trial").model_dump_json()))

    class Odd:
        async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
            take_model_request()
            assert exchange.reserved_microusd is not None
            return _answer(200, Usage(1, 1, 0, 0, 0), said)

    upstream = CappedUpstream(Odd(), spending)
    exchange = Exchange(1, 0, Request("POST", "/v1/messages", (), body(random.Random(1))))  # noqa: S311 - no secret
    asyncio.run(upstream.answer(exchange, lambda: None)).observe()
    assert exchange.charged_microusd == exchange.reserved_microusd == TRIAL_CAP - upstream.budget.left_microusd
    assert (exchange.charged_microusd or 0) > 10_000


def planned(number: int) -> PlannedTrial:
    return PlannedTrial(
        trial=f"t{number}", block=f"b{number // 2}", task="t", arm="a", repetition=1, position=0, sequence=number
    )


@pytest.mark.parametrize("seed", range(200))
def test_sixteen_trials_at_once_never_spend_more_than_the_cap_of_three_and_a_half(seed: int) -> None:
    """What the provider billed is within every cap, and money that came back was used by whoever waited for it."""
    purse = Purse(Caps(trial_microusd=TRIAL_CAP, study_microusd=STUDY_CAP, output_tokens=30_000))
    lock = threading.Lock()
    bills: list[list[int]] = []

    def run(number: int) -> int:
        draw = random.Random(seed * 1000 + number)  # noqa: S311 - a reproducible example, no secret
        trial, billed = planned(number), list[int]()
        grant = purse.grant(trial, 1, waits=True)
        assert grant is not None
        assert grant.microusd <= TRIAL_CAP
        charged = asyncio.run(one_trial(grant, draw, billed))
        with lock:
            bills.append(billed)
        purse.settle(trial.trial, 1, draw.choice([charged, charged, None]))
        return charged

    with ThreadPoolExecutor(TRIALS) as threads:
        charges = list(threads.map(run, range(TRIALS)))
    assert sum(map(sum, bills)) <= sum(charges) <= STUDY_CAP
    assert all(sum(billed) <= TRIAL_CAP for billed in bills)
    assert sum(map(len, bills)) > 0


def test_a_trial_that_waits_gets_what_another_gave_back() -> None:
    """A cap of one trial serves two of them, one after the other, when the first uses little."""
    purse = Purse(Caps(trial_microusd=100, study_microusd=100, output_tokens=1))
    first = purse.grant(planned(0), 1, waits=True)
    got: list[Any] = []
    waiting = threading.Thread(target=lambda: got.append(purse.grant(planned(1), 1, waits=True)))
    waiting.start()
    purse.settle("t0", 1, 30)
    waiting.join(20)
    assert first is not None
    assert (first.microusd, got[0].microusd, got[0].of) == (100, 70, "study")


def test_whoever_may_not_wait_gets_what_there_is() -> None:
    """A repeated attempt never waits: the next pod of its own slot may hold the money."""
    purse = Purse(Caps(trial_microusd=100, block_microusd=150, output_tokens=1))
    assert [purse.grant(planned(number), 1, waits=False).microusd for number in (0, 1)] == [100, 50]  # type: ignore[union-attr]


def test_an_attempt_of_which_nobody_knows_spent_all_that_it_was_granted() -> None:
    """What was lost counts, and is told once only."""
    purse = Purse(Caps(trial_microusd=100, output_tokens=1))
    purse.grant(planned(0), 1, waits=False)
    purse.settle("t0", 1, None)
    purse.settle("t0", 1, 0)
    grant = purse.grant(planned(0), 2, waits=False)
    assert grant is not None
    assert (grant.microusd, grant.of) == (0, "trial")


def test_nobody_waits_for_a_run_that_ends() -> None:
    """Closing wakes whoever waits, with nothing."""
    purse = Purse(Caps(trial_microusd=100, study_microusd=100, output_tokens=1))
    purse.grant(planned(0), 1, waits=True)
    got: list[Any] = []
    waiting = threading.Thread(target=lambda: got.append(purse.grant(planned(1), 1, waits=True)))
    waiting.start()
    purse.close()
    waiting.join(20)
    assert got[0].microusd == 0
