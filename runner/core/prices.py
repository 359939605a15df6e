"""What tokens cost at list price: a dated table, and exact arithmetic in micro-dollars.

A table holds standard rates, and what multiplies them where an answer says so: a region, a speed, a service tier. A
model whose rate changes with the length of a prompt is priced beyond that length only where the table says how.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from runner.core.documents import Document, Part
from runner.core.outcomes import Outcome
from runner.core.price_rules import origin_faults, table_faults
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import rounded_quotient
from runner.core.usage import INPUT_CLASSES, TOKEN_CLASSES, ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.core.canonical import Digest

FIXTURE_END: Final = " (fixture)"
"""So ends the name of everything that plays a model."""
FIXTURE_MODEL: Final = f"scripted-policy{FIXTURE_END}"
"""What a deterministic policy that plays the model is called, everywhere a model is named."""

PRICE_RULE: Final = (
    "Tokens times micro-dollars per million tokens, times what surcharges say, summed exactly over classes and models "
    "of one trial or attempt, then rounded once to whole micro-dollars, half to even."
)

_RELEASE_DATE = re.compile(r"-\d{8}$")
_PERMILLE: Final = 1000
_PER_TOKENS: Final = 1_000_000


# Integers that money is multiplied by stay small enough for every sum to be one that JSON holds.
_Rate = Annotated[int, Field(ge=0, le=10**12)]
_Factor = Annotated[int, Field(ge=0, le=10**6)]


class ListPrice(Part):
    """Micro-dollars per million tokens of one model, by token class."""

    model: str
    input_tokens: _Rate
    output_tokens: _Rate
    cache_read_input_tokens: _Rate
    cache_write_5m_input_tokens: _Rate
    cache_write_1h_input_tokens: _Rate
    source: str = ""
    """Where it comes from; "" for the table's own source."""

    def microusd_per_million(self, token_class: str) -> int:
        """The price of `token_class`, one of `TOKEN_CLASSES`."""
        return int(getattr(self, token_class))


def without_date(model: str) -> str:
    """The name of `model` without a release date at its end."""
    return _RELEASE_DATE.sub("", model)


class LengthLimit(Part):
    """A model whose rate is another one for a request with a long prompt."""

    model: str
    below_input_tokens: Annotated[int, Field(ge=1)]
    """Requests whose prompt, all input classes together, is shorter have the standard rate."""
    reason: str
    """Why a usage that holds longer prompts may have no price."""
    at_most_permille: _Factor = 1000
    """How many times the rate can be beyond the bound at most, in thousandths: for caps alone, never for a price."""
    input_permille: _Factor = 0
    """What multiplies the input's rates of a longer prompt, in thousandths; 0: nobody knows, so it has no price."""
    output_permille: _Factor = 0

    @model_validator(mode="after")
    def _caps_cover_it(self) -> Self:
        if (self.input_permille == 0) != (self.output_permille == 0):
            raise ValueError("input_permille and output_permille belong together")
        if self.at_most_permille < max(self.input_permille, self.output_permille):
            raise ValueError("at_most_permille must be at least input_permille and output_permille, or caps don't hold")
        return self


class Surcharge(Part):
    """What multiplies the price of an answer whose usage says `value` under `detail`; no models: all of them."""

    detail: str
    value: str
    permille: _Factor
    models: tuple[str, ...] = ()
    """As the table calls them: neither a release date nor another ending is left out."""

    def concerns(self, model: str) -> bool:
        """Whether it is one for `model`, a name as in the table."""
        return not self.models or model in self.models


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
    server_tools: dict[str, _Rate] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        priced, limited = [item.model for item in self.prices], [item.model for item in self.length_limits]
        faults = [*origin_faults(self.dated, self.source), *table_faults(priced, limited, self.surcharges)]
        if faults:
            raise ValueError("; ".join(faults))
        return self

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


_CLAUDE_SOURCE: Final = "single-counter runs of Claude Code 2.1.332 on 2026-11-29"


def _dollars(model: str, *cents_of_cent: int, source: str = _CLAUDE_SOURCE) -> ListPrice:
    """A price from ten-thousandths of a dollar per million tokens, in the order of `TOKEN_CLASSES`."""
    classes = dict(zip(TOKEN_CLASSES, (value * 100 for value in cents_of_cent), strict=True))
    return ListPrice(model=model, source=source, **classes)


