"""Who plays the model? Answers the Messages API with the scripted policy and the usage rule, deterministically."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.evidence import encoded
from gateway.exchange import Answer, Observation, Usage, UsageUnavailable
from gateway.identifiers import identifier
from gateway.messages_request import MessagesRequest, parse_request
from gateway.policy.agent import decide
from gateway.policy.view import View
from gateway.prompt_cache import PromptCache, check_breakpoints
from gateway.provider_errors import RefusedError
from gateway.reply import Reply, event_stream, message_document, with_identifiers
from gateway.usage import BYTES_PER_TOKEN, output_tokens, request_segments

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from gateway.exchange import Request

# The name of the model in every document of a scripted run: nobody may take it for a model of a provider's.
MODEL = "scripted-policy (fixture)"
MESSAGES_PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"


class ScriptedUpstream:
    """Plays the model for one attempt; the prompt cache is all that it remembers."""

    def __init__(self, seed: str) -> None:
        """Nothing is cached yet."""
        self._seed = seed
        self._cache = PromptCache()

    async def answer(self, request: Request, seq: int, take_model_request: Callable[[], None]) -> Answer:
        """The answer to a request that was admitted.

        Raises:
            RefusedError: when the request is malformed, not served, or one too many.
        """
        if request.method != "POST" or request.path not in {MESSAGES_PATH, COUNT_PATH}:
            raise RefusedError(404, "not_served", "Not found")
        counting = request.path == COUNT_PATH
        parsed = parse_request(request.body, counting=counting)
        segments = request_segments(parsed)
        check_breakpoints(segments)
        if counting:
            total = sum(segment.tokens for segment in segments)
            return self._counted(parsed.model, total, seq)
        take_model_request()
        charged = self._cache.charge(parsed.model, segments)
        content, stop_reason = self._content(parsed, seq)
        reply = Reply(
            message_id=identifier("msg", self._seed, seq),
            model=MODEL,
            content=content,
            stop_reason=stop_reason,
            usage=Usage(
                input_tokens=charged.input_tokens,
                output_tokens=output_tokens(content),
                cache_read_input_tokens=charged.cache_read,
                cache_write_5m_input_tokens=charged.cache_write_5m,
                cache_write_1h_input_tokens=charged.cache_write_1h,
            ),
        )
        return self._replied(parsed, reply, seq)

    def _content(self, parsed: MessagesRequest, seq: int) -> tuple[tuple[dict[str, Any], ...], str]:
        turn = decide(View.of(parsed))
        content = with_identifiers(turn.content, self._seed, seq)
        if parsed.max_tokens is not None and output_tokens(content) > parsed.max_tokens:
            return _shortened(content, parsed.max_tokens), "max_tokens"
        return content, turn.stop_reason

    def _counted(self, model: str, total: int, seq: int) -> Answer:
        body = encoded({"input_tokens": total})
        seen = Observation(model, None, None, False, UsageUnavailable("a count of tokens uses none"))
        return Answer(200, self._headers("application/json", seq), body, len(body), lambda: seen)

    def _replied(self, parsed: MessagesRequest, reply: Reply, seq: int) -> Answer:
        seen = Observation(parsed.model, reply.model, reply.stop_reason, parsed.stream, reply.usage)
        if not parsed.stream:
            body = encoded(message_document(reply))
            return Answer(200, self._headers("application/json", seq), body, len(body), lambda: seen)
        events = event_stream(reply)
        return Answer(
            status=200,
            headers=(*self._headers("text/event-stream; charset=utf-8", seq), ("cache-control", "no-cache")),
            body=_one_by_one(events),
            body_limit_bytes=sum(map(len, events)),
            observe=lambda: seen,
        )

    def _headers(self, content_type: str, seq: int) -> tuple[tuple[str, str], ...]:
        return (("content-type", content_type), ("request-id", identifier("req", self._seed, seq)))


async def _one_by_one(events: list[bytes]) -> AsyncGenerator[bytes, None]:
    for event in events:
        yield event


def _shortened(content: tuple[dict[str, Any], ...], max_tokens: int) -> tuple[dict[str, Any], ...]:
    """As much of the leading text as fits, nothing when nothing does; no tool call, for half of one can't be run."""
    text = next((block["text"] for block in content if block["type"] == "text"), "")
    text = text[: max_tokens * BYTES_PER_TOKEN]
    while text and output_tokens([{"type": "text", "text": text}]) > max_tokens:
        text = text[: len(text) * 9 // 10]
    return ({"type": "text", "text": text},) if text else ()
