"""The one rounding rule of every derived figure: exact integers in, half to even out, no float on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

PPM: Final = 1_000_000
ROUNDING_RULE: Final = (
    "Figures are computed from integers as exact fractions and rounded once, at the end, to an integer of the stated "
    "scale, half to even."
)


def rounded_quotient(numerator: int, denominator: int) -> int:
    """`numerator / denominator` as an integer, half to even; `denominator` is positive."""
    quotient, rest = divmod(numerator, denominator)
    doubled = 2 * rest
    up = doubled > denominator or (doubled == denominator and quotient % 2 == 1)
    return quotient + 1 if up else quotient


def scaled_ratio(numerator: int, denominator: int, scale: int, absent: str) -> Quantity:
    """`numerator / denominator` in units of 1/`scale`; unavailable, because of `absent`, when the denominator is 0."""
    if denominator == 0:
        return Unavailable(absent)
    return Measured(rounded_quotient(numerator * scale, denominator))


def doubled_median(values: Sequence[int]) -> int:
    """Twice the median of `values`, which aren't empty: an integer also where the median lies between two of them."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
