"""What a scripted model says and when: the file that a study names, as `docs/reference/model-script.md` describes it.

A script sees requests only. The gateway of the pod plays it, and reads it again by rules of its own; golden files keep
both readings equal.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from runner.core.documents import Document, Part, validated
from runner.core.errors import Problem, StudyError
from runner.core.plain_yaml import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL_PATHS: Final = ("/v1/messages", "/v1/responses")
# A day: longer than any trial may last.
_DELAY_LIMIT_MS: Final = 86_400_000
# What canonical JSON carries exactly (RFC 8785 section 3.2.2.3).
_LARGEST: Final = 2**53 - 1
_OWN_HEADERS: Final = {"connection", "content-length", "content-type", "date", "request-id", "transfer-encoding"}

Count = Annotated[int, Field(ge=0, le=_LARGEST)]
Text = Annotated[str, StringConstraints(min_length=1)]
Milliseconds = Annotated[int, Field(ge=0, le=_DELAY_LIMIT_MS)]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,64}$")]
HeaderValue = Annotated[str, StringConstraints(pattern=r"^[!-~]([ -~]*[!-~])?$")]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Span(Part):
    """A range of whole numbers, both ends included; a plain number is the range that holds only itself."""

    at_least: Count = 0
    at_most: Count = _LARGEST

    @model_validator(mode="before")
    @classmethod
    def _of_one(cls, value: Any) -> Any:
        return {"at_least": value, "at_most": value} if _is_count(value) else value

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if self.at_least > self.at_most:
            raise ValueError("at_least must not be above at_most")
        return self

    def within(self, other: Span) -> bool:
        """Whether `other` holds every number of this range."""
        return other.at_least <= self.at_least and self.at_most <= other.at_most


def _list_of_one(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(_list_of_one)]


class Words(Part):
    """What a text has to hold: every one of some texts, and a pattern in which `*` stands for any text."""

    contains: Texts = ()
    matches: str | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.contains and self.matches is None and type(self) is Words:
            raise ValueError("contains or matches is needed")
        return self

    def implies(self, other: Words) -> bool:
        """Whether every text that holds these holds `other`'s, as far as that shows."""
        return set(other.contains) <= set(self.contains) and other.matches in {None, self.matches}


class ToolResult(Words):
    """What the last result of a tool has to be; without `tool` the last result of any."""

    tool: Text | None = None
    failed: bool | None = None


class When(Part):
    """All that a request has to be for its rule to apply."""

    path: Annotated[str, StringConstraints(pattern=r"^/[!-~]*$")] | None = None
    """Without one, that of any API which a model answers."""
    owner: Literal["client", "memory"] | None = None
    exchange: Span | None = None
    resends: Span | None = None
    retry_count: Span | None = None
    turn: Span | None = None
    model: Text | None = None
    stream: bool | None = None
    tools: Texts = ()
    text: Words | None = None
    tool_result: ToolResult | None = None

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        for name in ("exchange", "turn"):
            span: Span | None = getattr(self, name)
            if span is not None and span.at_most == 0:
                raise ValueError(f"{name} counts from 1")
        if "?" in (self.path or ""):
            raise ValueError("path is without its query")
        talks = (self.turn, self.model, self.stream, self.text, self.tool_result, self.tools or None)
        if not self.is_of_model() and any(condition is not None for condition in talks):
            raise ValueError(f"only a request for {' or '.join(MODEL_PATHS)} has a conversation")
        return self

    def is_of_model(self) -> bool:
        """Whether it holds for requests that a model answers, and for no others."""
        return self.path is None or self.path in MODEL_PATHS

    def implies(self, other: When) -> bool:
        """Whether `other` holds for every request for which this holds, as far as that shows."""
        for name in ("exchange", "resends", "retry_count", "turn"):
            wanted: Span | None = getattr(other, name)
            own: Span | None = getattr(self, name)
            if wanted is not None and (own is None or not own.within(wanted)):
                return False
        same = all(getattr(other, name) in {None, getattr(self, name)} for name in ("owner", "model", "stream"))
        same = same and (self.path == other.path or (other.path is None and self.is_of_model()))
        return same and set(other.tools) <= set(self.tools) and self._says_no_less(other)

    def _says_no_less(self, other: When) -> bool:
        if other.text is not None and (self.text is None or not self.text.implies(other.text)):
            return False
        wanted, own = other.tool_result, self.tool_result
        if wanted is None:
            return True
        if own is None or own.tool != wanted.tool:
            return False
        return wanted.failed in {None, own.failed} and own.implies(wanted)


class Call(Part):
    """A tool call; its input is sent as it stands."""

    tool: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
    input: dict[str, Any]


class Tokens(Part):
    """Usage as it is to be reported; classes that aren't named are reported as 0."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_write_5m_input_tokens: Count = 0
    cache_write_1h_input_tokens: Count = 0


class Delay(Part):
    """How long an answer takes: until its headers, from there to its first event, and from one event to the next."""

    headers: Milliseconds = 0
    first_event: Milliseconds = 0
    between_events: Milliseconds = 0


class Place(Part):
    """Where an answer stops: exactly one of its keys."""

    before_headers: bool = False
    after_events: Count | None = None
    after_bytes: Count | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if [self.before_headers or None, self.after_events, self.after_bytes].count(None) != 2:
            raise ValueError("exactly one of before_headers, after_events and after_bytes is needed")
        return self


class Stall(Place):
    """Nothing more comes, until the client goes away or the pod ends."""


class Cut(Place):
    """The answer ends early: by a reset, by closing the connection, or by the end of a body that holds too little."""

    by: Literal["reset", "close", "end"] = "reset"

    @model_validator(mode="after")
    def _has_a_body_to_end(self) -> Self:
        if self.by == "end" and self.before_headers:
            raise ValueError("a body can't end before its headers")
        return self


class ErrorEvent(Place):
    """The stream ends with an error of the provider's."""

    type: Text = "overloaded_error"
    message: str = "Overloaded"


