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
from runner.core.usage import INPUT_CLASSES, TOKEN_CLASSES, ModelUsage, class_total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.core.evidence import Exchange
    from runner.core.records import Finding

_OUTPUT: Final = "output_tokens"


@dataclass(frozen=True)
class _Reason:
    """Requests that a client may count otherwise than the gateway does."""

    kind: FindingKind
    concerns: Callable[[Exchange], bool]
    factor: int
    """How often the client counted them beyond once."""
    says: str


# The narrower reason first: a sub-agent that the client left behind was cut too.
_REASONS: Final = (
    _Reason(
        FindingKind.SUBAGENT_LEFT_OUT,
        lambda exchange: exchange.agent is not None,
        -1,
        "the client left out {} of a sub-agent",
    ),
    _Reason(FindingKind.CUT_STREAM_COUNTED, lambda exchange: exchange.cut, 1, "the client counted {} twice"),
    _Reason(FindingKind.CUT_STREAM_COUNTED, lambda exchange: exchange.cut, -1, "the client left out {}"),
)


def explanations(
    observed: tuple[ModelUsage, ...], reported: tuple[ModelUsage, ...], exchanges: Sequence[Exchange]
) -> Iterator[Finding]:
    """The reasons that account for the whole difference between what is `observed` and what is `reported`."""
    difference = _difference(observed, reported)
    if not any(difference.values()):
        return
    reached = [exchange for exchange in exchanges if exchange.reached_model()]
    for reason in _REASONS:
        # Of several requests a client may have counted any; a difference is told for the first that accounts for it.
        for part in _parts([exchange for exchange in reached if reason.concerns(exchange)]):
            if _accounts(part, reason.factor, difference):
                yield finding(reason.kind, reason.says.format(_named(part)))
                return
    for part in _parts([exchange for exchange in reached if exchange.cut]):
        if _is_of_its_own(part, difference):
            says = f"the client counted an output of its own for {_named(part)}"
            yield finding(FindingKind.CUT_STREAM_COUNTED, says)
            return


def of_unmeasured(exchanges: Sequence[Exchange], reported: tuple[ModelUsage, ...]) -> Iterator[Finding]:
    """What the client made of answers whose usage isn't whole, where its figures show that they are all it is about."""
    reached = [exchange for exchange in exchanges if exchange.reached_model()]
    unsaid = [exchange for exchange in reached if not _says(exchange)]
    beyond = _beyond(reported, [exchange for exchange in reached if _says(exchange)])
    if not unsaid or len(beyond) < len(TOKEN_CLASSES):
        return
    were_cut = all(exchange.cut for exchange in unsaid)
    if not any(beyond.values()):
        if were_cut and all(exchange.agent is not None for exchange in unsaid):
            yield finding(FindingKind.SUBAGENT_LEFT_OUT, f"the client left out {_named(unsaid)} of a sub-agent")
        elif were_cut:
            yield finding(FindingKind.CUT_STREAM_COUNTED, f"the client left out {_named(unsaid)}")
        else:
            yield finding(FindingKind.USAGE_MISSING, f"the client counted nothing for {_named(unsaid)}")
    elif were_cut and beyond[_OUTPUT] > 0 and all(_known(unsaid, name) == beyond[name] for name in INPUT_CLASSES):
        output = f"{beyond[_OUTPUT]} output tokens of its own count"
        yield finding(FindingKind.CUT_STREAM_COUNTED, f"the client counted {_named(unsaid)} with {output}")


def _beyond(reported: tuple[ModelUsage, ...], measured: Sequence[Exchange]) -> dict[str, int]:
    """What is reported beyond the sum of what was `measured`, in the classes that the client knows."""
    return {
        name: theirs.value - (_known(measured, name) or 0)
        for name in TOKEN_CLASSES
        if isinstance(theirs := class_total(reported, name), Measured)
    }


def _known(exchanges: Sequence[Exchange], name: str) -> int | None:
    """The sum over the exchanges; None when one of them doesn't say."""
    counts = [_count(exchange, name) for exchange in exchanges]
    return None if None in counts else sum(count for count in counts if count is not None)


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
        tokens = _known(part, name)
        if tokens is None or tokens * factor != missing:
            return False
    return bool(part)


def _is_of_its_own(part: Sequence[Exchange], difference: Mapping[str, int]) -> bool:
    """Whether all input agrees, and the client's output is short of less than these answers had.

    A client that read on until the cut had no last word on the output: it takes the first one, or estimates.
    """
    if _OUTPUT not in difference or any(difference.get(name) != 0 for name in INPUT_CLASSES):
        return False
    output = _known(part, _OUTPUT)
    return output is not None and -output < difference[_OUTPUT] < 0


def _says(exchange: Exchange) -> bool:
    return all(_count(exchange, name) is not None for name in TOKEN_CLASSES)


def _count(exchange: Exchange, name: str) -> int | None:
    count = exchange.usage.of(name) if isinstance(exchange.usage, TokenCounts) else None
    return count if isinstance(count, int) else None


def _named(part: Sequence[Exchange]) -> str:
    numbers = ", ".join(str(exchange.seq) for exchange in part)
    return f"{counted(len(part), 'answer')} (exchange {numbers})"
