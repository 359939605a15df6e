"""What of rankings is drawn: differences with their intervals, the recall curve, and latencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.section import Scope
from runner.core.rounding import PPM, rounded_quotient
from runner.core.summary import Estimate
from runner.publish import formatting
from runner.publish.charts import Axis, IntervalMark, Tick, amount_axis, difference_axis, interval_mark
from runner.publish.listing import Listing, figures, listing, words
from runner.publish.ranking_texts import E9, difference, ends, held_together, scope_title, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.quantities import Quantity
    from runner.core.retrieval.section import RetrievalSection, SystemContrast, SystemLatency

_TO_PPM: Final = E9 // PPM
_CURVE_HEIGHT: Final = 200
_CURVE_TOP: Final = 10


@dataclass(frozen=True)
class DrawnLine:
    """One line of a table with a mark on an axis that all its lines share."""

    heading: str
    texts: tuple[str, ...]
    mark: IntervalMark | None


@dataclass(frozen=True)
class Drawn:
    """A table whose lines are drawn; lines in groups."""

    caption: str
    columns: tuple[str, ...]
    """Of the figures; the drawing stands before the last one."""
    drawing: str
    axis: Axis
    groups: tuple[tuple[str, tuple[DrawnLine, ...]], ...]
    note: str


@dataclass(frozen=True)
class CurvePoint:
    """One point of a curve, and the one before it."""

    x: str
    y: int
    from_x: str
    from_y: int
    is_first: bool


@dataclass(frozen=True)
class Curve:
    """Recall over depth, a line a system."""

    caption: str
    height: int
    ticks: tuple[Tick, ...]
    levels: tuple[tuple[int, str], ...]
    """Height and label of horizontal lines."""
    lines: tuple[tuple[str, tuple[CurvePoint, ...]], ...]
    table: tuple[Listing, ...]


class _Reasons:
    """Why intervals of one table are missing: each reason is said once, below the table."""

    def __init__(self, found: Sequence[SystemContrast]) -> None:
        """Number the reasons in the order in which they are met."""
        lows = [low for item in found for low in (item.contrast.low_e9, item.together_low_e9)]
        self._all = list(dict.fromkeys(low.reason for low in lows if isinstance(low, Unavailable)))

    def ends(self, low: Quantity, high: Quantity) -> str:
        """An interval, or that there is none, and for which of the reasons."""
        if not isinstance(low, Unavailable):
            return ends(low, high)
        return f"none ({self._all.index(low.reason) + 1})" if len(self._all) > 1 else "none"

    def note(self) -> str:
        """The reasons, in a sentence each."""
        if len(self._all) == 1:
            return f" No interval: {self._all[0]}."
        return "".join(f" No interval ({number}): {reason}." for number, reason in enumerate(self._all, 1))


class RankingCharts:
    """Drawings of one section."""

    def __init__(self, section: RetrievalSection, control: str, level: str) -> None:
        """Hold `section`, whose intervals are of `level`."""
        self.section = section
        self._control = control
        self._level = level
        self._arms = tuple(item.arm for item in section.systems)
        self._tasks = tuple(item.task for item in section.sets if item.block)

    def contrasts(self) -> tuple[Drawn, ...]:
        """Every treatment against the control in the headline measures, scope by scope."""
        found = self.section.contrasts
        tables = [("over all query sets", [item for item in found if not item.scope.task])]
        if len(self._tasks) > 1:
            tables.append(("set by set", [item for item in found if item.scope.task]))
        return tuple(self._drawn(title, own) for title, own in tables if own)

    def _drawn(self, title: str, found: Sequence[SystemContrast]) -> Drawn:
        axis = difference_axis([_estimate(item) for item in found])
        several = len(self._arms) > 2
        reasons = _Reasons(found)
        groups: dict[str, list[DrawnLine]] = {}
        for item in found:
            lines = groups.setdefault(f"{scope_title(item.scope)}: {item.contrast.measure}", [])
            joint = [self._joint(item, reasons)] if several else []
            lines.append(_contrast_line(item, axis, reasons, joint))
        together = f"; the joint interval holds for {formatting.all_at_once(len(self._arms) - 1)}" if several else ""
        return Drawn(
            caption=f"Differences from {self._control} in mean value, {title}, with {self._level} intervals",
            columns=("Difference", "Interval", *(["Joint interval"] if several else []), "Detectable", "Queries"),
            drawing="Difference and interval drawn, in percentage points; the dotted line stands at no difference",
            axis=axis,
            groups=tuple((heading, tuple(lines)) for heading, lines in groups.items()),
            note=f"{_capital(found[0].contrast.method)}. Detectable: a true difference that would be seen "
            f"80{formatting.NARROW}% of the time{together}.{reasons.note()}",
        )

    def _joint(self, item: SystemContrast, reasons: _Reasons) -> str:
        """The interval that holds with others, and with how many where some have none."""
        text = reasons.ends(item.together_low_e9, item.together_high_e9)
        held, whole = held_together(self.section, item), len(self._arms) - 1
        if held in (0, whole) or isinstance(item.together_low_e9, Unavailable):
            return text
        return f"{text} ({held} of {whole})"

    def curve(self) -> Curve | None:
        """Recall at every cut that all sets have; None for fewer than two."""
        totals = {arm: self.section.totals_of(Scope(), arm) for arm in self._arms}
        recalls: dict[str, dict[int, int]] = {}
        for arm, found in totals.items():
            recalls[arm] = {
                int(item.measure[2:]): item.mean_e9.value
                for item in (found.measures if found is not None else ())
                if item.measure.startswith("R@") and isinstance(item.mean_e9, Measured)
            }
        ks = sorted(recalls[self._control])
        if len(ks) < 2:
            return None
        places = {k: f"{10 + 80 * place // (len(ks) - 1)}%" for place, k in enumerate(ks)}
        return Curve(
            caption="Recall by how many sources are looked at, over all query sets",
            height=_CURVE_HEIGHT + 2 * _CURVE_TOP,
            ticks=tuple(Tick(places[k], str(k)) for k in ks),
            levels=tuple((_height(E9 * part // 4), f"{25 * part}{formatting.NARROW}%") for part in range(5)),
            lines=tuple((arm, _points([(places[k], _height(found[k])) for k in ks])) for arm, found in recalls.items()),
            table=listing(
                "Recall at k, over all query sets",
                (*words("System"), *figures(*(f"R@{k}" for k in ks))),
                [(arm, *(value(Measured(found[k])) for k in ks)) for arm, found in recalls.items()],
            ),
        )

    def latencies(self) -> tuple[Drawn, ...]:
        """What answers took, over all sets and set by set."""
        longest = [
            item.value
            for latency in self.section.latencies
            for item in (latency.total.p95_us,)
            if isinstance(item, Measured)
        ]
        if not longest:
            return ()
        axis = amount_axis(longest, _axis_time)
        return (
            Drawn(
                caption="What an answer took, of all trials that completed",
                columns=("p50", "p95", "Longest", "p50 with a relevant source", "Embedding p50", "Answers"),
                drawing="From the shortest to the 95th percentile, with the median as a dot",
                axis=axis,
                groups=tuple(
                    (
                        task or "All query sets",
                        tuple(_latency_line(item, axis) for item in self.section.latencies if item.task == task),
                    )
                    for task in dict.fromkeys(item.task for item in self.section.latencies)
                ),
                note=self.section.latency_rule,
            ),
        )


def _ppm(quantity: Quantity) -> Quantity:
    return Measured(rounded_quotient(quantity.value, _TO_PPM)) if isinstance(quantity, Measured) else quantity


def _estimate(item: SystemContrast) -> Estimate:
    contrast = item.contrast
    return Estimate(value=_ppm(contrast.difference_e9), low=_ppm(contrast.low_e9), high=_ppm(contrast.high_e9))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _contrast_line(item: SystemContrast, axis: Axis, reasons: _Reasons, joint: Sequence[str]) -> DrawnLine:
    contrast = item.contrast
    texts = (
        difference(contrast.difference_e9),
        reasons.ends(contrast.low_e9, contrast.high_e9),
        *joint,
        value(contrast.detectable_e9),
        f"{contrast.queries:,}",
    )
    return DrawnLine(item.arm, texts, interval_mark(_estimate(item), axis))


def _latency_line(item: SystemLatency, axis: Axis) -> DrawnLine:
    total = item.total
    texts = (
        _time(total.p50_us),
        _time(total.p95_us),
        _time(total.highest_us),
        _time(item.first_relevant.p50_us),
        _time(item.embed.p50_us),
        f"{total.queries:,}",
    )
    return DrawnLine(
        item.arm, texts, interval_mark(Estimate(value=total.p50_us, low=total.lowest_us, high=total.p95_us), axis)
    )


def _time(quantity: Quantity) -> str:
    if isinstance(quantity, Unavailable):
        return formatting.ABSENT
    return f"{formatting.decimal(quantity.value, 1_000, 2)}{formatting.NARROW}ms"


def _axis_time(value: int) -> str:
    return f"{formatting.exact(value, 1_000, 0)}{formatting.NARROW}ms" if value else "0"


def _height(value_e9: int) -> int:
    """Pixels from the top, of a value from 0 to 1."""
    return _CURVE_TOP + _CURVE_HEIGHT - rounded_quotient(value_e9 * _CURVE_HEIGHT, E9)


def _points(places: Sequence[tuple[str, int]]) -> tuple[CurvePoint, ...]:
    pairs = zip(places, (places[0], *places), strict=False)
    return tuple(
        CurvePoint(x, y, from_x, from_y, number == 0) for number, ((x, y), (from_x, from_y)) in enumerate(pairs)
    )
