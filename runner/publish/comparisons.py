"""A comparison of two runs as texts and tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.quantities import Measured, Unavailable
from runner.core.rounding import PPM
from runner.core.summary import MeasureIdentity
from runner.core.volatile import Reason
from runner.publish import formatting
from runner.publish.formatting import ABSENT
from runner.publish.listing import Listing, figures, listing, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.comparison import ComparedRun, Comparison, EstimatePair, FieldDifference
    from runner.core.quantities import Quantity

SHOWN: Final = 20
"""Differences that a terminal shows; the document has more of them."""
_INPUTS: Final = f"{layout.INPUTS}/ (the others)"


class Comparisons:
    """What a comparison says, in the order in which a reader needs it."""

    def __init__(self, found: Comparison) -> None:
        """Of `found`."""
        self._found = found

    def verdict(self) -> str:
        """One sentence."""
        found = self._found
        different, volatile = self._different, sum(item.fields for item in found.volatile)
        match found.kind:
            case "equality" if found.equal and not volatile:
                return "Equal in every field."
            case "equality" if found.equal:
                count = formatting.counted(volatile, "field differs", "fields differ")
                return f"Equal: {count}, and each of them is declared to."
            case "equality":
                return f"Not equal: {formatting.counted(different, 'field differs', 'fields differ')} that may not."
            case "estimates":
                return "Two measurements under equal conditions: estimates side by side, and no verdict beyond them."
            case _:
                count = formatting.counted(different, "difference", "differences")
                return f"Not a controlled comparison: {count} in what the two were made with."

    def sides(self) -> tuple[str, ...]:
        """Which runs they are, what answered in each, and what the two have to do with each other."""
        # The name of a run leaves a line of 80 columns no room for both.
        lines = [
            line
            for name, side in (("A", self._found.a), ("B", self._found.b))
            for line in (f"{name}  {side.run}", f"   {side.evidence}, {_answers(side)}")
        ]
        relation = self._found.relation
        return (*lines, f"{relation[:1].upper()}{relation[1:]}.")

    def differences(self) -> Iterator[tuple[str, str, str]]:
        """Where the first differences are, and what A and B have there."""
        for item in self._found.differences[:SHOWN]:
            yield _place(item), _side(item.a), _side(item.b)

    def more(self) -> str:
        """How many differences weren't told; "" for none."""
        left = self._different - min(SHOWN, len(self._found.differences))
        return f"{formatting.counted(left, 'further difference')}; --json tells up to 100 of all." if left else ""

    def documents(self) -> tuple[Listing, ...]:
        """What became of the fields, document by document."""
        counts: dict[str, list[int]] = {}
        for item in self._found.documents:
            is_input = item.document.startswith(f"{layout.INPUTS}/") and item.document != layout.STUDY
            row = counts.setdefault(_INPUTS if is_input else item.document, [0, 0, 0])
            for number, count in enumerate((item.same, item.volatile, item.different)):
                row[number] += count
        lines = [(name, *(f"{count:,}" if count else "" for count in row)) for name, row in counts.items()]
        columns = (*words("Document"), *figures("Same", "May differ", "Different"))
        return listing("Fields, document by document", columns, lines)

    def volatile(self) -> tuple[Listing, ...]:
        """Why what differs may."""
        counts: dict[str, int] = {}
        where: dict[str, dict[str, None]] = {}
        for item in self._found.volatile:
            counts[item.reason] = counts.get(item.reason, 0) + item.fields
            where.setdefault(item.reason, {})[item.document] = None
        lines = [
            (Reason(reason).words, ", ".join(where[reason]), f"{count:,}")
            for reason, count in sorted(counts.items(), key=lambda item: [*Reason].index(Reason(item[0])))
        ]
        columns = (*words("Reason", "In"), *figures("Fields"))
        return listing("Declared to differ", columns, lines)

    def contrasts(self) -> tuple[Listing, ...]:
        """Each contrast of both, with its intervals."""
        chosen = [pair for pair in self._found.estimates if pair.control and _speaks(pair) and _is_had(pair)]
        found: list[Listing] = []
        for part, arm, control in dict.fromkeys((pair.part, pair.arm, pair.control) for pair in chosen):
            lines = [
                (pair.label, _interval(pair, "a"), _interval(pair, "b"), *_apart(pair), _within(pair))
                for pair in chosen
                if (pair.part, pair.arm, pair.control) == (part, arm, control)
            ]
            columns = (*words("Measure"), *figures("A", "B", "B - A"), *words("In the other's interval"))
            found += listing(f"{arm} against {control}, {_part(part)}", columns, lines)
        return tuple(found)

    def means(self) -> tuple[Listing, ...]:
        """What each arm came to in the measures that a reader sees first."""
        chosen = [
            pair
            for pair in self._found.estimates
            if pair.headline and pair.figure == "mean" and pair.part != "failures_counted" and _is_had(pair)
        ]
        columns = (*words("Measure", "Arm"), *figures("A", "B", "B - A"))
        found: list[Listing] = []
        for part in dict.fromkeys(pair.part for pair in chosen):
            lines = [
                (pair.label, pair.arm, _shown(pair.a, pair), _shown(pair.b, pair), *_apart(pair))
                for pair in chosen
                if pair.part == part
            ]
            found += listing(f"Each arm's own figure, {_part(part)}", columns, lines)
        return tuple(found)

    def notes(self) -> tuple[str, ...]:
        """What wasn't compared, and how to look further."""
        found = self._found
        left = [f"Not compared: {item.what} ({item.reason})." for item in found.not_compared]
        seals = (
            "Each document is the one that its run's sealed summary names. Whether the raw evidence gives it: "
            f"`pairbench verify {found.a.given}`, `pairbench verify {found.b.given}`."
        )
        shown = "Every figure, also where failures count and of medians, is in --json." if found.estimates else ""
        return tuple(note for note in (*left, shown, seals) if note)

    @property
    def _different(self) -> int:
        return len(self._found.differences) + self._found.differences_left_out


