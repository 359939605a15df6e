"""Who answers in the provider's name? The provider: requests go there byte for byte, answers come back the same way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateway.answer_reader import AnswerReader
from gateway.exchange import Answer, BrokenOffError, Observation, UsageUnavailable
from gateway.key_watch import KeyWatch, is_in_head
from gateway.model_connection import UnreachableError
from gateway.origin import forwarded_headers, returned_headers
from gateway.provider_errors import RefusedError
from gateway.request_facts import facts_of
from gateway.wires import COUNT_PATH, MODEL_PATHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.exchange import Burst, Exchange
    from gateway.model_connection import Arriving, ModelSide
    from gateway.origin import Auth, Origin

# Every other request may cost what nobody here counts, or do more than ask a model: batches, files, agents, settings.
# One spelling a path, too: a provider may take another one for a model request that nobody here would know as one.
POSTED = (*MODEL_PATHS, COUNT_PATH)
READ_PATH = re.compile(r"/v1/models(?:/(?!\.{1,2}$)[A-Za-z0-9._~:@-]+)?")


def is_served(method: str, path: str) -> bool:
    """Whether such a request goes out."""
    if method == "POST":
        return path in POSTED
    return method == "GET" and READ_PATH.fullmatch(path) is not None


class LiveUpstream:
    """Passes requests on to one provider; the key is held here and nowhere else."""

    def __init__(self, side: ModelSide, origin: Origin, auth: Auth) -> None:
        """Nothing was sent, and there is no key yet."""
        self._side = side
        self._origin = origin
        self._auth = auth
        self._key = b""

    def take_key(self, key: bytes) -> None:
        """Requests go out with this key from now on."""
        self._key = key

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        """The provider's answer, whose head is there and whose body comes as it is sent.

        Raises:
            RefusedError: when it is no request for a model, the request is one too many, or nobody can be reached.
            BrokenOffError: when the provider ends before it answers, or answers with the key.
        """
        request = exchange.request
        if not is_served(request.method, request.path):
            raise RefusedError(404, "not_served", "Not found")
        if not self._key:
            raise RefusedError(502, "upstream_unreachable", "Pairbench's gateway has no key for the provider.")
        if request.method == "POST" and request.path in MODEL_PATHS:
            take_model_request()
        has_body = bool(request.body) or request.method == "POST"
        headers = forwarded_headers(
            request.wire_headers, self._origin, self._auth, self._key, len(request.body) if has_body else None
        )
        try:
            arriving = await self._side.send(request.method, request.target, headers, request.body)
        except UnreachableError as error:
            raise RefusedError(
                502, "upstream_unreachable", f"Pairbench can't reach the provider: {error}", final=False
            ) from error
        except BaseException:
            _note_no_answer(exchange, "no answer came")
            raise
        if is_in_head(self._key, arriving.headers):
            arriving.close()
            _note_key(exchange)
            _note_no_answer(exchange, "the answer's head held the provider's key")
            raise BrokenOffError(reset=False)
        body = LiveBody(arriving, exchange, self._key)
        return Answer(
            status=arriving.status,
            headers=returned_headers(arriving.headers),
            body=body,
            body_limit_bytes=None,
            observe=body.observation,
            length_bytes=arriving.length_bytes,
        )


def _note_no_answer(exchange: Exchange, reason: str) -> None:
    asked = facts_of(exchange).model
    exchange.observation = Observation(asked, None, None, False, UsageUnavailable(reason), True)


def _note_key(exchange: Exchange) -> None:
    """The exchange says that its answer held the key, and keeps nothing of it."""
    exchange.key_returned = True
    exchange.keeps_bodies = False


class LiveBody:
    """A body on its way, read along."""

    def __init__(self, arriving: Arriving, exchange: Exchange, key: bytes) -> None:
        """Nothing of it came."""
        kind, coding = (arriving.header(name) or b"" for name in (b"content-type", b"content-encoding"))
        self._arriving = arriving
        self._exchange = exchange
        self._reader = AnswerReader(
            exchange.request, arriving.status, (kind.decode("latin-1"), coding.decode("latin-1"))
        )
        self._watch = KeyWatch(key, coding.decode("latin-1"))
        self._unread = b""
        self._ended = False

    def __aiter__(self) -> LiveBody:
        """The bursts, once."""
        return self

    async def __anext__(self) -> Burst:
        """The next burst, as the provider cut it; what it says is read when the one after it is asked for.

        Raises:
            BrokenOffError: when the provider ends before the body's end, or the burst has the last of its key.
        """
        self._read_along()
        burst = await self._arriving.burst()
        if burst is None:
            self._ended = True
            raise StopAsyncIteration
        if self._watch.finds(burst):
            self._arriving.close()
            _note_key(self._exchange)
            raise BrokenOffError(reset=False)
        self._unread = burst.body
        return burst

    def _read_along(self) -> None:
        if self._unread:
            self._reader.feed(self._unread)
            self._unread = b""

    async def aclose(self) -> None:
        """The provider notices that nobody reads on."""
        self._arriving.close()

    def observation(self) -> Observation:
        """What the answer said as far as it came."""
        self._read_along()
        return self._reader.observation(facts_of(self._exchange).model, broken_off=not self._ended)
