"""Who plays the model? Answers the APIs of two providers by a script or the default policy, deterministically."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from gateway.exchange import Observation, Usage, UsageUnavailable
from gateway.identifiers import identifier
from gateway.messages_request import MessagesRequest, parse_request
from gateway.policy.dialects import play
from gateway.prompt_cache import PromptCache, check_breakpoints
from gateway.provider_errors import LIMIT_STATUS, RefusedError, error_body, error_type
from gateway.quoting import encoded
from gateway.reply import Reply, with_identifiers
from gateway.script.delivery import Planned, as_far_as, before_headers
from gateway.script.matching import Conversation, Rules
from gateway.script.rules import PLAIN, Script
from gateway.usage import BYTES_PER_TOKEN, output_tokens, request_segments
from gateway.wires import MODEL_PATHS, wire_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.exchange import Answer, Exchange
    from gateway.prompt_cache import InputTokens
    from gateway.script.rules import RawAnswer, Respond
    from gateway.wires import Wire

# The name of the model in every document of a scripted run: nobody may take it for a model of a provider's.
MODEL = "scripted-policy (fixture)"
COUNT_PATH = "/v1/messages/count_tokens"
JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"
# What isn't JSON may grow sixfold in the evidence (a control character becomes `\u0001`), which allows for twice.
RAW_GROWTH = 3


class ScriptedUpstream:
    """Plays the model for one attempt; it remembers the prompt cache and how often each rule was used."""

    def __init__(self, seed: str, script: Script | None = None) -> None:
        """Nothing is cached yet."""
        self._seed = seed
        self._cache = PromptCache()
        self._rules = Rules(script or Script((), refuses_otherwise=False))
        self._refuses_otherwise = script is not None and script.refuses_otherwise

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        """The answer to a request that was admitted.

        Raises:
            RefusedError: when the request is malformed, not served, one too many, or no rule's.
            BrokenOffError: when the script cuts before the headers.
        """
        # Nothing of the parsed request lives on while an answer is delayed.
        planned = self._planned(exchange, take_model_request)
        await before_headers(planned.respond)
        return planned.answer()

    def _planned(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Planned:
        request = exchange.request
        if request.method == "POST" and request.path in MODEL_PATHS:
            return self._model_answer(exchange, take_model_request)
        rule = self._rules.rule_for(exchange, None)
        if rule is not None:
            return self._bare(exchange, None, rule.respond)
        if request.method != "POST" or request.path != COUNT_PATH:
            raise RefusedError(404, "not_served", "Not found")
        parsed = parse_request(request.body, counting=True)
        segments = request_segments(parsed)
        check_breakpoints(segments)
        body = encoded({"input_tokens": sum(segment.tokens for segment in segments)})
        seen = Observation(parsed.model, None, None, False, UsageUnavailable("a count of tokens uses none"))
        return self._whole(exchange, 200, body, PLAIN, seen)

    def _model_answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Planned:
        wire = wire_of(exchange.request)
        parsed = wire.conversation
        segments = request_segments(parsed)
        check_breakpoints(segments)
        take_model_request()
        conversation = Conversation.of(parsed)
        rule = self._rules.rule_for(exchange, conversation)
        if rule is None and self._refuses_otherwise:
            raise RefusedError(
                LIMIT_STATUS, "no_rule", "Pairbench refused this request: no rule of the script applies to it."
            )
        respond = rule.respond if rule else PLAIN
        if respond.error or respond.raw:
            return self._bare(exchange, wire, respond)
        charged = self._cache.charge(parsed.model, segments)
        reply = self._reply(exchange.seq, wire, conversation, charged, respond)
        return self._message(exchange, wire, reply, respond)

    def _reply(
        self,
        seq: int,
        wire: Wire,
        conversation: Conversation,
        charged: InputTokens,
        respond: Respond,
    ) -> Reply:
        if respond.content is None:
            content, stop_reason = self._turn(wire.conversation, conversation, seq)
        else:
            content = with_identifiers(respond.content, self._seed, seq)
            stop_reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        usage = Usage(
            input_tokens=charged.input_tokens,
            output_tokens=output_tokens(content),
            cache_read_input_tokens=charged.cache_read,
            cache_write_5m_input_tokens=charged.cache_write_5m,
            cache_write_1h_input_tokens=charged.cache_write_1h,
        )
        shows: Literal["full", "none", "empty"] = "full"
        match respond.usage:
            case Usage() as declared:
                usage = declared
            case "none" | "empty" as hidden:
                shows = hidden
        return Reply(
            message_id=identifier("msg", self._seed, seq),
            model=respond.model or MODEL,
            content=content,
            stop_reason=respond.stop_reason or stop_reason,
            usage=wire.billed(usage),
            shows_usage=shows,
        )

    def _turn(
        self, parsed: MessagesRequest, conversation: Conversation, seq: int
    ) -> tuple[tuple[dict[str, Any], ...], str]:
        turn = play(conversation.view)
        content = with_identifiers(turn.content, self._seed, seq)
        if parsed.max_tokens is not None and output_tokens(content) > parsed.max_tokens:
            return _shortened(content, parsed.max_tokens), "max_tokens"
        return content, turn.stop_reason

    def _message(self, exchange: Exchange, wire: Wire, reply: Reply, respond: Respond) -> Planned:
        asked = wire.conversation
        whole = Observation(asked.model, reply.model, wire.stop_reason(reply), asked.stream, _usage_seen(reply))
        if not asked.stream:
            return self._whole(exchange, 200, encoded(wire.document(reply)), respond, whole)
        pieces = tuple(wire.events(reply))
        interruption = respond.interruption
        return Planned(
            status=200,
            headers=(*self._headers(EVENTS, exchange.seq), ("cache-control", "no-cache")),
            pieces=pieces,
            limit_bytes=sum(map(len, pieces)),
            streamed=True,
            respond=respond,
            observe=lambda progress: as_far_as(
                progress,
                whole,
                final=len(pieces) - wire.events_after_usage,
                at_first=wire.usage_at_first(reply.usage),
            ),
            error_event=wire.error_event(interruption.error_type, interruption.message) if interruption else b"",
        )

    def _bare(self, exchange: Exchange, wire: Wire | None, respond: Respond) -> Planned:
        """An error, or bytes of the script's own: nothing was generated, and nothing is charged."""
        asked = wire.conversation.model if wire else None
        if respond.raw is not None:
            return self._raw(exchange, wire, respond, respond.raw)
        error = respond.error
        if error is None:
            raise RefusedError(404, "not_served", "Not found")
        request_id = identifier("req", self._seed, exchange.seq)
        write = wire.error_body if wire else error_body
        body = write(error.kind or error_type(error.status), error.message, request_id)
        seen = Observation(asked, None, None, False, UsageUnavailable("the answer is an error"))
        planned = self._whole(exchange, error.status, body, respond, seen)
        return replace(planned, headers=(*planned.headers, *error.headers))

    def _raw(self, exchange: Exchange, wire: Wire | None, respond: Respond, raw: RawAnswer) -> Planned:
        streamed = wire is not None and wire.conversation.stream
        asked = wire.conversation.model if wire else None
        seen = Observation(asked, None, None, streamed, UsageUnavailable("the answer is no message"))
        return Planned(
            status=None if raw.wire else raw.status,
            headers=(
                *self._headers(raw.content_type or (EVENTS if streamed else JSON), exchange.seq),
                *raw.headers,
            ),
            pieces=(raw.body,),
            limit_bytes=RAW_GROWTH * len(raw.body),
            streamed=streamed,
            respond=respond,
            observe=lambda progress: as_far_as(progress, seen, final=1),
        )

    def _whole(self, exchange: Exchange, status: int, body: bytes, respond: Respond, seen: Observation) -> Planned:
        headers = self._headers(JSON, exchange.seq)
        return Planned(
            status, headers, (body,), len(body), False, respond, lambda progress: as_far_as(progress, seen, final=1)
        )

    def _headers(self, content_type: str, seq: int) -> tuple[tuple[str, str], ...]:
        return (("content-type", content_type), ("request-id", identifier("req", self._seed, seq)))


def _usage_seen(reply: Reply) -> Usage | UsageUnavailable:
    match reply.shows_usage:
        case "full":
            return reply.usage
        case "empty":
            return UsageUnavailable("the answer's usage has no class of tokens")
        case "none":
            return UsageUnavailable("the answer has no usage")


def _shortened(content: tuple[dict[str, Any], ...], max_tokens: int) -> tuple[dict[str, Any], ...]:
    """As much of the leading text as fits, nothing when nothing does; no tool call, for half of one can't be run."""
    text = next((block["text"] for block in content if block["type"] == "text"), "")
    text = text[: max_tokens * BYTES_PER_TOKEN]
    while text and output_tokens([{"type": "text", "text": text}]) > max_tokens:
        text = text[: len(text) * 9 // 10]
    return ({"type": "text", "text": text},) if text else ()
