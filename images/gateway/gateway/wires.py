"""Which API does a request speak? For each one that is served: what is read from it, how a reply is written back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateway import responses_reply
from gateway.exchange import UsageUnavailable
from gateway.messages_request import parse_request
from gateway.provider_errors import LIMIT_STATUS, error_body, error_type, refusal_answer
from gateway.reply import event, event_stream, message_document
from gateway.responses_request import parse_responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.exchange import Answer, Request, Usage
    from gateway.messages_request import MessagesRequest
    from gateway.provider_errors import RefusedError
    from gateway.reply import Reply

MESSAGES_PATH = "/v1/messages"
RESPONSES_PATH = "/v1/responses"
COUNT_PATH = "/v1/messages/count_tokens"
MODEL_PATHS = (MESSAGES_PATH, RESPONSES_PATH)


@dataclass(frozen=True)
class Wire:
    """A model request as it was read, and how it is answered.

    A stream has said `usage_at_first` with its first event, and everything with the last but `events_after_usage`.
    """

    conversation: MessagesRequest
    billed: Callable[[Usage], Usage]
    stop_reason: Callable[[Reply], str]
    document: Callable[[Reply], dict[str, Any]]
    events: Callable[[Reply], list[bytes]]
    error_event: Callable[[str, str], bytes]
    error_body: Callable[[str, str, str], bytes]
    events_after_usage: int
    usage_at_first: Callable[[Usage], Usage | UsageUnavailable]


def wire_of(request: Request) -> Wire:
    """The wire of a request to one of `MODEL_PATHS`.

    Raises:
        RefusedError: naming the first part of its body that is wrong.
    """
    if request.path == RESPONSES_PATH:
        parsed = parse_responses(request.body)
        return Wire(
            conversation=parsed.conversation,
            billed=responses_reply.billed,
            stop_reason=responses_reply.status_of,
            document=lambda reply: responses_reply.response_document(reply, parsed.tools),
            events=lambda reply: responses_reply.response_events(reply, parsed.tools),
            error_event=responses_reply.failed_event,
            error_body=responses_reply.error_body,
            events_after_usage=0,
            usage_at_first=lambda _: UsageUnavailable("cut before any usage"),
        )
    return Wire(
        conversation=parse_request(request.body, counting=False),
        billed=lambda usage: usage,
        stop_reason=lambda reply: reply.stop_reason,
        document=message_document,
        events=event_stream,
        error_event=lambda kind, message: event("error", error={"type": kind, "message": message}),
        error_body=error_body,
        events_after_usage=1,
        usage_at_first=lambda usage: replace(usage, output_tokens=UsageUnavailable("cut before the final usage")),
    )


def refusal_to(request: Request, error: RefusedError, request_id: str, model_asked: str | None) -> Answer:
    """The refusal in the words of the API that the request speaks.

    An exhausted quota is what Codex 0.163.0 stops on at once; it sends a request that got 402 three times (measured
    2026-11-29).
    """
    answer = refusal_answer(error, request_id, model_asked)
    if request.path != RESPONSES_PATH:
        return answer
    status, kind = error.status, error_type(error.status)
    if error.status == LIMIT_STATUS:
        status, kind = 429, "insufficient_quota"
    body = responses_reply.error_body(kind, error.message, request_id)
    return replace(answer, status=status, body=body, body_limit_bytes=len(body))
