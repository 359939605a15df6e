"""Does a table of prices say one thing? What it contradicts itself in, or can't mean, is named."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SURCHARGED: Final = ("inference_geo", "service_tier", "speed")
"""What of an answer may multiply its price."""
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Surcharge(Protocol):
    """What multiplies the price of an answer."""

    @property
    def detail(self) -> str:
        """Of `SURCHARGED`."""

    @property
    def value(self) -> str:
        """What the answer says under it."""

    @property
    def permille(self) -> int:
        """How many thousandths."""

    @property
    def models(self) -> tuple[str, ...]:
        """For which; none: for all."""


def origin_faults(dated: str, source: str) -> Iterator[str]:
    """What is wrong with what a table says of itself."""
    if not _is_date(dated):
        yield f"dated must be a day like 2026-11-29, and is {dated!r}"
    if not source.strip():
        yield "source must say where the prices come from"


def table_faults(priced: Sequence[str], limited: Sequence[str], surcharges: Sequence[Surcharge]) -> Iterator[str]:
    """What is wrong with a table that prices these models, limits the length of these, and has these surcharges."""
    if odd := [name for name in priced if name != name.strip() or not name]:
        yield f"prices has models that none is called: {', '.join(map(repr, odd))}"
    yield from _twice("prices", priced)
    yield from _twice("length_limits", limited)
    yield from _unpriced("length_limits", set(limited) - set(priced))
    yield from _unpriced("surcharges", {name for item in surcharges for name in item.models} - set(priced))
    for item in surcharges:
        if item.detail not in SURCHARGED:
            yield f"surcharges: no answer has a {item.detail!r}; it must be one of {', '.join(SURCHARGED)}"
        if item.permille == 0:
            yield f"surcharges: {_named(item)} has permille 0, which would make everything free; 1000 changes nothing"
    for one, other in itertools.combinations(surcharges, 2):
        if _named(one) == _named(other) and _share_a_model(one, other):
            yield f"surcharges has {_named(one)} more than once for the same model"


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def _twice(key: str, names: Sequence[str]) -> Iterator[str]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        yield f"{key} has {', '.join(twice)} more than once"


def _unpriced(key: str, names: set[str]) -> Iterator[str]:
    if names:
        yield f"{key} names models that have no price: {', '.join(sorted(names))}"


def _named(item: Surcharge) -> str:
    return f"{item.detail}={item.value}"


def _share_a_model(one: Surcharge, other: Surcharge) -> bool:
    return not one.models or not other.models or bool(set(one.models) & set(other.models))
