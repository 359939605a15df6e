"""Integers of a summary as text for people: integer arithmetic only, so that a page is the same everywhere.

Rounding for display is half to even, as in the summary; the exact figures stay in `summary.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM, rounded_quotient

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.summary import ArmTotal, Estimate, MeasureIdentity, Range

MINUS: Final = "\N{MINUS SIGN}"
NARROW: Final = "\N{NARROW NO-BREAK SPACE}"
TIMES: Final = "\N{MULTIPLICATION SIGN}"
ABSENT: Final = "\N{EM DASH}"
ARROW: Final = "\N{RIGHTWARDS ARROW}"


def decimal(value: int, scale: int, places: int, marks: tuple[int, ...] = (0,)) -> str:
    """`value / scale` with `places` decimals and thousands set apart by commas.

    What isn't 0, or isn't another of `marks`, never looks as if it were: it gets more decimals.
    """
    while any(value != mark and _rounded(value, scale, places) == _rounded(mark, scale, places) for mark in marks):
        places += 1
    shown = _rounded(value, scale, places)
    sign = MINUS if shown < 0 else ""
    whole, rest = divmod(abs(shown), 10**places)
    return f"{sign}{whole:,}.{rest:0{places}}" if places else f"{sign}{whole:,}"


def _rounded(value: int, scale: int, places: int) -> int:
    return rounded_quotient(value * 10**places, scale)


def exact(value: int, scale: int, places: int) -> str:
    """`value / scale`, `scale` a power of ten, with every decimal that it has, and `places` at least."""
    text = decimal(value, scale, len(str(scale)) - 1)
    whole, point, decimals = text.partition(".")
    kept = decimals.rstrip("0").ljust(min(places, len(decimals)), "0")
    return f"{whole}{point}{kept}" if kept else whole


def signed(text: str) -> str:
    """`text` with a plus where it isn't negative and isn't nothing."""
    return text if text.startswith(MINUS) or not any(digit in text for digit in "123456789") else f"+{text}"


def percent(ppm: int, places: int = 1) -> str:
    """Parts per million as a percentage."""
    return f"{decimal(ppm, 10_000, places, (0, PPM))}{NARROW}%"


def ratio(ppm: int) -> str:
    """A ratio in parts per million; a third decimal where two would say little, and what isn't 1 never looks it."""
    return decimal(ppm, PPM, 2 if abs(ppm) >= 100_000 else 3, (0, PPM)) if ppm else "0"


def change(ppm: int) -> str:
    """A ratio as the change that it means."""
    return signed(percent(ppm - PPM))


def dollars(microusd: int, scale: int = 1) -> str:
    """Micro-dollars (in units of 1/`scale`) as dollars, with more decimals the smaller they are."""
    if not microusd:
        return "$0"
    size = abs(microusd) // scale
    places = 2 if size >= 10_000_000 else 3 if size >= 1_000_000 else 4 if size >= 1_000 else 6
    return _in_dollars(decimal(microusd, scale * 1_000_000, places))


def _in_dollars(text: str) -> str:
    return f"{MINUS}${text.removeprefix(MINUS)}" if text.startswith(MINUS) else f"${text}"


def duration(ms: int, scale: int = 1) -> str:
    """Milliseconds (in units of 1/`scale`): as such below a second, as minutes from ten of them on, else as seconds."""
    size = abs(ms) // scale
    if size < 1_000:
        return f"{decimal(ms, scale, 0)}{NARROW}ms"
    if size >= 600_000:
        return f"{decimal(ms, scale * 60_000, 1)}{NARROW}min"
    return f"{decimal(ms, scale * 1_000, 1 if size >= 100_000 else 2)}{NARROW}s"


def amount(value: int, unit: str, scale: int = 1) -> str:
    """`value` (in units of 1/`scale`) in `unit`; scaled counts other than tokens keep two decimals while small."""
    match unit:
        case "microusd":
            return dollars(value, scale)
        case "ms":
            return duration(value, scale)
        case "tokens":
            return decimal(value, scale, 0)
        case _:
            small = scale > 1 and abs(value) < 1_000 * scale
            return decimal(value, scale, 2 if small else 0)


def scaled_figure(value: int, measure: MeasureIdentity) -> str:
    """A mean or a median of `measure`."""
    return percent(value) if measure.kind == "share" else amount(value, measure.unit, measure.scale)


