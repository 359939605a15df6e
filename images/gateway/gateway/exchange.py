"""What is one exchange, and how is it written down? Types only: knows neither sockets nor models."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

FORMAT = "pairbench/exchange"
VERSION = 1

Owner = Literal["client", "memory", "unknown"]
Refusal = Literal[
    "unauthorized", "request_limit", "record_limit", "bad_request", "not_served", "no_rule", "gateway_fault"
]


@dataclass(frozen=True)
class Request:
    """What the client sent; header names are in lower case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that lower-case name, or None."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def path(self) -> str:
        """The target without its query string."""
        return self.target.partition("?")[0]


@dataclass(frozen=True)
class Usage:
    """Tokens of one exchange, by class."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_write_5m_input_tokens: int
    cache_write_1h_input_tokens: int

    def document(self) -> dict[str, object]:
        """As `exchanges.jsonl` holds it."""
        return dict(vars(self))


@dataclass(frozen=True)
class UsageUnavailable:
    """Why an exchange has no usage; never a zero."""

    reason: str

    def document(self) -> dict[str, object]:
        """As `exchanges.jsonl` holds it."""
        return {"unavailable": self.reason}


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


def unanswered(model_asked: str | None) -> Observation:
    """What there is to say of a request that got no answer."""
    return Observation(model_asked, None, None, streamed=False, usage=UsageUnavailable("no answer was made"))


@dataclass(frozen=True)
class Answer:
    """What goes back to the client: a whole body, or pieces with a known upper bound.

    A `status` of None means that the pieces are no HTTP and go out as they are. `length_bytes` is the declared length
    of a body that comes in pieces, None for a stream. `observe` is asked when the body has ended, however it ended.
    """

    status: int | None
    headers: tuple[tuple[str, str], ...]
    body: bytes | AsyncGenerator[bytes, None]
    body_limit_bytes: int
    observe: Callable[[], Observation]
    refused: Refusal | None = None
    length_bytes: int | None = None


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
    response: bytearray = field(default_factory=bytearray)


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
    return {
        "format": FORMAT,
        "version": VERSION,
        "seq": exchange.seq,
        "owner": exchange.owner,
        "method": exchange.request.method,
        "path": exchange.request.target,
        "status": exchange.status,
        "request_sha256": digest(exchange.request.body),
        "response_sha256": digest(exchange.response),
        "request_bytes": len(exchange.request.body),
        "response_bytes": len(exchange.response),
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