_OPENAI_SOURCE: Final = "developers.openai.com/api/docs/models/{}, an undated copy read on 2026-11-29"
_OPENAI_MODELS: Final = ("gpt-6-luna", "gpt-6-sol", "gpt-6.1-sol", "gpt-6.2-sol")


def _openai(model: str, *cents_of_cent: int) -> ListPrice:
    return _dollars(model, *cents_of_cent, source=_OPENAI_SOURCE.format(model))


# Claude: derived by single-counter runs of Claude Code 2.1.332 on 2026-11-29: a response that reports one token class
# only shows what the client charges for that class. OpenAI: the provider's pages of the models; what Codex 0.163.0
# offers and of which no such page was at hand (gpt-6-astra, gpt-5.6-sol, ...) has no price here. OpenAI's one kind of
# cache write (30 minutes) stands where the evidence counts it, as a write for five minutes; one for 12 hours costs
# twice that. Order: input, output, cache read, cache write 5 m, cache write 1 h.
LIST_PRICES: Final = PriceTable(
    currency="USD",
    dated="2026-11-29",
    source=f"{_CLAUDE_SOURCE}; OpenAI's pages of its models, undated copies read on 2026-11-29",
    rule=PRICE_RULE,
    prices=(
        _dollars("claude-fable-5-2", 80_000, 400_000, 2_000, 100_000, 160_000),
        _dollars("claude-haiku-4-5", 10_000, 50_000, 1_000, 12_500, 20_000),
        _dollars("claude-haiku-5-5", 1_000, 5_000, 100, 1_250, 2_000),
        _dollars("claude-opus-4-5", 50_000, 250_000, 5_000, 62_500, 100_000),
        _dollars("claude-opus-5-5", 40_000, 200_000, 2_000, 50_000, 80_000),
        _dollars("claude-sonnet-4-5", 30_000, 150_000, 3_000, 37_500, 60_000),
        _dollars("claude-sonnet-5-5", 20_000, 100_000, 1_000, 25_000, 40_000),
        _openai("gpt-6-luna", 1_000, 5_000, 100, 1_250, 2_500),
        _openai("gpt-6-sol", 20_000, 100_000, 2_000, 25_000, 50_000),
        _openai("gpt-6.1-sol", 20_000, 100_000, 1_000, 25_000, 50_000),
        _openai("gpt-6.2-sol", 20_000, 100_000, 1_000, 25_000, 50_000),
    ),
    length_limits=(
        # platform.claude.com/docs/en/models/haiku-5-5/overview, read on 2026-11-29: each class costs five times as much
        # in prompts over 100,000 tokens. Claude Code was seen to charge 0.50 dollars per million at 400,000.
        LengthLimit(
            model="claude-haiku-5-5",
            below_input_tokens=100_001,
            reason="some of its prompts are longer than 100,000 tokens, where the rate is five times as high",
            at_most_permille=5000,
            input_permille=5000,
            output_permille=5000,
        ),
        # The pages of the models: beyond 272K input tokens twice the rates of input and cache, 1.5 times the output's.
        *(
            LengthLimit(
                model=model,
                below_input_tokens=272_001,
                reason="some of its prompts are longer than 272,000 tokens, where the rate is another one",
                at_most_permille=2000,
                input_permille=2000,
                output_permille=1500,
            )
            for model in _OPENAI_MODELS
        ),
    ),
    surcharges=(
        Surcharge(detail="inference_geo", value="us", permille=1100),
        Surcharge(detail="speed", value="fast", permille=2000, models=("claude-fable-5-2", "claude-opus-5-5")),
        # The same mode under the name that requests give it and the one that answers do.
        Surcharge(detail="service_tier", value="fast", permille=2000, models=_OPENAI_MODELS),
        Surcharge(detail="service_tier", value="priority", permille=2000, models=_OPENAI_MODELS),
        Surcharge(detail="service_tier", value="flex", permille=500, models=_OPENAI_MODELS),
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
    exact = Fraction(0)
    for usage in usages:
        part = _exact_cost(usage, table, price_model, TOKEN_CLASSES)
        if isinstance(part, Unavailable):
            return part
        exact += part
    return Measured(_rounded(exact))


def known_cost_microusd(usages: Iterable[ModelUsage], table: PriceTable, price_model: str) -> int:
    """What `usages` cost at least: the classes that are known, of models that have a price; rounded once."""
    parts = []
    for usage in usages:
        known = tuple(name for name in TOKEN_CLASSES if isinstance(usage.tokens(name), Measured))
        parts.append(_exact_cost(usage, table, price_model, known))
    return _rounded(sum((part for part in parts if isinstance(part, Fraction)), Fraction(0)))


def unpriced_models(usages: Iterable[ModelUsage], table: PriceTable, price_model: str) -> tuple[str, ...]:
    """Models of `usages` that the table doesn't have, by name; a fixture counts as `price_model`."""
    names = {_price_name(usage, price_model) for usage in usages}
    return tuple(sorted(name for name in names if table.price_of(name) is None))


def _price_name(usage: ModelUsage, price_model: str) -> str:
    return price_model if usage.model == FIXTURE_MODEL else usage.model


def _rounded(exact: Fraction) -> int:
    return rounded_quotient(exact.numerator, exact.denominator)


def unknown_usage(outcome: Outcome, usages: tuple[ModelUsage, ...]) -> Unavailable | None:
    """Why nothing observed, client and memory together, doesn't mean that nothing was used; None when it does."""
    if usages or outcome not in {Outcome.EVIDENCE_INVALID, Outcome.GATEWAY_FAILED}:
        return None
    return Unavailable(f"no usage was observed before the end as {outcome}")


def _exact_cost(
    usage: ModelUsage, table: PriceTable, price_model: str, classes: tuple[str, ...]
) -> Fraction | Unavailable:
    """The price of `classes` of `usage`, in micro-dollars."""
    tokens: dict[str, int] = {}
    for token_class in classes:
        match usage.tokens(token_class):
            case Measured(count):
                tokens[token_class] = count
            case Unavailable(reason):
                return Unavailable(f"{token_class} of {usage.model} is unavailable: {reason}")
    model = _price_name(usage, price_model)
    price = table.price_of(model)
    if price is None:
        return Unavailable(f"no list price for model {model!r} in the table of {table.dated}")
    lengths = _length_factors(usage, tokens, table.limit_of(price.model))
    if isinstance(lengths, Unavailable):
        return lengths
    input_price = output_price = 0
    for name, count in tokens.items():
        if name in INPUT_CLASSES:
            input_price += count * price.microusd_per_million(name)
        else:
            output_price += count * price.microusd_per_million(name)
    permilles = input_price * lengths[0] + output_price * lengths[1]
    return _with_surcharges(Fraction(permilles, _PER_TOKENS * _PERMILLE), usage, table, price.model)


def _length_factors(
    usage: ModelUsage, tokens: Mapping[str, int], limit: LengthLimit | None
) -> tuple[int, int] | Unavailable:
    """What multiplies the rates of input and output, in permille, by how long the prompts of `usage` were."""
    plain = _PERMILLE, _PERMILLE
    if limit is None:
        return plain
    together = sum(count for kind, count in tokens.items() if kind in INPUT_CLASSES)
    longest, shortest = usage.longest_prompt_tokens, usage.shortest_prompt_tokens
    # No prompt is longer than all of them together.
    if (longest.value if isinstance(longest, Measured) else together) < limit.below_input_tokens:
        return plain
    if isinstance(shortest, Measured) and shortest.value >= limit.below_input_tokens and limit.input_permille:
        return limit.input_permille, limit.output_permille
    return Unavailable(f"{limit.model} used {together} input tokens: {limit.reason}")


def _with_surcharges(exact: Fraction, usage: ModelUsage, table: PriceTable, name: str) -> Fraction | Unavailable:
    """The price with what multiplies it and what is billed by the request."""
    for part in usage.rate:
        detail, _, value = part.partition("=")
        found = [
            item for item in table.surcharges if (item.detail, item.value) == (detail, value) and item.concerns(name)
        ]
        if not found:
            return Unavailable(f"no price for {part} of {name} in the table of {table.dated}")
        exact *= Fraction(found[0].permille, _PERMILLE)
    for tool, requests in usage.server_tools.items():
        if tool not in table.server_tools:
            return Unavailable(f"no price for {tool} in the table of {table.dated}")
        exact += requests * table.server_tools[tool]
    return exact
