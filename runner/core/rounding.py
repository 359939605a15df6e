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


def quantile(ordered: Sequence[int], hundredths: int) -> int:
    """The quantile at `hundredths` of 1 of `ordered`, which ascend and aren't empty.

    Interpolated linearly between neighbours (type 7 of Hyndman and Fan 1996, NumPy's default), half to even.
    """
    place, rest = divmod((len(ordered) - 1) * hundredths, 100)
    above = ordered[min(place + 1, len(ordered) - 1)]
    return rounded_quotient(ordered[place] * (100 - rest) + above * rest, 100)


def scaled_quartiles(values: Sequence[int]) -> tuple[int, int, int]:
    """Lower quartile, median and upper quartile of `values`, which aren't empty.

    Interpolated linearly between neighbours (type 7 of Hyndman and Fan 1996, NumPy's default), half to even.
    """
    ordered = sorted(values)
    found: list[int] = []
    for quarters in (1, 2, 3):
        place, rest = divmod((len(ordered) - 1) * quarters, 4)
        above = ordered[min(place + 1, len(ordered) - 1)]
        found.append(rounded_quotient(ordered[place] * (4 - rest) + above * rest, 4))
    return found[0], found[1], found[2]
