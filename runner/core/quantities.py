"""What was measured, or why it couldn't be: missing is a value with a reason, never zero or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from runner.core.errors import EvidenceError

if TYPE_CHECKING:
    from runner.core.canonical import Json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """A value that was observed."""

    value: T


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No value, and why."""

    reason: str


Quantity: TypeAlias = Measured[int] | Unavailable
"""An integer whose unit the holder's name says, or the reason why there is none."""


def quantity_json(quantity: Quantity) -> Json:
    """`quantity` as it stands in documents: the integer, or `{"unavailable": reason}`."""
    match quantity:
        case Measured(value):
            return value
        case Unavailable(reason):
            return {"unavailable": reason}


def parse_quantity(value: object, key: str) -> Quantity:
    """The quantity that `value` stands for.

    Raises:
        EvidenceError: it is neither an integer nor an `unavailable` with a reason.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return Measured(value)
    if isinstance(value, dict) and set(value) == {"unavailable"} and isinstance(value["unavailable"], str):
        return Unavailable(value["unavailable"])
    raise EvidenceError(f"{value!r} is neither an integer nor unavailable", key=key)


def total(quantities: list[Quantity]) -> Quantity:
    """The sum, or the first reason why one of them is missing; the sum of nothing is 0."""
    result = 0
    for quantity in quantities:
        if isinstance(quantity, Unavailable):
            return quantity
        result += quantity.value
    return Measured(result)
