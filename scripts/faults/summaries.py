"""Do two summaries of one study say the same, but for what interruptions and clocks may change?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# What differs between two runs of one study, whether or not one of them was interrupted.
OF_THE_OCCASION: Final = (
    # Digests that hold the run's name, its moments, and what clocks measured.
    "inputs.lock",
    "inputs.ledger_head",
    "inputs.records",
    # Which trials started later than others, by the clock.
    "cold_starts",
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
# Measures whose unit is read off a clock or off the kernel's accounts: every figure of theirs may differ, and nothing
# that says which measures, arms, tasks and blocks there are.
CLOCKED_UNITS: Final = ("ms", "bytes")
_NO_FIGURES: Final = frozenset(
    {"measure", "arm", "arms", "control", "control_ran", "task", "n_blocks", "n_tasks", "excluded", "reason", "blocks"}
)


def summaries_differ(one: bytes, other: bytes) -> Iterator[str]:
    """Every place at which the two documents differ beyond what may, with both values."""
    yield from _differ("", comparable(one), comparable(other))


def comparable(data: bytes) -> object:
    """The summary without what may differ."""
    summary = json.loads(data)
    clocked = {measure["name"] for measure in summary["measures"] if measure["unit"] in CLOCKED_UNITS}
    for path in (*OF_THE_OCCASION, *OF_THE_INTERRUPTION):
        _remove(summary, path.split("."))
    summary["checks"] = [check for check in summary["checks"] if check["name"] != CHECK_OF_THE_INTERRUPTION]
    _remove_figures(summary, clocked)
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


def _remove_figures(node: Any, clocked: set[str], *, inside: bool = False) -> None:
    if isinstance(node, list):
        for item in node:
            _remove_figures(item, clocked, inside=inside)
    elif isinstance(node, dict):
        within = inside or node.get("measure") in clocked
        for name in [name for name in node if within and name not in _NO_FIGURES]:
            del node[name]
        for item in node.values():
            _remove_figures(item, clocked, inside=within)


def _differ(place: str, one: Any, other: Any) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _differ(f"{place}.{key}", one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _differ(f"{place}[{number}]", *pair)
    elif one != other:
        yield f"{place.removeprefix('.')}: {one!r} and {other!r}"
