"""What is one exchange, and how is it written down? Types only: knows neither sockets nor models."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

FORMAT = "pairbench/exchange"
RECORDING_FORMAT = "pairbench/recording"
VERSION = 1

# A client's name for one of its sub-agents is a few dozen characters.
AGENT_CHARACTERS = 100

Owner = Literal["client", "memory", "unknown"]
Refusal = Literal[
    "unauthorized",
    "request_limit",
    "record_limit",
    "bad_request",
    "not_served",
    "no_rule",
    "gateway_fault",
    "cap_exceeded",
    "not_recorded",
    "upstream_unreachable",
]


@dataclass(frozen=True)
class Request:
    """What the client sent; header names are in lower case, and in `wire_headers` as they came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    wire_headers: tuple[tuple[bytes, bytes], ...] = ()

    def header(self, name: str) -> str | None:
        """The first header of that lower-case name, or None."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def path(self) -> str:
        """The target without its query string."""
        return self.target.partition("?")[0]


@dataclass(frozen=True)
class UsageUnavailable:
    """Why an exchange, or one class of its usage, has none; never a zero."""

    reason: str

    def document(self) -> dict[str, object]:
        """As `exchanges.jsonl` holds it."""
        return {"unavailable": self.reason}


Tokens = int | UsageUnavailable


@dataclass(frozen=True)
class Usage:
    """Tokens of one exchange, by class; a provider may leave a class out."""

    input_tokens: Tokens
    output_tokens: Tokens
    cache_read_input_tokens: Tokens
    cache_write_5m_input_tokens: Tokens
    cache_write_1h_input_tokens: Tokens

    def document(self) -> dict[str, object]:
        """As `exchanges.jsonl` holds it."""
        return {name: value if isinstance(value, int) else value.document() for name, value in vars(self).items()}


class BrokenOffError(Exception):
    """The model's side ended an answer before its end; the client is to notice it in the same way."""

    def __init__(self, *, reset: bool) -> None:
        super().__init__("reset" if reset else "closed")
        self.reset = reset


@dataclass(frozen=True)
class Observation:
    """What an upstream's answer says about itself; `broken_off`: it never came to its end."""

    model_asked: str | None
    model_resolved: str | None
    stop_reason: str | None
    streamed: bool
    usage: Usage | UsageUnavailable
    broken_off: bool = False
    details: dict[str, object] | None = None
    """What else bears on the price, in the provider's words; None where nothing does."""


def unanswered(model_asked: str | None) -> Observation:
    """What there is to say of a request that got no answer."""
    return Observation(model_asked, None, None, streamed=False, usage=UsageUnavailable("no answer was made"))


class Pieces(Protocol):
    """A body in pieces. Whoever asks for one closes it, also when no piece was ever asked for."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, once."""

    async def __anext__(self) -> bytes:
        """The next piece.

        Raises:
            BrokenOffError: when the model's side ends before its end.
        """

    async def aclose(self) -> None:
        """Nobody goes on for this body."""


@dataclass(frozen=True)
class Answer:
    """What goes back to the client: a whole body, or pieces with a known upper bound; None where nobody knows one.

    A `status` of None means that the pieces are no HTTP and go out as they are. `length_bytes` is the declared length
    of a body that comes in pieces, None for a stream. `observe` is asked when the body has ended, however it ended.
    """

    status: int | None
    headers: tuple[tuple[str, str], ...]
    body: bytes | Pieces
    body_limit_bytes: int | None
    observe: Callable[[], Observation]
    refused: Refusal | None = None
    length_bytes: int | None = None


@dataclass
class Recording:
    """What a cassette holds of an exchange besides its body: whatever it takes to answer in the same way again."""

    key: str
    parts: dict[str, str]
    """Of the canonical request: name -> digest."""
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    length_bytes: int | None = None
    head_us: int = 0
    """From the request to the answer's head."""
    piece_bytes: list[int] = field(default_factory=list)
    piece_us: list[int] = field(default_factory=list)
    """From the request to each piece."""
    ended: Literal["whole", "closed", "reset", "client_gone"] = "client_gone"