def _answers(side: ComparedRun) -> str:
    return f"model {side.model_shown} ({side.mode})" if side.model_shown else "no model"


def _place(item: FieldDifference) -> str:
    return " · ".join(part for part in (item.document, item.trial, item.field) if part)


def _side(text: str) -> str:
    return text or "nothing"


def _part(part: str) -> str:
    return part.replace("_", " ")


def _is_had(pair: EstimatePair) -> bool:
    """Whether either of the two has the figure."""
    return any(isinstance(value, Measured) for value in (pair.a, pair.b))


def _speaks(pair: EstimatePair) -> bool:
    """Whether this figure of a contrast stands for it on a terminal."""
    if pair.scale == PPM or pair.kind == "amount":
        return pair.part == "complete_blocks" and pair.figure == (
            "ratio" if pair.kind == "amount" else "mean_difference"
        )
    return pair.headline


def _identity(pair: EstimatePair) -> MeasureIdentity:
    return MeasureIdentity(
        name=pair.measure, label=pair.label, unit=pair.unit, kind=pair.kind, group="", scale=pair.scale
    )


def _shown(value: Quantity, pair: EstimatePair) -> str | Unavailable:
    match value:
        case Measured(number):
            return _number(number, pair, is_difference=pair.figure.endswith("difference"))
        case Unavailable():
            return value


def _number(number: int, pair: EstimatePair, *, is_difference: bool) -> str:
    if pair.figure == "ratio":
        text = formatting.ratio(number)
        return formatting.signed(text) if is_difference else text
    if pair.scale != PPM and pair.kind == "share":
        text = formatting.decimal(number, pair.scale, 3)
        return formatting.signed(text) if is_difference else text
    show = formatting.scaled_difference if is_difference else formatting.scaled_figure
    return show(number, _identity(pair))


def _interval(pair: EstimatePair, side: str) -> str | Unavailable:
    """The point, and below it the interval."""
    value, low, high = (getattr(pair, name) for name in (side, f"{side}_low", f"{side}_high"))
    match value, low, high:
        case Measured(), Measured(lowest), Measured(highest):
            ends = (_number(end, pair, is_difference=pair.figure.endswith("difference")) for end in (lowest, highest))
            return f"{_shown(value, pair)}\n{' to '.join(ends)}"
        case Measured(), _, _:
            return f"{_shown(value, pair)}\nno interval"
        case _:
            return _shown(value, pair)


def _apart(pair: EstimatePair) -> tuple[str]:
    match pair.difference:
        case Measured(number):
            return (_number(number, pair, is_difference=True),)
        case _:
            return (ABSENT,)


def _within(pair: EstimatePair) -> str:
    match pair.a_within_b, pair.b_within_a:
        case "unknown", "unknown":
            return ABSENT
        case one, other:
            return f"A {one}, B {other}"
