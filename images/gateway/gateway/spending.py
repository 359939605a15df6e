"""What may requests cost, and what do they cost at most? Prices, bounds and caps as the host declared them.

Everything is an upper bound in whole micro-dollars. What goes out is reserved before, and what isn't used comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.exchange import Usage

CLASSES = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_5m_input_tokens",
    "cache_write_1h_input_tokens",
)
BOUNDS = (
    "input_tokens_per_1000_bytes",
    "hidden_input_tokens",
    "image_tokens",
    "document_tokens",
    "server_tool_input_tokens",
    "output_tokens",
)
# What else of an answer multiplies its price, and how providers say that nothing is out of the ordinary.
DETAILS = ("inference_geo", "service_tier", "speed")
STANDARD = ("", "standard", "default", "auto", "not_available", "global")
# How prices are written: per million tokens, and factors in thousandths.
PER_TOKENS = 1_000_000
PERMILLE = 1000


class SpendingError(Exception):
    """Carries everything that is wrong with the declaration."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class LongContext:
    """Beyond so many input tokens a model costs more: at most so many times, in thousandths."""

    from_input_tokens: int
    at_most_permille: int


@dataclass(frozen=True)
class Price:
    """Micro-dollars per million tokens, by class."""

    model: str
    """As the table calls it."""
    classes: dict[str, int]
    long_context: LongContext | None


@dataclass(frozen=True)
class Surcharge:
    """What multiplies a price when the answer says so, in thousandths; no models: all of them."""

    detail: str
    value: str
    permille: int
    models: tuple[str, ...]


@dataclass(frozen=True)
class Spending:
    """The caps of one attempt, and all that is needed to keep them."""

    grant_microusd: int
    """What is left for this attempt of every cap that reaches beyond it."""
    grant_of: str
    """The cap that the grant comes from, for a person."""
    request_microusd: int | None
    bounds: dict[str, int]
    prices: dict[str, Price]
    surcharges: tuple[Surcharge, ...]
    server_tools: dict[str, int]
    """Micro-dollars for one request of a server tool, by the name under which the answer counts it."""

    def price_of(self, model: str) -> Price | None:
        """The price of a model, which may carry a release date; None when nobody declared one."""
        head, dash, date = model.rpartition("-")
        bare = head if dash and len(date) == 8 and date.isascii() and date.isdigit() else model
        return self.prices.get(model) or self.prices.get(bare)

    def cost_microusd(self, model: str, usage: Usage, details: dict[str, Any] | None) -> int | None:
        """What an answer cost, rounded up; None when that can't be known, a rate or tool without a price included."""
        price = self.price_of(model)
        counts = vars(usage)
        if price is None or not all(isinstance(count, int) for count in counts.values()):
            return None
        said = details or {}
        tools = said.get("server_tools") or {}
        factors = self._factors(price, {name: said[name] for name in DETAILS if said.get(name, "") not in STANDARD})
        if factors is None or any(name not in self.server_tools for name in tools):
            return None
        extra: int = sum(count * self.server_tools[name] for name, count in tools.items())
        exact: int = sum(counts[name] * price.classes[name] for name in CLASSES)
        long = price.long_context
        if long is not None and sum(counts.values()) - counts["output_tokens"] >= long.from_input_tokens:
            exact = exact * long.at_most_permille // PERMILLE + 1
        for permille in factors:
            exact = -(-exact * permille // PERMILLE)
        return -(-exact // PER_TOKENS) + extra

    def worst_microusd(self, model: str, asked: Asked) -> int | None:
        """What a request can cost at most within the bounds; None when its model, or what it asks for, has no price."""
        price = self.price_of(model)
        if price is None or self._factors(price, asked.named) is None:
            return None
        dearest = max(price.classes[name] for name in asked.input_classes)
        exact = asked.input_tokens * dearest + asked.output_tokens * price.classes["output_tokens"]
        if price.long_context is not None and asked.input_tokens >= price.long_context.from_input_tokens:
            exact = exact * price.long_context.at_most_permille // PERMILLE + 1
        for detail in sorted(asked.open_details):
            exact = -(-exact * self._highest_factor(price, detail) // PERMILLE)
        dearest_tool = max(self.server_tools.values(), default=0)
        return -(-exact // PER_TOKENS) + asked.server_tool_uses * dearest_tool

    def _factors(self, price: Price, said: dict[str, object]) -> list[int] | None:
        """What these details multiply the price by, in thousandths; None when nobody declared one of them."""
        # Of two declarations the first counts, as on the host.
        declared: dict[tuple[str, object], int] = {
            (name, item.value): item.permille for name in said for item in reversed(tuple(self._of(price, name)))
        }
        try:
            return [declared[name, value] for name, value in said.items()]
        except (KeyError, TypeError):
            # A client may name what isn't even text.
            return None

    def _highest_factor(self, price: Price, detail: str) -> int:
        """The most that any value of `detail` multiplies the price by, in thousandths."""
        return max([PERMILLE, *(item.permille for item in self._of(price, detail))])

    def _of(self, price: Price, detail: str) -> Iterator[Surcharge]:
        return (
            item
            for item in self.surcharges
            if item.detail == detail and (not item.models or price.model in item.models)
        )


@dataclass(frozen=True)
class Asked:
    """What a request can use at most."""

    input_tokens: int
    output_tokens: int
    input_classes: tuple[str, ...]
    """The classes that its input can be billed as."""
    server_tool_uses: int
    named: dict[str, object]
    """Of `DETAILS`, what the request asks for beyond the ordinary."""
    open_details: frozenset[str]
    """Of `DETAILS`, those that the answer may have any value of: asked for, or by an account's default."""


def read_spending(document: object) -> Spending:
    """The caps that `document` declares.

    Raises:
        SpendingError: with everything that is wrong.
    """
    if not isinstance(document, dict):
        raise SpendingError(["spending must be an object"])
    try:
        return _spending(document)
    except (KeyError, TypeError, ValueError) as error:
        raise SpendingError([f"spending is malformed: {type(error).__name__}: {error}"]) from error


def _spending(document: dict[str, Any]) -> Spending:
    known = {"grant_microusd", "grant_of", "request_microusd", "bounds", "prices", "surcharges", "server_tools"}
    if set(document) - known:
        raise ValueError(f"unknown keys {', '.join(sorted(set(document) - known))}")
    request = document.get("request_microusd")
    return Spending(
        grant_microusd=_count(document["grant_microusd"]),
        grant_of=str(document["grant_of"]),
        request_microusd=None if request is None else _count(request),
        bounds={name: _count(document["bounds"][name]) for name in BOUNDS},
        prices={item["model"]: _price(item) for item in document["prices"]},
        surcharges=tuple(
            Surcharge(item["detail"], item["value"], _count(item["permille"]), tuple(item["models"]))
            for item in document["surcharges"]
        ),
        server_tools={name: _count(value) for name, value in document["server_tools"].items()},
    )


def _price(item: dict[str, Any]) -> Price:
    long = item.get("long_context")
    return Price(
        item["model"],
        {name: _count(item[name]) for name in CLASSES},
        None
        if long is None
        else LongContext(_count(long["from_input_tokens"]), max(PERMILLE, _count(long["at_most_permille"]))),
    )


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value
