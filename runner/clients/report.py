"""Typed events of any client become its report; what an end means is asked of the client's own adapter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, assert_never

from runner.clients.client import ClientReport, Ending
from runner.core.events import (
    ApiRetry,
    AssistantText,
    ClientReady,
    Corrupt,
    Event,
    Ignored,
    ModelFallback,
    PermissionDenied,
    Result,
    ToolResult,
    ToolUse,
    plain_text,
)
from runner.core.findings import FindingKind
from runner.core.quantities import Measured, Quantity, Unavailable, total
from runner.core.records import Finding, ToolCalls
from runner.core.usage import TOKEN_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_REASON_CHARACTERS = 400
MAX_NAMES = 200
"""Tools and models that a report tells apart; a stream made up by a hostile client may name any number."""


class EndingRule(Protocol):
    """How one client's result is to be read."""

    def __call__(self, result: Result) -> tuple[Ending, str]:
        """How the client ended, and why; the reason of a good end is ""."""


@dataclass
class _Seen:
    """What a stream holds, gathered in one pass."""

    starts: list[ClientReady] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    open_calls: dict[str, str] = field(default_factory=dict)
    retries: int = 0
    denied: dict[str, str] = field(default_factory=dict)
    fallbacks: list[ModelFallback] = field(default_factory=list)
    corrupt: list[Corrupt] = field(default_factory=list)

    def take(self, event: Event) -> None:
        match event:
            case ClientReady():
                self._take_start(event)
            case Result():
                self.results.append(event)
                self.denied |= {denial.call: denial.tool for denial in event.denied}
            case ToolUse():
                self._take_call(event)
            case ToolResult(call, error):
                # Ids may repeat from one answer to the next: a result belongs to the latest call of its id.
                self.errors[self.open_calls.get(call, "")] += error
            case ApiRetry():
                self.retries += 1
            case PermissionDenied(call, tool):
                self.denied[call] = tool
            case ModelFallback():
                self.fallbacks.append(event)
            case Corrupt():
                self.corrupt.append(event)
            case AssistantText() | Ignored():
                pass
            case _:
                assert_never(event)

    def _take_start(self, event: ClientReady) -> None:
        if event not in self.starts and len(self.starts) < MAX_NAMES:
            self.starts.append(event)

    def _take_call(self, event: ToolUse) -> None:
        name = event.name if event.name in self.calls or len(self.calls) < MAX_NAMES else "(other)"
        self.calls[name] += 1
        self.open_calls[event.call] = name


def report_of(events: Iterable[Event], stderr: bytes, rule: EndingRule) -> ClientReport:
    """The report of an event stream; usage and cost are the last result's, because those are cumulative."""
    seen = _Seen()
    for event in events:
        seen.take(event)
    last = seen.results[-1] if seen.results else None
    ending, reason = _ending(seen.results, rule) or (Ending.UNSAID, last_words(stderr))
    models = {start.model for start in seen.starts}
    models |= {report.usage.model for report in last.models} if last else set()
    return ClientReport(
        starts=tuple(seen.starts),
        answer=last.answer if last and ending is Ending.OK else "",
        ending=ending,
        reason=short(reason),
        reported=tuple(report.usage for report in last.models) if last else (),
        cost_microusd=_cost(last),
        turns=total([result.turns for result in seen.results]) if last else Unavailable("the client gave no result"),
        tool_calls=tuple(
            ToolCalls(name=name, calls=seen.calls[name], errors=seen.errors[name]) for name in sorted(seen.calls)
        ),
        models=tuple(sorted(models - {""})[:MAX_NAMES]),
        retries=seen.retries,
        denied=tuple(sorted(set(seen.denied.values()))[:MAX_NAMES]),
        corrupt_lines=len({event.line for event in seen.corrupt}),
        findings=tuple(_findings(seen, ending)),
    )


