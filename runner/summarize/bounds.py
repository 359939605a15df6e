"""What could the trials that nobody measured have done to a contrast, at worst?

Bounds without assumptions (Manski 1990): each unmeasured trial had something between 0 and the most there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM, rounded_quotient
from runner.core.summary import Range, WorstCase
from runner.summarize.measures import MEASURES
from runner.summarize.pairs import exact_sum
from runner.summarize.trials import KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from runner.summarize.measures import Measure
    from runner.summarize.trials import Table

_UNLIMITED: Final = "nothing limits this measure in a trial that was not measured"


@dataclass(frozen=True)
class _Total:
    """The least and the most that an arm's total may be; None where nothing limits it."""

    least: int
    most: int | None
    unmeasured: int


def worst_cases(table: Table, ceilings: Mapping[str, int]) -> tuple[WorstCase, ...]:
    """The bounds of every contrast of which some planned block lacks the measure; `ceilings` are limits of a trial."""
    found: list[WorstCase] = []
    stands = table.stands(counted=False)
    for row, measure in enumerate(MEASURES):
        out_of = _out_of(measure, table)
        counted = out_of > 0
        known = stands & (table.whys[row][table.grid] == KNOWN)
        if known[:, counted].all():
            continue
        values = table.values[row][table.grid]
        ceiling = ceilings.get(measure.name)
        totals = {
            arm: _total(values[number, counted], known[number, counted], out_of[counted], (measure, ceiling))
            for number, arm in enumerate(table.arms)
        }
        size = int(counted.sum()), exact_sum(out_of[counted])
        found += [_worst_case(measure, (table.arms[0], arm), totals, size) for arm in table.arms[1:]]
    return tuple(found)


def _out_of(measure: Measure, table: Table) -> NDArray[np.int64]:
    """What one trial of each block is out of: 1 for an amount, its task's labels for a share; 0 for none."""
    if measure.kind == "amount":
        return np.ones(len(table.tasks), dtype=np.int64)
    most: dict[str, int] = {}
    for task, labels in zip(table.tasks, table.out_of_grid(measure).max(axis=0).tolist(), strict=True):
        most[task] = max(most.get(task, 0), labels)
    return np.array([most[task] for task in table.tasks], dtype=np.int64)


def _total(
    values: NDArray[np.int64],
    known: NDArray[np.bool_],
    out_of: NDArray[np.int64],
    limits: tuple[Measure, int | None],
) -> _Total:
    (measure, ceiling), unmeasured = limits, int((~known).sum())
    least = exact_sum(values[known])
    if not unmeasured or measure.kind == "share":
        return _Total(least, least + exact_sum(out_of[~known]) if unmeasured else least, unmeasured)
    return _Total(least, None if ceiling is None else least + ceiling * unmeasured, unmeasured)


def _worst_case(
    measure: Measure, arms: tuple[str, str], totals: Mapping[str, _Total], size: tuple[int, int]
) -> WorstCase:
    (control, treatment), (blocks, whole) = (totals[arms[0]], totals[arms[1]]), size

    def difference(treated: int | None, untreated: int | None) -> Quantity:
        if treated is None or untreated is None:
            return Unavailable(_UNLIMITED)
        return Measured(rounded_quotient((treated - untreated) * measure.scale, whole))

    return WorstCase(
        measure=measure.name,
        arm=arms[1],
        n_blocks=blocks,
        unmeasured_control=control.unmeasured,
        unmeasured_treatment=treatment.unmeasured,
        ratio_ppm=Range(
            # The largest control there is makes the smallest ratio; an unlimited one makes it nothing.
            low=_ratio(treatment.least, control.most) if control.most is not None else Measured(0),
            high=_ratio(treatment.most, control.least) if treatment.most is not None else Unavailable(_UNLIMITED),
        ),
        mean_difference_scaled=Range(
            low=difference(treatment.least, control.most), high=difference(treatment.most, control.least)
        ),
    )


def _ratio(treated: int, untreated: int) -> Quantity:
    if not untreated:
        return Unavailable("the control's total may be 0")
    return Measured(rounded_quotient(treated * PPM, untreated))
