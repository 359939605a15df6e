"""Which figures come out alike everywhere, though they need logarithms and quantiles?

Arrays see only what IEEE 754 rounds correctly (add, subtract, multiply, divide), one operation at a time, and are
integers before anything is summed; single figures are decimals of 40 digits, whose logarithms, exponentials and roots
Python's `decimal` rounds correctly.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"
Floats: TypeAlias = "NDArray[np.float64]"

NANO: Final = 10**9
LOGARITHM_RULE: Final = (
    "Natural logarithms of resamples are series of 2 artanh((m - 1) / (m + 1)) in double precision, from additions, "
    "multiplications and divisions alone, rounded to whole 1e-9."
)

_LN2: Final = 0.6931471805599453
_SQRT_HALF: Final = 0.7071067811865476
# With m in [sqrt(1/2), sqrt(2)) the argument is below 0.172: the 13th term is below 1e-20.
_TERMS: Final = 13
_LARGEST_INTEGER_DF: Final = 400


def decimals() -> AbstractContextManager[Context]:
    """A context in which decimals have 40 digits and round half to even."""
    return localcontext(Context(prec=40, rounding=ROUND_HALF_EVEN))


def log_nano(ratios: Floats) -> Integers:
    """Natural logarithms of positive finite numbers, in whole units of 1e-9."""
    mantissas, exponents = np.frexp(ratios)
    low = mantissas < _SQRT_HALF
    mantissas = np.where(low, mantissas * 2.0, mantissas)
    powers = (exponents - low).astype(np.float64)
    argument = (mantissas - 1.0) / (mantissas + 1.0)
    square = argument * argument
    series = np.full_like(argument, 1.0 / (2 * _TERMS - 1))
    for term in range(_TERMS - 2, -1, -1):
        series = series * square
        series = series + 1.0 / (2 * term + 1)
    logarithms = argument * series
    logarithms = logarithms * 2.0
    logarithms = logarithms + powers * _LN2
    found: Integers = np.rint(logarithms * NANO).astype(np.int64)
    return found


def whole(value: Decimal) -> int:
    """`value` as an integer, half to even."""
    return int(value.to_integral_value(rounding=ROUND_HALF_EVEN))


@lru_cache(maxsize=64)
def normal_quantile(tail_ppm: int) -> Decimal:
    """The point above which a standard normal lies with probability `tail_ppm` / 10**6, to six decimals."""
    return Decimal(round(NormalDist().inv_cdf(1 - tail_ppm / 1e6) * 10**6)).scaleb(-6)


def student_quantile(df: Decimal, tail_ppm: int) -> Decimal:
    """The point above which Student's t lies with probability `tail_ppm` / 10**6.

    Between whole degrees of freedom, and from 400 to infinitely many, its logarithm is interpolated in 1 / df (at most
    3 % too large, never too small); below 1 it is that of 1.
    """
    with decimals():
        below = min(max(1, int(df)), _LARGEST_INTEGER_DF)
        if df <= below:
            return _student_quantile(below, tail_ppm)
        left = _student_quantile(below, tail_ppm)
        if below == _LARGEST_INTEGER_DF:
            right, inverse = normal_quantile(tail_ppm), Decimal(0)
        else:
            right, inverse = _student_quantile(below + 1, tail_ppm), 1 / Decimal(below + 1)
        share = (1 / Decimal(below) - 1 / df) / (1 / Decimal(below) - inverse)
        return (left.ln() + share * (right.ln() - left.ln())).exp()


@lru_cache(maxsize=4096)
def _student_quantile(df: int, tail_ppm: int) -> Decimal:
    """The quantile for a whole `df`, to six decimals, found by halving."""
    wanted = 1 - 2 * Decimal(tail_ppm).scaleb(-6)
    low, high = 0, 1_000_000
    while _student_inside(Decimal(high).scaleb(-6), df) < wanted:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if _student_inside(Decimal(middle).scaleb(-6), df) < wanted:
            low = middle
        else:
            high = middle
    return Decimal(high).scaleb(-6)


def _student_inside(value: Decimal, df: int) -> Decimal:
    """How likely Student's t lies within +-`value`: Abramowitz and Stegun (1964), 26.7.3 and 26.7.4."""
    root = (df + value * value).sqrt()
    sine, cosine_squared = value / root, df / (df + value * value)
    odd = df % 2
    term = cosine_squared.sqrt() if odd else Decimal(1)
    series = Decimal(0)
    for index in range(1 + odd, df, 2):
        series += term
        term *= cosine_squared * index / (index + 1)
    if not odd:
        return sine * series
    return (_arctangent(value / Decimal(df).sqrt()) + sine * series) / (2 * _arctangent(Decimal(1)))


def _arctangent(value: Decimal) -> Decimal:
    for _ in range(4):
        value /= 1 + (1 + value * value).sqrt()
    square, power, found = value * value, value, value
    for index in range(3, 61, 2):
        power *= -square
        found += power / index
    return 16 * found
