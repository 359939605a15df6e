"""By how much must intervals of several treatments be wider, so that all of them hold at once?

Max-T (Westfall and Young 1993) on the shared resamples: the level's quantile of the largest of the treatments'
deviations, each in units of its own standard deviation, over that quantile of the treatment's own.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np

from runner.core.rounding import PPM
from runner.core.statistics.exact import decimals
from runner.core.statistics.intervals import variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.statistics.exact import Integers

SIMULTANEOUS_RULE: Final = (
    "Max-T over the treatments of one measure: deviations of each in units of their standard deviation; an interval is "
    "widened by (the level's quantile of the largest) / (that quantile of its own)."
)


def widenings(deviations: Sequence[Integers], level_ppm: int) -> list[Decimal]:
    """A factor of at least 1 for each treatment; 1 where there is only one."""
    if len(deviations) < 2:
        return [Decimal(1) for _ in deviations]
    units = [float(variance(values).sqrt()) for values in deviations]
    sizes = [
        np.abs(values) / unit if unit else np.zeros(len(values)) for values, unit in zip(deviations, units, strict=True)
    ]
    rank = min(len(sizes[0]), (len(sizes[0]) + 1) * level_ppm // PPM)
    together = float(np.sort(np.max(sizes, axis=0))[rank - 1])
    own = [float(np.sort(size)[rank - 1]) for size in sizes]
    with decimals():
        return [Decimal(together) / Decimal(one) if one else Decimal(1) for one in own]
