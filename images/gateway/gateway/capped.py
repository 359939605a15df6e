"""May this request be paid for? Reserves the worst case before a request goes out, and gives back what wasn't used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.asked import asked_of, unbounded
from gateway.exchange import Usage
from gateway.messages_request import model_asked
from gateway.provider_errors import LIMIT_STATUS, RefusedError
from gateway.wires import COUNT_PATH, MODEL_PATHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.exchange import Answer, Exchange, Observation, Request
    from gateway.gateway import Upstream
    from gateway.spending import Spending

READING = ("GET", "HEAD", "OPTIONS")
# Errors with which a provider says that it generated nothing; any other one below 500 says so too.
FREE_FROM_500 = (503, 529)
FIXTURE_END = " (fixture)"


class Budget:
    """What is left of the grant; a reservation takes at once, so that no two requests use the same money."""

    def __init__(self, spending: Spending) -> None:
        """Nothing is spent."""
        self.left_microusd = spending.grant_microusd
        self._spending = spending

    def take(self, worst_microusd: int) -> None:
        """So much is reserved.

        Raises:
            RefusedError: when a cap doesn't allow it; nothing is reserved then.
        """
        request = self._spending.request_microusd
        if request is not None and worst_microusd > request:
            self._refuse("request", worst_microusd, request)
        if worst_microusd > self.left_microusd:
            self._refuse(self._spending.grant_of, worst_microusd, self.left_microusd)
        self.left_microusd -= worst_microusd

    def give_back(self, microusd: int) -> None:
        """So much of a reservation wasn't used; a negative amount was used beyond it."""
        self.left_microusd += microusd

    def _refuse(self, cap: str, worst_microusd: int, left_microusd: int) -> None:
        raise RefusedError(
            LIMIT_STATUS,
            "cap_exceeded",
            f"Pairbench refused this request: it may cost up to {worst_microusd} micro-dollars, "
            f"and the cap of the {cap} leaves {left_microusd}.",
            (f"it may cost up to {worst_microusd} micro-dollars", f"the cap of the {cap} leaves {left_microusd}"),
        )


class CappedUpstream:
    """Another upstream that is asked only for what can be paid."""

    def __init__(self, inner: Upstream, spending: Spending) -> None:
        """Nothing is spent."""
        self._inner = inner
        self._spending = spending
        self.budget = Budget(spending)

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        """The inner upstream's answer, whose worst case was reserved before.

        Raises:
            RefusedError: when a cap would be broken, or the inner upstream refuses.
            BrokenOffError: when the model's side ends before it answers.
        """
        worst = self._worst(exchange.request)
        self.budget.take(worst)
        exchange.reserved_microusd = worst
        try:
            answer = await self._inner.answer(exchange, take_model_request)
        except RefusedError:
            # Nothing went out.
            self.budget.give_back(worst)
            exchange.charged_microusd = 0
            raise
        except BaseException:
            exchange.charged_microusd = worst
            raise

        def observe() -> Observation:
            seen = answer.observe()
            charged = self._charge(worst, answer.status, seen)
            self.budget.give_back(worst - charged)
            exchange.charged_microusd = charged
            return seen

        return replace(answer, observe=observe)

    def _worst(self, request: Request) -> int:
        if request.method in READING or (request.method == "POST" and request.path == COUNT_PATH):
            return 0
        if request.method != "POST" or request.path not in MODEL_PATHS:
            unbounded(f"nobody declared what {request.method} {request.path[:80]} costs")
        model = model_asked(request.body)
        asked = asked_of(request, self._spending.bounds)
        worst = self._spending.worst_microusd(model or "", asked)
        if worst is None:
            with_what = "".join(f" with {detail} {value!r}" for detail, value in asked.named.items())[:80]
            unbounded(f"the model {model!r} has no price{with_what}")
        return worst

    def _charge(self, worst: int, status: int | None, seen: Observation) -> int:
        """What the answer cost; the whole reservation where that can't be known."""
        if isinstance(seen.usage, Usage):
            resolved = seen.model_resolved or ""
            # A fixture has no price of its own.
            model = (seen.model_asked or "") if resolved.endswith(FIXTURE_END) else resolved or seen.model_asked or ""
            cost = self._spending.cost_microusd(model, seen.usage, seen.details)
            return worst if cost is None else cost
        if status is not None and status >= 400 and (status < 500 or status in FREE_FROM_500):
            return 0
        return worst
