"""What tokens cost at list price: a dated table, and exact arithmetic in micro-dollars.

A table holds standard rates, and what multiplies them where an answer says so: a region, a speed. A model whose rate is
known to change with length is priced only below a stated bound.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import Field

from runner.core.documents import Document, Part
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import rounded_quotient
from runner.core.usage import TOKEN_CLASSES, ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.core.canonical import Digest

FIXTURE_MODEL: Final = "scripted-policy (fixture)"
"""What a deterministic policy that plays the model is called, everywhere a model is named."""

PRICE_RULE: Final = (
    "Tokens times micro-dollars per million tokens, summed exactly over classes and models of one trial or attempt, "
    "then rounded once to whole micro-dollars, half to even."
)

_INPUT_SIDE: Final = frozenset(TOKEN_CLASSES) - {"output_tokens"}
_RELEASE_DATE = re.compile(r"-\d{8}$")


class ListPrice(Part):
    """Micro-dollars per million tokens of one model, by token class."""

    model: str
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_write_5m_input_tokens: int
    cache_write_1h_input_tokens: int

    def microusd_per_million(self, token_class: str) -> int:
        """The price of `token_class`, one of `TOKEN_CLASSES`."""
        return int(getattr(self, token_class))


def without_date(model: str) -> str:
    """The name of `model` without a release date at its end."""
    return _RELEASE_DATE.sub("", model)


class LengthLimit(Part):
    """A model whose rate rises with length: it is priced only while a trial's input side stays below the bound."""

    model: str
    below_input_tokens: int
    reason: str
    at_most_permille: int = 1000
    """How many times the rate can be beyond the bound at most, in thousandths: for caps alone, never for a price."""


class Surcharge(Part):
    """What multiplies the price of an answer whose usage says `value` under `detail`; no models: all of them."""

    detail: str
    value: str
    permille: int
    models: tuple[str, ...] = ()


class PriceTable(Document):
    """List prices as of one day."""

    FORMAT: ClassVar[str] = "pairbench/prices"

    currency: str
    dated: str
    source: str
    rule: str
    prices: tuple[ListPrice, ...]
    length_limits: tuple[LengthLimit, ...] = ()
    surcharges: tuple[Surcharge, ...] = ()
    server_tools: dict[str, int] = Field(default_factory=dict)
    """Micro-dollars for one request of a tool that the provider runs, by its name in the usage."""

    def price_of(self, model: str) -> ListPrice | None:
        """The price of `model`, which may carry a release date (`-20250929`); None when the table doesn't have it."""
        names = (model, without_date(model))
        return next((price for name in names for price in self.prices if price.model == name), None)

    def limit_of(self, model: str) -> LengthLimit | None:
        """The length limit of `model`, a name as in the table; None when it has none."""
        return next((limit for limit in self.length_limits if limit.model == model), None)


class PriceFile(Part):
    """A study's own table: micro-dollars per million tokens."""

    format: Literal["pairbench/price-file"]
    version: Literal[1]
    dated: str
    source: str
    prices: tuple[ListPrice, ...]
    length_limits: tuple[LengthLimit, ...] = ()
    surcharges: tuple[Surcharge, ...] = ()
    server_tools: dict[str, int] = Field(default_factory=dict)

    def table(self) -> PriceTable:
        """The table that it declares."""
        return PriceTable(
            currency="USD",
            dated=self.dated,
            source=self.source,
            rule=PRICE_RULE,
            prices=self.prices,
            length_limits=self.length_limits,
            surcharges=self.surcharges,
            server_tools=self.server_tools,
        )


def _dollars(model: str, *cents_of_cent: int) -> ListPrice:
    """A price from ten-thousandths of a dollar per million tokens, in the order of `TOKEN_CLASSES`."""
    classes = dict(zip(TOKEN_CLASSES, (value * 100 for value in cents_of_cent), strict=True))
    return ListPrice(model=model, **classes)


