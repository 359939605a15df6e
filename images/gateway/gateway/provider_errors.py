"""How does the provider say no? Error bodies in the shape that its clients understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.exchange import Answer, Observation, UsageUnavailable
from gateway.quoting import encoded

if TYPE_CHECKING:
    from gateway.exchange import Refusal

# A limit of ours is a `billing_error`: Claude Code 2.1.332 shows its message and stops after one request, while it
# sends a request that got 400, 404 or 422 up to three times (measured 2026-11-29).
LIMIT_STATUS = 402
# Status -> error type, as the provider's reference lists them.
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    431: "request_too_large",
    500: "api_error",
    502: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class RefusedError(Exception):
    """The gateway answers in the model's place."""

    status: int
    refused: Refusal
    message: str
    difference: tuple[str, ...] = ()
    """What of the request differs from one that would have been answered, or what a cap had no room for."""
    final: bool = True
    """Asking again changes nothing."""


def error_type(status: int) -> str:
    """The provider's type for a status; for one that it doesn't list, that of the nearest kind."""
    return ERROR_TYPES.get(status) or ERROR_TYPES[400 if status < 500 else 500]


def error_body(kind: str, message: str, request_id: str) -> bytes:
    """The body of an error."""
    return encoded({"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id})


def refusal_answer(error: RefusedError, request_id: str, model_asked: str | None = None) -> Answer:
    """An answer that clients take for the provider's final word.

    `x-should-retry: false` is what the provider's SDKs obey before they look at the status: a refusal of ours doesn't
    change when it is asked again.
    """
    body = error_body(ERROR_TYPES[error.status], error.message, request_id)
    seen = Observation(model_asked, None, None, False, UsageUnavailable(f"refused: {error.refused}"))
    return Answer(
        status=error.status,
        headers=(
            ("content-type", "application/json"),
            ("request-id", request_id),
            *((("x-should-retry", "false"),) if error.final else ()),
        ),
        body=body,
        body_limit_bytes=len(body),
        observe=lambda: seen,
        refused=error.refused,
    )
