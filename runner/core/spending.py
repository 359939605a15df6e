"""What a gateway is told about money, and whether a study's caps leave room for a single request.

The arithmetic of a request's worst case is the gateway's; this module lays out prices and bounds for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.errors import Problem
from runner.core.gateway import LongContextPart, PricePart, SpendingPart, SurchargePart
from runner.core.quantities import Unavailable
from runner.core.request_cost import smallest_requests
from runner.core.usage import TOKEN_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.prices import PriceTable
    from runner.core.resolved import ResolvedStudy

# What a model writes at most, where neither client nor study says it: the most that was seen in a request.
MOST_OUTPUT_TOKENS: Final = 128_000
UNCAPPED_MICROUSD: Final = 10**15
"""A grant where nothing beyond one request is capped."""


def spending_for(study: ResolvedStudy, prices: PriceTable, grant_microusd: int, grant_of: str) -> SpendingPart:
    """What the gateway of an attempt is told that may spend `grant_microusd`."""
    caps = study.caps
    limits = {limit.model: limit for limit in prices.length_limits}
    return SpendingPart(
        grant_microusd=grant_microusd,
        grant_of=grant_of,
        request_microusd=caps.request_microusd,
        bounds={
            "input_tokens_per_1000_bytes": caps.input_tokens_per_1000_bytes,
            "hidden_input_tokens": caps.hidden_input_tokens,
            "image_tokens": caps.image_tokens,
            "document_tokens": caps.document_tokens,
            "server_tool_input_tokens": caps.server_tool_input_tokens,
            "output_tokens": study.output_tokens or MOST_OUTPUT_TOKENS,
        },
        prices=tuple(
            PricePart(
                **{name: price.microusd_per_million(name) for name in TOKEN_CLASSES},
                model=price.model,
                long_context=LongContextPart(
                    from_input_tokens=limits[price.model].below_input_tokens,
                    at_most_permille=limits[price.model].at_most_permille,
                )
                if price.model in limits
                else None,
            )
            for price in prices.prices
        ),
        surcharges=tuple(
            SurchargePart(detail=item.detail, value=item.value, permille=item.permille, models=item.models)
            for item in prices.surcharges
        ),
        server_tools=dict(prices.server_tools),
    )


def cap_problems(study: ResolvedStudy, prices: PriceTable, document: str) -> Iterator[Problem]:
    """Why the caps of `study` can't be kept, or leave some trial no room for even one request."""
    caps = study.caps
    if not caps.capped:
        return
    if study.output_tokens is None:
        hint = "the client is told so where it can be, and the worst case of a request is counted with it"
        yield Problem("a cap needs to know what one request may write at most", document, "caps.output_tokens", hint)
        return
    smallest = smallest_requests(study, prices)
    if isinstance(smallest, Unavailable):
        hint = "bring a table of prices: `prices` of the study"
        message = f"the model {study.client.model!r} has no price, so nothing it does can be capped"
        yield Problem(message, document, "client.model", hint)
        return
    free = [price.model for price in prices.prices if not any(map(price.microusd_per_million, TOKEN_CLASSES))]
    if free:
        message = f"{', '.join(free)} costs nothing in the table, so no cap holds back anything it does"
        yield Problem(message, document, "prices", "give it its price, or leave the caps out")
        return
    # Every trial has to begin with one, so that the largest of the smallest decides.
    for name, cap in caps.declared().items():
        short = [item for item in smallest if item.microusd > cap]
        if short:
            whose = "this study" if len(short) == len(smallest) else f"task {short[-1].task}, arm {short[-1].arm},"
            size = short[-1].size
            yield Problem(
                f"not even one request of {whose} fits: with {size.input_tokens} tokens of input and "
                f"{size.output_tokens} of output it may cost {short[-1].microusd} micro-dollars",
                document,
                f"caps.{name}",
                f"{short[-1].microusd} is the least that would do; with a lower caps.output_tokens less does",
            )
