"""Where marks stand in the page's charts: tenths of a per cent of the width, by integer arithmetic alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured
from runner.core.rounding import PPM, rounded_quotient
from runner.publish.formatting import decimal, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.summary import Estimate

# Marks keep this distance from the edges, in tenths of a per cent, so that half a dot is never cut off.
_MARGIN: Final = 30
_WIDEST_RATIO_PPM: Final = 4 * PPM
_MOST_TICKS: Final = 6
_MOST_SIGNS: Final = 32
"""So many characters of a label have room side by side in the narrowest chart, 14rem, at 11 pixels a line."""


@dataclass(frozen=True)
class Tick:
    """One labelled position of an axis."""

    x: str
    label: str


@dataclass(frozen=True)
class Axis:
    """A linear scale from `low` to `high`."""

    low: int
    high: int
    ticks: tuple[Tick, ...] = ()
    reference: int = 0
    """Where nothing differs: 1 for ratios, 0 for differences."""

    def at(self, value: int) -> str:
        """The position of `value`, held inside the axis, as a percentage."""
        return _percentage(self.permille(value))

    def permille(self, value: int) -> int:
        """The position of `value` in tenths of a per cent."""
        held = min(max(value, self.low), self.high)
        return _MARGIN + rounded_quotient((held - self.low) * (1_000 - 2 * _MARGIN), self.high - self.low)


@dataclass(frozen=True)
class IntervalMark:
    """A figure with its interval on an axis; the line is a dot wide where there is no interval."""

    x: str
    low: str
    high: str
    reference: str
    has_interval: bool
    beyond_low: bool
    beyond_high: bool


@dataclass(frozen=True)
class Dumbbell:
    """The arms of one task on one line; the control first."""

    from_x: str
    to_x: str
    dots: tuple[str, ...]


def ratio_axis(estimates: Sequence[Estimate]) -> Axis:
    """An axis that shows every ratio, its interval and 1."""
    values = [min(value, _WIDEST_RATIO_PPM) for value in _values(estimates)]
    return _around(PPM, values, lambda value: decimal(value, PPM, 2))


def difference_axis(estimates: Sequence[Estimate]) -> Axis:
    """An axis of percentage points that shows every difference of shares, its interval and 0."""
    return _around(0, _values(estimates), lambda value: signed(decimal(value, 10_000, 0)))


def _values(estimates: Sequence[Estimate]) -> list[int]:
    shown = [quantity for item in estimates for quantity in (item.value, item.low, item.high)]
    return [item.value for item in shown if isinstance(item, Measured)]


def _around(reference: int, values: list[int], show: _Show) -> Axis:
    shown = [reference, *values]
    steps = (50_000, 100_000, 250_000, 500_000, PPM)
    step = next((size for size in steps if _steps(shown, size) < _MOST_TICKS), 2 * PPM)
    low, high = min(shown) // step * step, -(-max(shown) // step) * step
    if low == high:
        low, high = low - step, high + step
    return replace(_ticked(low, high, step, show), reference=reference)


def amount_axis(values: Sequence[int], show: _Show) -> Axis:
    """An axis from 0 that shows every value; `show` makes its labels."""
    largest = max([1, *values])
    step = _nice_step(largest)
    return _ticked(0, -(-largest // step) * step, step, show)


def interval_mark(estimate: Estimate, axis: Axis) -> IntervalMark | None:
    """The mark of a figure; None when there is none."""
    if not isinstance(estimate.value, Measured):
        return None
    value = estimate.value.value
    low = estimate.low.value if isinstance(estimate.low, Measured) else value
    high = estimate.high.value if isinstance(estimate.high, Measured) else value
    return IntervalMark(
        x=axis.at(value),
        low=axis.at(low),
        high=axis.at(high),
        reference=axis.at(axis.reference),
        has_interval=isinstance(estimate.low, Measured),
        beyond_low=low < axis.low,
        beyond_high=high > axis.high,
    )


def dumbbell(values: Sequence[int], axis: Axis) -> Dumbbell:
    """The line of one task, from its smallest to its largest value."""
    return Dumbbell(axis.at(min(values)), axis.at(max(values)), tuple(axis.at(value) for value in values))


def _steps(values: Sequence[int], step: int) -> int:
    return -(-max(values) // step) - min(values) // step


def _nice_step(largest: int) -> int:
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * (_MOST_TICKS - 1) >= largest:
                return factor * power
        power *= 10


def _ticked(low: int, high: int, step: int, show: _Show) -> Axis:
    axis = Axis(low, high)
    ticks = [Tick(axis.at(value), show(value)) for value in range(low, high + 1, step)]
    while (len(ticks) - 1) * (max(len(tick.label) for tick in ticks) + 1) > _MOST_SIGNS:
        ticks = ticks[::2]
    return Axis(low, high, tuple(ticks))


def _percentage(permille: int) -> str:
    return f"{permille // 10}.{permille % 10}%"


if TYPE_CHECKING:
    from collections.abc import Callable

    _Show = Callable[[int], str]