def _ending(results: Sequence[Result], rule: EndingRule) -> tuple[Ending, str] | None:
    """How the results say that the client ended: the last one does, but for a success that follows a failure.

    A client that has failed says nothing more, while any process of its user can write to its output.
    """
    said = [rule(result) for result in results]
    if not said:
        return None
    ending, reason = said[-1]
    failures = [words for earlier, words in said[:-1] if earlier is not Ending.OK]
    if ending is Ending.OK and failures:
        return Ending.CONTRADICTORY, f"the client's last result is a success, and one before it isn't: {failures[0]}"
    return ending, reason


def short(text: str) -> str:
    """`text` on one line, of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_REASON_CHARACTERS else line[: MAX_REASON_CHARACTERS - 1] + "…"


def counted(number: int, noun: str) -> str:
    """`number` of the things that `noun` names, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def last_words(stderr: bytes) -> str:
    """The last line of `stderr` that says something, or ""."""
    lines = [line for line in plain_text(stderr[-65536:].decode("utf-8", "replace")).splitlines() if line.strip()]
    return short(lines[-1]) if lines else ""


def _cost(last: Result | None) -> Quantity:
    if last is None:
        return Unavailable("the client gave no result")
    if not last.models:
        return Unavailable("the client reported no usage")
    for report in last.models:
        if isinstance(report.cost_microusd, Unavailable):
            return report.cost_microusd
    return last.cost_microusd


def _findings(seen: _Seen, ending: Ending) -> Iterable[Finding]:
    if seen.corrupt:
        line, reason = seen.corrupt[0].line, seen.corrupt[0].reason
        yield finding(FindingKind.CORRUPT_EVENTS, f"{len(seen.corrupt)}, the first in line {line}: {reason}")
    if len(seen.results) > 1:
        yield finding(FindingKind.SEVERAL_RESULTS, f"{len(seen.results)} results; the last one's usage counts")
    if len(seen.starts) > 1:
        first, second = seen.starts[:2]
        yield finding(FindingKind.READY_CHANGED, f"{_start(first)}, later {_start(second)}")
    if seen.retries:
        yield finding(FindingKind.CLIENT_RETRIES, f"model requests were tried again: {seen.retries}")
    for fallback in seen.fallbacks[:MAX_NAMES]:
        yield finding(FindingKind.MODEL_FALLBACK, f"{fallback.original} to {fallback.fallback}")
    if seen.denied:
        tools = ", ".join(sorted(set(seen.denied.values())))
        yield finding(FindingKind.PERMISSION_DENIED, f"{counted(len(seen.denied), 'call')} of {tools}")
    if seen.results:
        yield from _usage_findings(seen.results[-1])
        if ending is Ending.OK and not seen.results[-1].answer.strip():
            yield finding(FindingKind.EMPTY_ANSWER, "the client ended well and answered nothing")


def _usage_findings(last: Result) -> Iterable[Finding]:
    for report in last.models:
        missing = [name for name in TOKEN_CLASSES if not isinstance(report.usage.tokens(name), Measured)]
        if missing:
            reason = report.usage.tokens(missing[0])
            detail = reason.reason if isinstance(reason, Unavailable) else ""
            whose = f"{report.usage.model}: " if report.usage.model else ""
            yield finding(FindingKind.USAGE_MISSING, f"{whose}{', '.join(missing)}: {detail}")
        elif report.guessed and isinstance(report.cost_microusd, Unavailable):
            guess = report.guess_microusd
            amount = f"{guess.value} micro-dollars" if isinstance(guess, Measured) else guess.reason
            yield finding(FindingKind.COST_GUESSED, f"{report.cost_microusd.reason}: {amount}")


def _start(ready: ClientReady) -> str:
    servers = ", ".join(f"{server.name} {server.status}" for server in ready.servers) or "no servers"
    return f"{ready.model} with {len(ready.tools)} tools and {servers}"


def finding(kind: FindingKind, detail: str) -> Finding:
    """A finding whose detail is one line of bounded length."""
    return Finding(kind=kind.value, detail=short(detail))