@dataclass
class Exchange:
    """One exchange while it lasts; complete when it is written down."""

    seq: int
    received_ns: int
    request: Request
    owner: Owner = "unknown"
    resend_of: int | None = None
    resends: int = 0
    noted: bool = False
    status: int | None = None
    refused: Refusal | None = None
    observation: Observation | None = None
    first_byte_ns: int | None = None
    last_byte_ns: int | None = None
    cut: bool = False
    recorded: bool = False
    charged_microusd: int | None = None
    """What it counts against the caps; None where there are none."""
    reserved_microusd: int | None = None
    difference: tuple[str, ...] = ()
    """Parts of a request that a cassette doesn't hold as they are."""
    recording: Recording | None = None
    response: bytearray = field(default_factory=bytearray)
    """As long as its body is kept."""
    unkept: hashlib._Hash | None = None
    """The digest so far of a body that isn't kept."""
    unkept_bytes: int = 0

    def take(self, data: bytes) -> None:
        """`data` was sent as the next part of the response."""
        if self.unkept is None:
            self.response += data
        else:
            self.unkept.update(data)
            self.unkept_bytes += len(data)

    def forget_response(self) -> None:
        """Nothing of the response's body is kept; its digest and size go on."""
        if self.unkept is None:
            self.unkept, self.unkept_bytes = hashlib.sha256(self.response), len(self.response)
            self.response = bytearray()

    def response_digest(self) -> str:
        """The labelled SHA-256 of what was sent of the body."""
        return digest(self.response) if self.unkept is None else "sha256:" + self.unkept.hexdigest()


def digest(data: bytes | bytearray) -> str:
    """The labelled SHA-256 of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def retry_count(request: Request) -> int | None:
    """The client's own count of attempts before this one, or None when it sent none that can be read."""
    text = request.header("x-stainless-retry-count")
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def exchange_document(exchange: Exchange) -> dict[str, object]:
    """The exchange as `exchanges.jsonl` holds it."""
    seen = exchange.observation or unanswered(None)
    document: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "seq": exchange.seq,
        "owner": exchange.owner,
        "method": exchange.request.method,
        "path": exchange.request.target,
        "status": exchange.status,
        "request_sha256": digest(exchange.request.body),
        "response_sha256": exchange.response_digest(),
        "request_bytes": len(exchange.request.body),
        "response_bytes": len(exchange.response) if exchange.unkept is None else exchange.unkept_bytes,
        "received_ns": exchange.received_ns,
        "first_byte_ns": exchange.first_byte_ns,
        "last_byte_ns": exchange.last_byte_ns,
        "retry_count": retry_count(exchange.request),
        "resend_of": exchange.resend_of,
        "model_asked": seen.model_asked,
        "model_resolved": seen.model_resolved,
        "stop_reason": seen.stop_reason,
        "streamed": seen.streamed,
        "cut": exchange.cut,
        "refused": exchange.refused,
        "usage": seen.usage.document(),
    }
    # Only where there is something to say: the other modes' lines stay what they were.
    if seen.details is not None:
        document["details"] = seen.details
    if exchange.charged_microusd is not None:
        document["charged_microusd"] = exchange.charged_microusd
    if exchange.reserved_microusd is not None:
        document["reserved_microusd"] = exchange.reserved_microusd
    agent = exchange.request.header("x-claude-code-agent-id")
    if agent is not None:
        document["agent"] = agent[:AGENT_CHARACTERS]
    if exchange.difference:
        document["difference"] = list(exchange.difference)
    return document


def recording_document(exchange: Exchange, recording: Recording) -> dict[str, object]:
    """The exchange as `recording.jsonl` holds it; its body is in `bodies.jsonl`."""
    seen = exchange.observation or unanswered(None)
    return {
        "format": RECORDING_FORMAT,
        "version": VERSION,
        "seq": exchange.seq,
        "key": recording.key,
        "parts": recording.parts,
        "status": recording.status,
        "headers": [list(header) for header in recording.headers],
        "length_bytes": recording.length_bytes,
        "head_us": recording.head_us,
        "piece_bytes": recording.piece_bytes,
        "piece_us": recording.piece_us,
        "ended": recording.ended,
        "seen": {
            "model_asked": seen.model_asked,
            "model_resolved": seen.model_resolved,
            "stop_reason": seen.stop_reason,
            "streamed": seen.streamed,
            "usage": seen.usage.document(),
            "details": seen.details,
        },
    }