def _leave_framing_alone(headers: dict[str, str]) -> dict[str, str]:
    for name in sorted(_OWN_HEADERS & set(headers)):
        raise ValueError(f"the gateway sets {name} itself")
    return headers


Headers = Annotated[dict[HeaderName, HeaderValue], AfterValidator(_leave_framing_alone)]


class ErrorAnswer(Part):
    """An answer with which the provider says no."""

    status: Annotated[int, Field(ge=400, le=599)]
    type: Text | None = None
    message: str = ""
    headers: Headers = Field(default_factory=dict)


class RawAnswer(Part):
    """Bytes instead of a message: as the body of an answer, or on the wire in place of HTTP."""

    text: str | None = None
    base64: str | None = None
    wire: bool = False
    status: Annotated[int, Field(ge=200, le=599)] = 200
    content_type: HeaderValue | None = None
    headers: Headers = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("exactly one of text and base64 is needed")
        if self.status in {204, 304}:
            raise ValueError(f"an answer with status {self.status} has no body")
        if self.wire and (self.status != 200 or self.content_type or self.headers):
            raise ValueError("what isn't HTTP has neither status nor headers")
        try:
            base64.b64decode(self.base64 or "", validate=True)
        except binascii.Error as error:
            raise ValueError(f"base64: {error}") from error
        return self


class Respond(Part):
    """What is answered: a reply, the default policy's turn, an error or raw bytes; and how it gets there."""

    thinking: Text | None = None
    text: str | None = None
    calls: tuple[Call, ...] | None = None
    policy: Literal["plain-agent"] | None = None
    error: ErrorAnswer | None = None
    raw: RawAnswer | None = None
    stop_reason: (
        Literal[
            "end_turn",
            "tool_use",
            "max_tokens",
            "stop_sequence",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
        ]
        | None
    ) = None
    usage: Literal["computed", "none", "empty"] = "computed"
    tokens: Tokens | None = None
    model: Annotated[str, StringConstraints(pattern=r"^.+ \(fixture\)$")] | None = None
    delay_ms: Delay = Delay()
    stall: Stall | None = None
    cut: Cut | None = None
    error_event: ErrorEvent | None = None

    @model_validator(mode="after")
    def _is_one_answer(self) -> Self:
        reply = self.thinking is not None or self.text is not None or self.calls is not None
        kinds = [reply, self.policy is not None, self.error is not None, self.raw is not None]
        if kinds.count(True) != 1:
            raise ValueError("exactly one of a reply (thinking, text, calls), policy, error and raw is needed")
        speaks = self.stop_reason or self.model or self.tokens or self.usage != "computed"
        if speaks and (self.error or self.raw):
            raise ValueError("stop_reason, usage, tokens and model belong to a message")
        if self.tokens and self.usage != "computed":
            raise ValueError("tokens that are declared are sent; leave usage out")
        if [self.stall, self.cut, self.error_event].count(None) < 2:
            raise ValueError("only one of stall, cut and error_event can be")
        if self.error_event and (self.error or self.raw or self.error_event.before_headers):
            raise ValueError("an error event needs the events of a message before it")
        if self.raw and self.raw.wire and [self.stall, self.cut].count(None) < 2:
            raise ValueError("bytes on the wire are sent whole")
        return self


class Rule(Part):
    """An answer, when it is given, and how often at most."""

    when: When = When()
    times: Annotated[int, Field(ge=1, le=_LARGEST)] | None = None
    respond: Respond

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.respond.error_event and self.when.stream is not True:
            raise ValueError("an error event needs when.stream: true, for an answer as a whole has no events")
        if not self.when.is_of_model() and not (self.respond.error or self.respond.raw):
            raise ValueError(
                f"only a request for {' or '.join(MODEL_PATHS)} is answered by a message; use error or raw"
            )
        return self


class ModelScript(Document):
    """The turns of a scripted model: the first rule that applies answers."""

    FORMAT: ClassVar[str] = "pairbench/model-script"

    description: str = ""
    otherwise: Literal["policy", "error"] = "policy"
    rules: tuple[Rule, ...]


def parse_model_script(data: bytes, document: str) -> ModelScript:
    """The script in `data`.

    Raises:
        StudyError: it isn't plain YAML, has another format, unknown keys or wrong types, or rules that can't apply.
    """
    value = parse_yaml(data, document)
    wanted = {"format": ModelScript.FORMAT, "version": ModelScript.VERSION}
    if not isinstance(value, dict) or {key: value.get(key) for key in wanted} != wanted:
        raise StudyError(f"format and version must be {ModelScript.FORMAT} {ModelScript.VERSION}", document=document)
    script = validated(ModelScript, value, document, StudyError)
    unreachable = list(_unreachable(script, document))
    if unreachable:
        raise StudyError.of(unreachable)
    return script


def _unreachable(script: ModelScript, document: str) -> Iterator[Problem]:
    for number, rule in enumerate(script.rules):
        for earlier, other in enumerate(script.rules[:number]):
            if other.times is None and rule.when.implies(other.when):
                message = f"never applies: rules[{earlier}] answers every request that it is for"
                yield Problem(message, document, f"rules[{number}]", "put it before that one, or narrow that one")
                break
