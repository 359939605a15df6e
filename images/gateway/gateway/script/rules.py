"""What is a script made of? Rules: what a request has to be, and what is answered then; knows no JSON, no socket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gateway.exchange import Usage

LARGEST = 2**53 - 1


@dataclass(frozen=True)
class Span:
    """A range of whole numbers, both ends included."""

    at_least: int = 0
    at_most: int = LARGEST

    def holds(self, number: int) -> bool:
        """Whether the number lies in the range."""
        return self.at_least <= number <= self.at_most


@dataclass(frozen=True)
class Words:
    """What a text has to hold."""

    contains: tuple[str, ...] = ()
    matches: str | None = None

    def found_in(self, text: str) -> bool:
        """Whether all of it is in the text."""
        return all(part in text for part in self.contains) and (self.matches is None or matches(self.matches, text))


@dataclass(frozen=True)
class ToolResult:
    """What the last result of a tool has to be; of whatever tool when none is named."""

    tool: str | None
    words: Words
    failed: bool | None


@dataclass(frozen=True)
class When:
    """All that a request has to be for a rule to apply; None asks for nothing, but as a path for one of a model's."""

    path: str | None
    owner: str | None
    exchange: Span | None
    resends: Span | None
    retry_count: Span | None
    turn: Span | None
    model: str | None
    stream: bool | None
    tools: tuple[str, ...]
    text: Words | None
    tool_result: ToolResult | None


@dataclass(frozen=True)
class Place:
    """A point of an answer: before its headers, after so many of its events, or after so many bytes of its body."""

    before_headers: bool
    events: int | None
    bytes: int | None


@dataclass(frozen=True)
class Interruption:
    """How an answer fails to go on: `stall`, a kind of cut, or an `error` event."""

    kind: Literal["stall", "reset", "close", "end", "error"]
    place: Place
    error_type: str = ""
    message: str = ""


@dataclass(frozen=True)
class ErrorAnswer:
    """An answer with which a provider says no."""

    status: int
    kind: str | None
    message: str
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RawAnswer:
    """Bytes instead of a message: as a body, or in place of HTTP."""

    body: bytes
    wire: bool
    status: int
    content_type: str | None
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Respond:
    """What is answered; `content`, `error` and `raw` exclude one another, and without them the default policy plays."""

    content: tuple[dict[str, Any], ...] | None
    stop_reason: str | None
    error: ErrorAnswer | None
    raw: RawAnswer | None
    usage: Usage | Literal["computed", "none", "empty"]
    model: str | None
    headers_ms: int
    first_event_ms: int
    between_events_ms: int
    interruption: Interruption | None


@dataclass(frozen=True)
class Rule:
    """An answer, when it is given, and how often at most."""

    when: When
    times: int | None
    respond: Respond


@dataclass(frozen=True)
class Script:
    """Rules, the first that applies decides; when none does the default policy plays, or the request is refused."""

    rules: tuple[Rule, ...]
    refuses_otherwise: bool


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is the pattern, in which `*` stands for any text; takes linear time."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    last = rest.pop()
    if not text.startswith(first) or not text[len(first) :].endswith(last):
        return False
    position, end = len(first), len(text) - len(last)
    for part in rest:
        found = text.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


PLAIN = Respond(
    content=None,
    stop_reason=None,
    error=None,
    raw=None,
    usage="computed",
    model=None,
    headers_ms=0,
    first_event_ms=0,
    between_events_ms=0,
    interruption=None,
)
"""The default policy's turn, at once and whole."""
