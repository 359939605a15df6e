"""What could the trials that nobody measured have done to a contrast, at worst?

Bounds without assumptions (Manski 1990): each unmeasured trial had something between 0 and the most there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM, rounded_quotient
from runner.core.summary import Range, WorstCase
from runner.summarize.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.summarize.measures import Measure
    from runner.summarize.trials import Block, Trial

_UNLIMITED: Final = "nothing limits this measure in a trial that was not measured"


@dataclass(frozen=True)
class _Total:
    """The least and the most that an arm's total may be; None where nothing limits it."""

    least: int
    most: int | None
    unmeasured: int


def worst_cases(blocks: tuple[Block, ...], arms: tuple[str, ...], ceilings: Mapping[str, int]) -> tuple[WorstCase, ...]:
    """The bounds of every contrast of which some planned block lacks the measure; `ceilings` are limits of a trial."""
    found: list[WorstCase] = []
    for measure in MEASURES:
        out_of = _out_of(measure, blocks)
        counted = tuple(block for block in blocks if out_of.get(block.task))
        totals = {arm: _total(measure, counted, arm, (out_of, ceilings.get(measure.name))) for arm in arms}
        if counted and any(total.unmeasured for total in totals.values()):
            whole = sum(out_of[block.task] for block in counted)
            found += [_worst_case(measure, (arms[0], arm), totals, (len(counted), whole)) for arm in arms[1:]]
    return tuple(found)


def _out_of(measure: Measure, blocks: tuple[Block, ...]) -> dict[str, int]:
    """What one trial of each task is out of: 1 for an amount, its labels for a share; 0 where there are none."""
    if measure.kind == "amount":
        return {block.task: 1 for block in blocks}
    found: dict[str, int] = {}
    for block in blocks:
        for trial in block.trials.values():
            found[block.task] = max(found.get(block.task, 0), trial.readings[measure.name].out_of)
    return found


def _total(
    measure: Measure, blocks: tuple[Block, ...], arm: str, limits: tuple[Mapping[str, int], int | None]
) -> _Total:
    out_of, ceiling = limits
    least, most, unmeasured = 0, 0, 0
    limited = True
    for block in blocks:
        value = _known(measure, block.trials[arm])
        if value is not None:
            least, most = least + value, most + value
            continue
        unmeasured += 1
        top = out_of[block.task] if measure.kind == "share" else ceiling
        limited = limited and top is not None
        most += top or 0
    return _Total(least, most if limited else None, unmeasured)


def _known(measure: Measure, trial: Trial) -> int | None:
    value = trial.readings[measure.name].value
    return value.value if trial.consequence.in_pairs and isinstance(value, Measured) else None


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
