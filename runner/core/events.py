"""What a client's event stream says, in words that are the same for every client: a closed union of typed events.

Reading the stream of one client is the work of its adapter in `runner.clients`. Text in events is always valid Unicode
and integers always fit canonical JSON, whatever the stream holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final, TypeAlias

from runner.core.canonical import parse_json, read_exactly
from runner.core.errors import EvidenceError
from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.canonical import Json
    from runner.core.usage import ModelUsage

# RFC 8785 section 3.2.2.3: what canonical JSON can hold without loss.
_MAX_SAFE_INTEGER = 2**53 - 1
# Lines that are read together: few enough to hold their values.
_LINES_AT_ONCE: Final = 50


@dataclass(frozen=True, slots=True)
class ServerState:
    """An MCP server as the client sees it."""

    name: str
    status: str


@dataclass(frozen=True, slots=True)
class ClientReady:
    """The client has started and says what it works with."""

    tools: tuple[str, ...]
    servers: tuple[ServerState, ...]
    model: str
    version: str


@dataclass(frozen=True, slots=True)
class AssistantText:
    """The model, or the client in the model's place, wrote a text."""

    text: str
    model: str
    synthetic: bool
    """The client wrote it, to report an error."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model called a tool."""

    call: str
    """The call's id, which the stream may use more than once."""
    name: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool answered, or the client refused the call."""

    call: str
    error: bool


@dataclass(frozen=True, slots=True)
class ApiRetry:
    """The client tries a model request again."""

    attempt: int
    status: Quantity
    """HTTP status that it met; unavailable when the connection failed."""
    error: str


@dataclass(frozen=True, slots=True)
class PermissionDenied:
    """The client refused a tool call for lack of permission."""

    call: str
    tool: str


@dataclass(frozen=True, slots=True)
class ModelFallback:
    """The client goes on with another model."""

    original: str
    fallback: str


_NO_GUESS: Final = Unavailable("the client guessed nothing")


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What the client says that one model used."""

    usage: ModelUsage
    cost_microusd: Quantity
    guessed: bool = False
    """The client priced it without knowing its price; `cost_microusd` is unavailable then."""
    guess_microusd: Quantity = _NO_GUESS
    """What the client says all the same."""


@dataclass(frozen=True, slots=True)
class Result:
    """The client's result; a stream can hold several, of which the last one's models and cost are cumulative."""

    error: bool
    terminal_reason: str
    stop_reason: str
    answer: str
    """Its final text; "" when it has none or it is an error's message."""
    message: str
    """What went wrong, in the client's words; "" in a success."""
    api_error: str
    api_error_status: Quantity
    turns: Quantity
    """Of this result, not cumulative."""
    cost_microusd: Quantity
    models: tuple[ModelReport, ...]
    denied: tuple[PermissionDenied, ...]


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event of a kind that carries nothing of ours."""

    kind: str


@dataclass(frozen=True, slots=True)
class Corrupt:
    """A line that isn't an event, or an event whose shape isn't its kind's."""

    line: int
    """From 1."""
    reason: str


Event: TypeAlias = (
    ClientReady
    | AssistantText
    | ToolUse
    | ToolResult
    | ApiRetry
    | PermissionDenied
    | ModelFallback
    | Result
    | Ignored
    | Corrupt
)


def json_objects(stream: bytes) -> Iterator[tuple[int, Mapping[str, Json] | Corrupt]]:
    """Line number and object of each line of `stream`, or what is wrong with the line; blank lines say nothing.

    A line that holds a list of objects gives each of them: clients that print their whole stream at once do so.
    """
    for number, _, item in json_lines(stream):
        yield number, item


def json_lines(stream: bytes) -> Iterator[tuple[int, bytes | None, Mapping[str, Json] | Corrupt]]:
    """As `json_objects`, and between number and object the line, where it holds that object and nothing else."""
    lines = stream.split(b"\n")
    written = [(number, line) for number, line in enumerate(lines, 1) if line and not line.isspace()]
    for start in range(0, len(written), _LINES_AT_ONCE):
        part = written[start : start + _LINES_AT_ONCE]
        values = read_exactly([line for _, line in part])
        if values is None:
            for number, line in part:
                yield from _line_by_itself(number, line, torn=number == len(lines))
            continue
        for (number, line), value in zip(part, values, strict=True):
            if isinstance(value, dict):
                yield number, line, value
            else:
                yield from _several(number, value)


def _line_by_itself(
    number: int, line: bytes, *, torn: bool
) -> Iterator[tuple[int, bytes | None, Mapping[str, Json] | Corrupt]]:
    try:
        value = parse_json(line, "line")
    except EvidenceError as error:
        reason = "the stream ends within it" if torn else plain_text(error.problems[0].message)
        yield number, None, Corrupt(number, reason)
        return
    if isinstance(value, dict):
        yield number, line, value
    else:
        yield from _several(number, value)


def _several(number: int, value: Json) -> Iterator[tuple[int, None, Mapping[str, Json] | Corrupt]]:
    for item in value if isinstance(value, list) else [value]:
        yield number, None, item if isinstance(item, dict) else Corrupt(number, "not a JSON object")


def plain_text(text: str) -> str:
    """`text` with every lone surrogate replaced, so that it can be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def count(value: object, name: str) -> Quantity:
    """`value` as a count, or why it is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return Unavailable(f"{name} is missing" if value is None else f"{name} is not an integer")
    if not 0 <= value <= _MAX_SAFE_INTEGER:
        return Unavailable(f"{name} is out of range")
    return Measured(value)


def microusd(value: object, name: str) -> Quantity:
    """Dollars as a client prints them, in whole micro-dollars, to the nearest and ties to even; or why it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Unavailable(f"{name} is missing" if value is None else f"{name} is not a number")
    try:
        # The shortest decimal that reads as the same double: what the client printed, not its binary neighbour.
        scaled = (Decimal(repr(value)) * 1_000_000).to_integral_value(rounding=ROUND_HALF_EVEN)
        return count(int(scaled), name)
    except (InvalidOperation, OverflowError, ValueError):
        return Unavailable(f"{name} is out of range")
