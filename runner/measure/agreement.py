"""How far do reviewers agree beyond chance? Krippendorff's alpha over decisions without an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import krippendorff
import numpy as np

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM

if TYPE_CHECKING:
    from collections.abc import Sequence


def alpha_ppm(decisions: Sequence[Sequence[str]]) -> Quantity:
    """Krippendorff's nominal alpha, in parts per million, of one row of decisions a reviewer, all equally long.

    Krippendorff 2011, Computing Krippendorff's Alpha-Reliability. It is 1 for perfect agreement, 0 for what chance
    gives, and undefined where nothing varies or fewer than two decided.
    """
    if len(decisions) < 2:
        return Unavailable("fewer than two reviewers")
    domain = sorted({decision for row in decisions for decision in row})
    if not domain:
        return Unavailable("there is nothing to agree on")
    if len(domain) == 1:
        return Unavailable("all decisions are the same")
    numbers = {decision: number for number, decision in enumerate(domain)}
    table = np.array([[numbers[decision] for decision in row] for row in decisions])
    alpha = krippendorff.alpha(table, value_domain=np.arange(len(domain)), level_of_measurement="nominal")
    return Measured(round(float(alpha) * PPM))
