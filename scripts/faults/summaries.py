"""Do two summaries of one study say the same, but for what interruptions and clocks may change?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from runner.core import layout
from runner.core.field_comparison import Difference, FieldComparison, Found, Rules
from runner.core.volatile import VOLATILE, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

# What differs between any two runs of one study: digests that hold the run's name, its moments, and what clocks
# measured. What clocks measured themselves, and what is computed from it, is on the same list.
OF_THE_OCCASION: Final = tuple(
    entry.field for entry in VOLATILE if (entry.document, entry.reason) == (layout.SUMMARY, Reason.OCCASION)
)
# What an interrupted run has more of: attempts, and their spend.
OF_THE_INTERRUPTION: Final = (
    "census.rows[].attempts",
    "spend[].attempts",
    "spend[].repeated",
    "spend[].tokens",
    "spend[].cost_microusd",
    "spend[].attempts_without_tokens",
    "spend[].attempts_without_cost",
    "spend[].charged_microusd",
    "spend[].attempts_without_charge",
    # How many things were looked at, and the verdicts stay: one file more for each attempt.
    "checks[].checked",
)
# A check whose claim an interruption breaks: that the arms of each block ran back to back.
CHECK_OF_THE_INTERRUPTION: Final = "blocks unbroken"
_EXCUSED: Final = frozenset({Reason.OCCASION, Reason.CLOCK, Reason.KERNEL})


def summaries_differ(one: bytes, other: bytes) -> Iterator[str]:
    """Every place at which the two documents differ beyond what may, with both values."""
    found: list[Difference] = []
    fields = FieldComparison(Rules.of(layout.SUMMARY, _EXCUSED), Found(), found.append)
    fields.compare(comparable(one), comparable(other))
    for item in found:
        yield f"{item.field}: {item.a or 'nothing'} and {item.b or 'nothing'}"


def comparable(data: bytes) -> Any:
    """The summary without what an interruption may change, and what any other run has otherwise."""
    summary = json.loads(data)
    for path in (*OF_THE_OCCASION, *OF_THE_INTERRUPTION):
        _remove(summary, path.split("."))
    summary["checks"] = [check for check in summary["checks"] if check["name"] != CHECK_OF_THE_INTERRUPTION]
    return summary


def _remove(node: Any, path: list[str]) -> None:
    name, *rest = path
    key = name.removesuffix("[]")
    if not isinstance(node, dict) or key not in node:
        raise KeyError(f"a summary has no {'.'.join(path)}")
    if not rest:
        del node[key]
        return
    for item in node[key] if name.endswith("[]") else [node[key]]:
        _remove(item, rest)
