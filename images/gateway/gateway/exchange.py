"""What is one exchange, and how is it written down? Types only: knows neither sockets nor models."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

FORMAT = "pairbench/exchange"
RECORDING_FORMAT = "pairbench/recording"
VERSION = 1

# A client's name for one of its sub-agents is a few dozen characters.
AGENT_CHARACTERS = 100
# Smaller pieces of an answer are joined before they are looked at.
PIECE_BYTES = 32768
# Seconds, or a date of HTTP.
RETRY_AFTER_CHARACTERS = 64
# With these a provider says that it has no room now.
ASKING_FOR_PATIENCE = (429, 503, 529)
NOTHING = "sha256:" + hashlib.sha256(b"").hexdigest()

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


@dataclass(frozen=True)
class RequestFacts:
    """What a request says of itself."""

    model: str | None
    tools: tuple[str, ...]
    """Those offered to a model, as far as they are listed; one of a namespace has the namespace and `/` before it."""
    unlisted_tools: int


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


class Burst(NamedTuple):
    """What of a body came at once; without any of it, what waits is to leave."""

    body: bytes
    sizes: tuple[int, ...]
    """Of its pieces: the chunks that it came in."""
    framed: bytes = b""
    """The same in its chunks, as it came, which may begin and end within one; b"": it has no chunks yet."""
    is_open: bool = False
    """The last piece is the beginning of one, which the next burst goes on with."""


def burst_of(piece: bytes) -> Burst:
    """One whole piece."""
    return Burst(piece, (len(piece),))


class Pieces(Protocol):
    """A body in bursts of pieces. Whoever asks for one closes it, also when no burst was ever asked for."""

    def __aiter__(self) -> AsyncIterator[Burst]:
        """The bursts, once."""

    async def __anext__(self) -> Burst:
        """The next burst.

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
    facts: RequestFacts | None = None
    """None as long as nobody asked."""
    retry_after: str | None = None
    response_coding: str = ""
    """Of the answer, as it says."""
    response_bytes: int = 0
    """Sent until now."""
    response_sha256: str = NOTHING
    """Of the response, once it was looked at."""
    texts_sha256: tuple[str, ...] | None = None
    """Of the texts that a model said in it; None where nobody knows them."""
    key_returned: bool = False
    """The answer held the provider's key, and was ended before it passed."""
    keeps_bodies: bool = True
    held: list[bytes] = field(default_factory=list)
    """What of the response was sent and not looked at yet."""
    held_bytes: int = 0

    def take(self, data: bytes) -> None:
        """`data` was sent as the next part of the response."""
        self.held.append(data)
        self.held_bytes += len(data)
        self.response_bytes += len(data)

    def hand_over(self) -> list[bytes]:
        """What was held, in pieces of some size; nothing is from now on."""
        held, self.held = self.held, []
        if len(held) * PIECE_BYTES > self.held_bytes:
            held = [b"".join(held)]
        self.held_bytes = 0
        return held

    @functools.cached_property
    def request_sha256(self) -> str:
        """The labelled digest of the request's body; asked for when all of it is there."""
        return digest(self.request.body)

    def note_answer(self, answer: Answer) -> None:
        """What the head of the answer says is known."""
        self.status, self.refused = answer.status, answer.refused
        for name, value in answer.headers:
            match name.lower():
                case "content-encoding":
                    self.response_coding = value
                case "retry-after" if answer.status in ASKING_FOR_PATIENCE:
                    self.retry_after = value[:RETRY_AFTER_CHARACTERS]


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
        "request_sha256": exchange.request_sha256,
        "response_sha256": exchange.response_sha256,
        "request_bytes": len(exchange.request.body),
        "response_bytes": exchange.response_bytes,
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
    return document | _where_said(exchange, seen)


def _where_said(exchange: Exchange, seen: Observation) -> dict[str, object]:
    """What stands in a line only where there is something to say: the other modes' lines stay what they were."""
    agent = exchange.request.header("x-claude-code-agent-id")
    facts = exchange.facts
    found: dict[str, object] = {
        "details": seen.details,
        "charged_microusd": exchange.charged_microusd,
        "reserved_microusd": exchange.reserved_microusd,
        "agent": None if agent is None else agent[:AGENT_CHARACTERS],
        "key_returned": exchange.key_returned or None,
        "difference": list(exchange.difference) or None,
        "retry_after": exchange.retry_after,
        "texts_sha256": None if exchange.texts_sha256 is None else list(exchange.texts_sha256),
        "tools": None if facts is None else list(facts.tools) or None,
        "unlisted_tools": None if facts is None else facts.unlisted_tools or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def recording_document(exchange: Exchange, recording: Recording) -> dict[str, object]:
    """The exchange as `recording.jsonl` holds it; its body is in `bodies.jsonl.zst`."""
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
