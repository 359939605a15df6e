"""Why do the client's usage and the gateway's differ? Names the known reasons that explain a difference exactly.

An explanation is one only when it accounts for every class that both sides know; otherwise the difference stands as it
is. Nothing is averaged and no figure is changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.clients.report import counted, finding
from runner.core.evidence import TokenCounts
from runner.core.findings import FindingKind
from runner.core.quantities import Measured
from runner.core.usage import TOKEN_CLASSES, ModelUsage, class_total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.core.evidence import Exchange
    from runner.core.records import Finding


@dataclass(frozen=True)
class _Reason:
    """Requests that a client may count otherwise than the gateway does."""

    kind: FindingKind
    concerns: Callable[[Exchange], bool]
    factor: int
    """How often the client counted them beyond once."""
    says: str


_REASONS: Final = (
    _Reason(FindingKind.CUT_STREAM_COUNTED, lambda exchange: exchange.cut, 1, "the client counted {} twice"),
    _Reason(FindingKind.CUT_STREAM_COUNTED, lambda exchange: exchange.cut, -1, "the client left out {}"),
    _Reason(
        FindingKind.SUBAGENT_LEFT_OUT,
        lambda exchange: exchange.agent is not None,
        -1,
        "the client left out {} of a sub-agent",
    ),
)


def explanations(
    observed: tuple[ModelUsage, ...], reported: tuple[ModelUsage, ...], exchanges: Sequence[Exchange]
) -> Iterator[Finding]:
    """The reasons that account for the whole difference between what is `observed` and what is `reported`."""
    difference = _difference(observed, reported)
    if not any(difference.values()):
        return
    for reason in _REASONS:
        concerned = [exchange for exchange in exchanges if exchange.reached_model() and reason.concerns(exchange)]
        # Of several requests a client may have counted any; a difference is told for the first that accounts for it.
        for part in _parts(concerned):
            if _accounts(part, reason.factor, difference):
                numbers = ", ".join(str(exchange.seq) for exchange in part)
                what = f"{counted(len(part), 'answer')} (exchange {numbers})"
                yield finding(reason.kind, reason.says.format(what))
                return


def _difference(observed: tuple[ModelUsage, ...], reported: tuple[ModelUsage, ...]) -> dict[str, int]:
    """Reported less observed, in the classes that both sides know."""
    found = {}
    for name in TOKEN_CLASSES:
        ours, theirs = class_total(observed, name), class_total(reported, name)
        if isinstance(ours, Measured) and isinstance(theirs, Measured):
            found[name] = theirs.value - ours.value
    return found


def _parts(concerned: Sequence[Exchange]) -> Iterator[Sequence[Exchange]]:
    """All of them, then each alone, then ever more of the first."""
    yield concerned
    yield from ((exchange,) for exchange in concerned)
    yield from (concerned[:count] for count in range(2, len(concerned)))


def _accounts(part: Sequence[Exchange], factor: int, difference: Mapping[str, int]) -> bool:
    for name, missing in difference.items():
        tokens = 0
        for exchange in part:
            count = dict(exchange.usage).get(name) if isinstance(exchange.usage, TokenCounts) else None
            if not isinstance(count, int):
                return False
            tokens += count
        if tokens * factor != missing:
            return False
    return bool(part)