# Derived by single-counter runs of Claude Code 2.1.332 on 2026-11-29: a response that reports one token class only
# shows what the client charges for that class. Order: input, output, cache read, cache write 5 m, cache write 1 h.
LIST_PRICES: Final = PriceTable(
    currency="USD",
    dated="2026-11-29",
    source="derived by single-counter runs of Claude Code 2.1.332",
    rule=PRICE_RULE,
    prices=(
        _dollars("claude-fable-5-2", 80_000, 400_000, 2_000, 100_000, 160_000),
        _dollars("claude-haiku-4-5", 10_000, 50_000, 1_000, 12_500, 20_000),
        _dollars("claude-haiku-5-5", 1_000, 5_000, 100, 1_250, 2_000),
        _dollars("claude-opus-4-5", 50_000, 250_000, 5_000, 62_500, 100_000),
        _dollars("claude-opus-5-5", 40_000, 200_000, 2_000, 50_000, 80_000),
        _dollars("claude-sonnet-4-5", 30_000, 150_000, 3_000, 37_500, 60_000),
        _dollars("claude-sonnet-5-5", 20_000, 100_000, 1_000, 25_000, 40_000),
    ),
    length_limits=(
        LengthLimit(
            model="claude-haiku-5-5",
            # A higher rate was seen at 400,000 input tokens; where it begins isn't known: a cautious quarter of that.
            below_input_tokens=100_000,
            reason="a higher rate for long contexts exists, and where it begins is not known",
            # 0.50 dollars per million were charged there, five times the standard rate.
            at_most_permille=5000,
        ),
    ),
    surcharges=(
        Surcharge(detail="inference_geo", value="us", permille=1100),
        Surcharge(detail="speed", value="fast", permille=2000, models=("claude-fable-5-2", "claude-opus-5-5")),
    ),
    # Fetching a page costs its tokens and nothing else.
    server_tools={"web_fetch_requests": 0, "web_search_requests": 10_000},
)


def price_table_digest() -> Digest:
    """The digest of the price table that this version holds."""
    return LIST_PRICES.digest()


def list_cost_microusd(usages: Iterable[ModelUsage], table: PriceTable, price_model: str) -> Quantity:
    """The list price of `usages` in micro-dollars, rounded once by `PRICE_RULE`; no usage at all costs 0.

    What a scripted policy used is priced as `price_model`, the model that was asked for: a fixture has no price of
    its own. A model that the table doesn't have, or a token class that wasn't reported, makes the whole unavailable.
    """
    exact = 0
    for usage in usages:
        name = price_model if usage.model == FIXTURE_MODEL else usage.model
        part = _exact_cost(usage, table, name)
        if isinstance(part, Unavailable):
            return part
        exact += part.value
    return Measured(rounded_quotient(exact, 1_000_000))


def unknown_usage(outcome: Outcome, usages: tuple[ModelUsage, ...]) -> Unavailable | None:
    """Why nothing observed, client and memory together, doesn't mean that nothing was used; None when it does."""
    if usages or outcome not in {Outcome.EVIDENCE_INVALID, Outcome.GATEWAY_FAILED}:
        return None
    return Unavailable(f"no usage was observed before the end as {outcome}")


def _exact_cost(usage: ModelUsage, table: PriceTable, name: str) -> Quantity:
    """The price of `usage` as that of the model `name`, in millionths of a micro-dollar."""
    tokens: dict[str, int] = {}
    for token_class in TOKEN_CLASSES:
        match usage.tokens(token_class):
            case Measured(count):
                tokens[token_class] = count
            case Unavailable(reason):
                return Unavailable(f"{token_class} of {usage.model} is unavailable: {reason}")
    price = table.price_of(name)
    if price is None:
        return Unavailable(f"no list price for model {name!r} in the table of {table.dated}")
    limit = table.limit_of(price.model)
    input_side = sum(count for kind, count in tokens.items() if kind in _INPUT_SIDE)
    if limit is not None and input_side >= limit.below_input_tokens:
        return Unavailable(f"{price.model} used {input_side} input tokens: {limit.reason}")
    exact = sum(count * price.microusd_per_million(token_class) for token_class, count in tokens.items())
    return _with_surcharges(exact, usage, table, price.model)


def _with_surcharges(exact: int, usage: ModelUsage, table: PriceTable, name: str) -> Quantity:
    """The price with what multiplies it and what is billed by the request, in millionths of a micro-dollar."""
    for part in usage.rate:
        detail, _, value = part.partition("=")
        found = [
            item
            for item in table.surcharges
            if (item.detail, item.value) == (detail, value) and (not item.models or name in item.models)
        ]
        if not found:
            return Unavailable(f"no price for {part} of {name} in the table of {table.dated}")
        exact = rounded_quotient(exact * found[0].permille, 1000)
    for tool, requests in usage.server_tools.items():
        if tool not in table.server_tools:
            return Unavailable(f"no price for {tool} in the table of {table.dated}")
        exact += requests * table.server_tools[tool] * 1_000_000
    return Measured(exact)
