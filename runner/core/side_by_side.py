"""Which figures have two summaries in common, how far are they apart, and does each lie in the other's interval?

No verdict follows: two intervals that overlap don't show that nothing differs, and two that don't show no cause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from runner.core.comparison import EstimatePair, LeftOut
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.retrieval.scores import SCALE
from runner.core.rounding import PPM
from runner.core.summary import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.comparison import Lies
    from runner.core.retrieval.section import Scope, SystemContrast
    from runner.core.summary import MeasureIdentity, MeasureKind, Summary

NO_INTERVAL: Final = Unavailable("no interval is made of this figure")


@dataclass(frozen=True)
class Name:
    """What a figure is of: two figures of one name can be put side by side."""

    part: str
    measure: str
    label: str
    unit: str
    kind: MeasureKind
    headline: bool
    scale: int
    figure: str
    arm: str
    control: str = ""


def pairs_of(a: Summary, b: Summary) -> tuple[EstimatePair, ...]:
    """Every figure that both summaries have, in the order of `a`."""
    others = dict(_figures(b))
    return tuple(_pair(name, one, others[name]) for name, one in _figures(a) if name in others)


def left_out(a: Summary, b: Summary) -> tuple[LeftOut, ...]:
    """Measures and arms that only one of them has, or that mean something else in the other."""
    found: list[LeftOut] = []
    for side, one, other in (("A", a, b), ("B", b, a)):
        known = {measure.name: measure for measure in other.measures}
        for measure in one.measures:
            if measure.name not in known:
                found.append(LeftOut(what=f"measure {measure.name}", reason=f"only {side} has it"))
            elif side == "A" and _meaning(measure) != _meaning(known[measure.name]):
                found.append(LeftOut(what=f"measure {measure.name}", reason="its unit, scale or kind isn't the same"))
        arms = {arm.name for arm in other.arms}
        found += [
            LeftOut(what=f"arm {arm.name}", reason=f"only {side} has it") for arm in one.arms if arm.name not in arms
        ]
    if a.study.control != b.study.control:
        reason = f"the control is {a.study.control} in A, and {b.study.control} in B"
        found.append(LeftOut(what="contrasts", reason=reason))
    return tuple(found)


def _meaning(measure: object) -> tuple[object, ...]:
    return tuple(getattr(measure, name) for name in ("unit", "scale", "kind"))


def _figures(summary: Summary) -> Iterator[tuple[Name, Estimate]]:
    measures = {measure.name: measure for measure in summary.measures}
    for view in summary.views:
        for contrast in view.contrasts:
            measure = measures[contrast.measure]
            for figure, scale, estimate in (
                ("ratio", PPM, contrast.ratio_ppm),
                ("mean_difference", measure.scale, contrast.mean_difference_scaled),
                ("median_difference", measure.scale, contrast.median_difference_scaled),
            ):
                name = _name(summary, view.treatment, measure, scale, figure)
                yield replace(name, arm=contrast.arm, control=contrast.control), estimate
        for row in view.totals:
            measure = measures[row.measure]
            for arm in row.arms:
                name = _name(summary, view.treatment, measure, measure.scale, "mean")
                yield replace(name, arm=arm.arm), _point(arm.mean_scaled)
    yield from _retrieval(summary)
    yield from _reconsolidation(summary)


def _name(summary: Summary, part: str, measure: MeasureIdentity, scale: int, figure: str) -> Name:
    is_headline = measure.name in summary.headline
    return Name(part, measure.name, measure.label, measure.unit, measure.kind, is_headline, scale, figure, "")


def _retrieval(summary: Summary) -> Iterator[tuple[Name, Estimate]]:
    found = summary.retrieval
    if found is None:
        return

    def name(scope: Scope, measure: str, figure: str, *arms: str) -> Name:
        is_headline = measure in found.headline and not (scope.split or scope.kind)
        return Name(scope_words(scope), measure, measure, "", "share", is_headline, SCALE, figure, *arms)

    for item in found.contrasts:
        yield name(item.scope, item.contrast.measure, "mean_difference", item.arm, item.control), _estimate(item)
    for totals in found.totals:
        for mean in totals.totals.measures:
            yield name(totals.scope, mean.measure, "mean", totals.arm), _point(mean.mean_e9)


def _estimate(item: SystemContrast) -> Estimate:
    contrast = item.contrast
    return Estimate(value=contrast.difference_e9, low=contrast.low_e9, high=contrast.high_e9)


def _reconsolidation(summary: Summary) -> Iterator[tuple[Name, Estimate]]:
    if summary.reconsolidation is None:
        return
    for score in summary.reconsolidation.scores:
        for check in score.checks:
            name = Name(score.split, check.name, check.name, "", "share", True, PPM, "mean", score.arm)
            yield name, _point(check.share_ppm)


def scope_words(scope: Scope) -> str:
    """Which queries a figure is of."""
    return ", ".join(part for part in (scope.task, scope.split, scope.kind) if part) or "all queries"


def _point(value: Quantity) -> Estimate:
    return Estimate(value=value, low=NO_INTERVAL, high=NO_INTERVAL)


def _pair(name: Name, a: Estimate, b: Estimate) -> EstimatePair:
    return EstimatePair(
        part=name.part,
        measure=name.measure,
        label=name.label,
        unit=name.unit,
        kind=name.kind,
        headline=name.headline,
        scale=name.scale,
        figure=name.figure,
        arm=name.arm,
        control=name.control,
        a=a.value,
        a_low=a.low,
        a_high=a.high,
        b=b.value,
        b_low=b.low,
        b_high=b.high,
        difference=_difference(a.value, b.value),
        a_within_b=_lies(a.value, b),
        b_within_a=_lies(b.value, a),
    )


def _difference(a: Quantity, b: Quantity) -> Quantity:
    if isinstance(a, Unavailable):
        return Unavailable(f"A has none: {a.reason}")
    if isinstance(b, Unavailable):
        return Unavailable(f"B has none: {b.reason}")
    return Measured(b.value - a.value)


def _lies(point: Quantity, interval: Estimate) -> Lies:
    match point, interval.low, interval.high:
        case Measured(value), Measured(low), Measured(high):
            return "yes" if low <= value <= high else "no"
        case _:
            return "unknown"