def axis_label(value: int, measure: MeasureIdentity) -> str:
    """A round value of `measure` beside an axis, without the zeros that say nothing."""
    text = scaled_figure(value, measure)
    if value == 0:
        return "0"
    number, space, unit = text.partition(NARROW)
    shortened = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{shortened}{space}{unit}"


def scaled_difference(value: int, measure: MeasureIdentity) -> str:
    """A difference of means or medians of `measure`; of shares, in percentage points."""
    if measure.kind == "share":
        return signed(f"{decimal(value, 10_000, 1)}{NARROW}pp")
    return signed(amount(value, measure.unit, measure.scale))


def exact_difference(value: int, measure: MeasureIdentity) -> str:
    """As `scaled_difference`, in one unit and with every digit: a threshold, and what is held against it."""
    if measure.kind == "share":
        return signed(f"{exact(value, 10_000, 1)}{NARROW}pp")
    match measure.unit:
        case "microusd":
            return signed(_in_dollars(exact(value, measure.scale * 1_000_000, 4)))
        case "ms":
            return signed(f"{exact(value, measure.scale, 0)}{NARROW}ms")
        case _:
            return signed(exact(value, measure.scale, 0))


def scaled_quantity(quantity: Quantity, measure: MeasureIdentity) -> str:
    """A mean or a median, or the dash that stands for none."""
    match quantity:
        case Measured(value):
            return scaled_figure(value, measure)
        case Unavailable():
            return ABSENT


def total_figure(total: ArmTotal, measure: MeasureIdentity) -> str:
    """A pooled total; of a share, with what it is out of."""
    match total.total, total.out_of:
        case Measured(found), Measured(labelled) if measure.kind == "share":
            return f"{found:,} of {labelled:,}"
        case Measured(value), _:
            return amount(value, measure.unit)
        case _:
            return ABSENT


def ratio_quantity(quantity: Quantity) -> str:
    """A ratio with its sign, or the dash that stands for none."""
    match quantity:
        case Measured(ppm):
            return f"{ratio(ppm)}{NARROW}{TIMES}"
        case Unavailable():
            return ABSENT


def ratio_interval(ends: Estimate | Range) -> str:
    """The interval of a ratio, or why there is none."""
    return _interval(ends, ratio)


def difference_interval(ends: Estimate | Range, measure: MeasureIdentity) -> str:
    """The interval of a difference of means or medians of `measure`, or why there is none."""
    return _interval(ends, lambda value: scaled_difference(value, measure))


def difference_quantity(quantity: Quantity, measure: MeasureIdentity) -> str:
    """A difference of means or medians, or the dash that stands for none."""
    match quantity:
        case Measured(value):
            return scaled_difference(value, measure)
        case Unavailable():
            return ABSENT


def _interval(ends: Estimate | Range, show: Callable[[int], str]) -> str:
    match ends.low, ends.high:
        case Measured(low), Measured(high):
            return f"{show(low)} to {show(high)}"
        case Unavailable(reason), _:
            return f"none: {reason}"
        case _:
            return ABSENT


def difference_with_interval(estimate: Estimate, measure: MeasureIdentity) -> str:
    """A difference and its interval in one text."""
    value = difference_quantity(estimate.value, measure)
    if isinstance(estimate.value, Unavailable):
        return value
    return (
        f"{value} ({difference_interval(estimate, measure)})"
        if isinstance(estimate.low, Measured)
        else (f"{value} (no interval)")
    )


def level(ppm: int) -> str:
    """A level of confidence."""
    return percent(ppm, 0 if ppm % 10_000 == 0 else 1)


def counted(count: int, singular: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def of_all(count: int, whole: int, singular: str, plural: str = "") -> str:
    """How many of all there are."""
    return f"{count:,} of {counted(whole, singular, plural)}"


def blocks_and_tasks(blocks: int, tasks: int) -> str:
    """The two sizes that a figure rests on, in one cell."""
    return f"{blocks:,} ({tasks:,})"


def all_at_once(treatments: int) -> str:
    """All of several treatments, in words."""
    return f"{'both' if treatments == 2 else f'all {treatments:,}'} treatments at once"


def lower_first(text: str) -> str:
    """`text` as it begins within a sentence."""
    return text[:1].lower() + text[1:]


def one_line(text: str) -> str:
    """Prose with its line ends and tabs as spaces."""
    return text.translate({ord(sign): " " for sign in "\r\n\t"})
