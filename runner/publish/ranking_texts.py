"""How figures of rankings are written: values, differences, intervals and scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.publish import formatting

if TYPE_CHECKING:
    from runner.core.quantities import Quantity
    from runner.core.retrieval.section import RetrievalSection, Scope, SystemContrast

E9: Final = 10**9
KINDS: Final = {
    "literal": "Queries in the words of their answer",
    "paraphrase": "Paraphrased queries",
    "unspecified": "Queries of no stated kind",
    "no_answer": "Queries without an answer",
}


def value(quantity: Quantity) -> str:
    """A measure with three decimals, or the dash that stands for none."""
    return formatting.decimal(quantity.value, E9, 3, (0, E9)) if isinstance(quantity, Measured) else formatting.ABSENT


def difference(quantity: Quantity) -> str:
    """A difference of measures with its sign."""
    if isinstance(quantity, Unavailable):
        return formatting.ABSENT
    return formatting.signed(formatting.decimal(quantity.value, E9, 3))


def ends(low: Quantity, high: Quantity) -> str:
    """An interval of differences, or why there is none."""
    if isinstance(low, Unavailable):
        return f"none: {low.reason}"
    return f"{difference(low)} to {difference(high)}"


def held_together(section: RetrievalSection, found: SystemContrast) -> int:
    """How many treatments' joint intervals hold at once in the measure and scope of `found`."""
    return sum(
        isinstance(item.together_low_e9, Measured)
        for item in section.contrasts
        if (item.scope, item.contrast.measure) == (found.scope, found.contrast.measure)
    )


def holds_zero(low: Quantity, high: Quantity) -> bool:
    """Whether the interval leaves no difference possible."""
    return isinstance(low, Measured) and isinstance(high, Measured) and low.value <= 0 <= high.value


def scope_title(scope: Scope) -> str:
    """Which queries a figure is of, as a heading."""
    parts = [scope.task or "All query sets"]
    parts += [formatting.lower_first(KINDS.get(scope.kind, scope.kind))] if scope.kind else []
    parts += [f"split {scope.split}"] if scope.split else []
    return ", ".join(parts)
