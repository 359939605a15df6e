"""Which ends does an interval have, given what the resamples gave? One function a method, integers in and out.

A deviation is what a resample gave, less the estimate; logarithms for ratios. Ends are returned as deviations too.
"""

from __future__ import annotations

from decimal import Decimal
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from runner.core.rounding import PPM
from runner.core.statistics.exact import decimals, normal_quantile, student_quantile

if TYPE_CHECKING:
    from runner.core.statistics.exact import Integers
    from runner.core.statistics.spread import Spread

Method = Literal["corrected", "percentile", "bca", "smoothed"]

QUANTILE_RULE: Final = (
    "order statistics of the resamples, without interpolation: the k-th smallest and the k-th largest, "
    "k = floor((resamples + 1) x (1 - level) / 2)"
)

_TWO_LEVELS: Final = "paired bootstrap of tasks, then of repetitions within each drawn task, whole blocks"
METHODS: Final[dict[Method, str]] = {
    "corrected": (
        f"{_TWO_LEVELS}; percentiles, drawn to the variance of the tasks' influences corrected for leverage, times "
        "Student's t at the effective number of tasks less one over the normal quantile"
    ),
    "percentile": f"{_TWO_LEVELS}; percentiles",
    "bca": f"{_TWO_LEVELS}; bias-corrected and accelerated percentiles",
    "smoothed": f"{_TWO_LEVELS}; percentiles, smeared by a normal kernel of width 1.06 x tasks^(-1/5)",
}
MEDIAN_METHOD: Final = "paired bootstrap of tasks, with their medians; percentiles"

# Squares of deviations below 2**24 of 2**15 resamples sum below 2**63.
_DEVIATION_BITS: Final = 24

Ends = tuple[Decimal, Decimal]


def percentile_ends(deviations: Integers, level_ppm: int) -> Ends:
    """The k-th smallest and the k-th largest."""
    ordered = np.sort(deviations)
    rank = max(1, (len(ordered) + 1) * (PPM - level_ppm) // (2 * PPM))
    return Decimal(int(ordered[rank - 1])), Decimal(int(ordered[len(ordered) - rank]))


def corrected_ends(deviations: Integers, level_ppm: int, spread: Spread) -> Ends:
    """The percentile's ends, drawn out or in by one factor to the spread that the tasks' disagreement supports.

    Resampling repetitions within resampled tasks counts their variance twice, and resampling tasks alone is too narrow
    by what few tasks, and unequal ones, leave unseen. Neither matters here: the resamples give the shape, the variance
    of `spread` the size, and Student's t at its degrees of freedom the place of a normal quantile. `spread` is in the
    unit of `deviations`, squared.
    """
    low, high = percentile_ends(deviations, level_ppm)
    tail_ppm = (PPM - level_ppm) // 2
    with decimals():
        resampled = variance(deviations)
        if not resampled:
            return low, high
        factor = (
            (spread.variance / resampled).sqrt() * student_quantile(spread.df, tail_ppm) / normal_quantile(tail_ppm)
        )
        return low * factor, high * factor


def bca_ends(deviations: Integers, level_ppm: int, left_out: Integers) -> Ends:
    """Bias-corrected and accelerated (Efron 1987); `left_out` is the estimate without each task in turn.

    Levels are rounded to millionths before ranks are taken, so that the last bit of a logarithm can't move one.
    """
    ordered = np.sort(deviations)
    below = int((ordered < 0).sum()) * 2 + int((ordered == 0).sum())
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(below / (2 * len(ordered)), 1e-6), 1 - 1e-6))
    pulls = float(left_out.sum()) / len(left_out) - left_out.astype(np.float64)
    squares = float((pulls**2).sum())
    acceleration = float((pulls**3).sum()) / (6 * squares**1.5) if squares else 0.0
    reach = normal.inv_cdf((1 + level_ppm / PPM) / 2)

    def end(side: float) -> Decimal:
        moved = bias + side
        chance = round(normal.cdf(bias + moved / (1 - acceleration * moved)) * PPM)
        rank = (len(ordered) + 1) * chance // PPM
        return Decimal(int(ordered[min(max(rank, 1), len(ordered)) - 1]))

    return end(-reach), end(reach)


def smoothed(deviations: Integers, spread: Spread, tasks: int, noise: Integers) -> Integers:
    """The deviations with the tasks' disagreement smeared by a normal kernel of Silverman's width, 1.06 n**(-1/5).

    The contrasts here are sums over tasks to first order, so that smearing each drawn task comes to smearing the sum.
    `noise` is in units of 1/65536.
    """
    with decimals():
        width = Decimal("1.06") * Decimal(tasks) ** Decimal("-0.2") * spread.variance.sqrt()
    scaled: Integers = deviations + np.rint(noise * (float(width) / 65_536)).astype(np.int64)
    return scaled


def variance(deviations: Integers) -> Decimal:
    """Their variance, of deviations rounded to 24 bits so that the sums are exact."""
    largest = max(abs(int(deviations.min())), abs(int(deviations.max())))
    shift = max(0, largest.bit_length() - _DEVIATION_BITS)
    half = (1 << shift) >> 1
    short = (deviations + half) >> shift
    with decimals():
        count = len(short)
        mean = Decimal(int(short.sum())) / count
        return (Decimal(int((short * short).sum())) / count - mean * mean) * (1 << 2 * shift)
