"""What does a provider's answer say about itself? Reads along with a body that is passed on unchanged.

Whatever a body holds, reading it raises nothing: what can't be read becomes an unavailable usage with its reason.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gateway.decoding import Decoder, DecodingError, decoder_of
from gateway.exchange import Observation, Request, Usage, UsageUnavailable
from gateway.messages_request import has_too_many_values
from gateway.provider_usage import details_of, messages_usage, responses_usage
from gateway.wires import MESSAGES_PATH, MODEL_PATHS

# A body that isn't a stream, or one event of a stream, is kept until its end: no longer ones were ever seen.
HELD_LIMIT_BYTES = 32 * 1024 * 1024
# Only events that hold this are read, by API; all others are text, and there are thousands of them.
TELLING_OF_MESSAGES = b"message_"
TELLING_OF_RESPONSES = b'"usage"'
# Of an event; the last one of a stream may come in pieces.
END, CRLF_END = b"\n\n", b"\r\n\r\n"
LINE_ENDS = (b"\r", b"\n")
# In every spelling that JSON has for it.
AN_HOUR = re.compile(rb'"(?:1|\\u0031)(?:h|\\u0068)"')
RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")


class AnswerReader:
    """Reads one answer, piece by piece."""

    def __init__(self, request: Request, status: int, content: tuple[str, str]) -> None:
        """Nothing of the body was read; `content` is its type and its encoding."""
        content_type, content_encoding = content
        self._is_messages = request.path == MESSAGES_PATH
        self._telling = TELLING_OF_MESSAGES if self._is_messages else TELLING_OF_RESPONSES
        self._is_model_request = request.method == "POST" and request.path in MODEL_PATHS
        self._hour = AN_HOUR.search(request.body) is not None
        self._failed = status >= 400
        self._streamed = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._decoder: Decoder | None = decoder_of(content_encoding)
        self._problem = "" if self._decoder is not None else f"content-encoding {content_encoding} can't be read"
        self._held = bytearray()
        self._usage: dict[str, Any] = {}
        self._model: str | None = None
        self._stop: str | None = None
        self._final = False
        self._ended = False

    def feed(self, data: bytes) -> None:
        """`data` is the next part of the body."""
        if self._decoder is None or not self._is_model_request:
            return
        try:
            for text in self._decoder.decode(data):
                if self._streamed:
                    self._read_events(text)
                else:
                    self._held += text
                if len(self._held) > HELD_LIMIT_BYTES:
                    self._give_up(f"the body holds more than {HELD_LIMIT_BYTES} bytes at once")
                    return
        except DecodingError as error:
            self._give_up(f"the body can't be decoded: {error}")

    def observation(self, asked: str | None, *, broken_off: bool) -> Observation:
        """What the answer to a request for the model `asked` said until now; `broken_off`: it never came to its end."""
        if not self._streamed and self._decoder is not None and self._is_model_request and not broken_off:
            self._read_whole(self._document(bytes(self._held)))
        return Observation(
            asked,
            self._model,
            self._stop,
            self._streamed,
            self._usage_seen(broken_off=broken_off),
            broken_off,
            details_of(self._usage),
        )

    def _usage_seen(self, *, broken_off: bool) -> Usage | UsageUnavailable:
        if not self._is_model_request:
            return UsageUnavailable("no request for an answer of a model")
        if self._problem:
            return UsageUnavailable(self._problem)
        if not self._usage:
            if self._failed:
                return UsageUnavailable("the answer is an error")
            return UsageUnavailable("cut before any usage" if broken_off else "the answer has no usage")
        if not self._is_messages:
            return responses_usage(self._usage)
        return messages_usage(self._usage, asks_for_an_hour=self._hour, ended=self._final)

    def _give_up(self, problem: str) -> None:
        self._problem, self._decoder = problem, None
        self._held.clear()

    def _read_events(self, text: bytes) -> None:
        """Whole events are read; the beginning of one is held."""
        start = 0
        if self._held:
            is_cut = self._held[-1:] in LINE_ENDS and text[:1] in LINE_ENDS
            start = 0 if is_cut else _behind_first(text)
            if not is_cut and not start:
                self._held += text
                return
            first = bytes(self._held) + (text if is_cut else text[:start])
            self._held.clear()
            if is_cut:
                # The end of an event, maybe: all of it is looked at once more.
                text = first
            else:
                self._read_telling(first, 0, len(first))
        end = max(start, _behind_last(text))
        self._held += text[end:]
        self._read_telling(text, start, end)

    def _read_telling(self, text: bytes, start: int, end: int) -> None:
        """The events between the two places are read, if any of them tells anything."""
        if text.find(self._telling, start, end) >= 0:
            for event in text[start:end].replace(b"\r\n", b"\n").split(END):
                if self._telling in event:
                    self._read_event(event)

    def _read_event(self, event: bytes) -> None:
        lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
        document = self._document(b"\n".join(lines))
        kind = document.get("type")
        if kind == "message_start":
            self._read_whole(document.get("message"))
            self._final = False
        elif kind == "message_delta":
            self._add_usage(document.get("usage"))
            self._final = isinstance(document.get("usage"), dict) and "output_tokens" in document["usage"]
            delta = document.get("delta")
            if isinstance(delta, dict) and isinstance(delta.get("stop_reason"), str):
                self._stop = delta["stop_reason"]
        elif kind in RESPONSE_ENDS:
            self._read_whole(document.get("response"))

    def _read_whole(self, document: object) -> None:
        """A message, a response, or an error."""
        if not isinstance(document, dict):
            return
        if isinstance(document.get("model"), str):
            self._model = document["model"]
        ended = document.get("stop_reason") if self._is_messages else document.get("status")
        self._stop = ended if isinstance(ended, str) else self._stop
        self._add_usage(document.get("usage"))
        self._final = True
        for name in ("service_tier",):
            if isinstance(document.get(name), str):
                self._usage.setdefault(name, document[name])

    def _add_usage(self, usage: object) -> None:
        """Later words on a class take the place of earlier ones: they are sums of the whole answer."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _document(self, data: bytes) -> dict[str, Any]:
        if has_too_many_values(data):
            return {}
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}


def _behind_first(text: bytes) -> int:
    """Behind the first end of an event; 0 where there is none."""
    place = text.find(END)
    if place >= 0:
        return place + len(END)
    place = text.find(CRLF_END)
    return place + len(CRLF_END) if place >= 0 else 0


def _behind_last(text: bytes) -> int:
    """Behind the last end of an event; 0 where there is none."""
    place = text.rfind(END)
    if place >= 0:
        return place + len(END)
    place = text.rfind(CRLF_END)
    return place + len(CRLF_END) if place >= 0 else 0
