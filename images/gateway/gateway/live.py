"""Who answers in the provider's name? The provider: requests go there byte for byte, answers come back the same way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateway.answer_reader import AnswerReader
from gateway.exchange import Answer, Observation, UsageUnavailable
from gateway.model_connection import UnreachableError
from gateway.origin import forwarded_headers, returned_headers
from gateway.provider_errors import RefusedError
from gateway.request_facts import facts_of
from gateway.wires import MODEL_PATHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.exchange import Burst, Exchange
    from gateway.model_connection import Arriving, ModelSide
    from gateway.origin import Auth, Origin

# One spelling a path: a provider may take another one for a model request that nobody here would know as one.
PLAIN_PATH = re.compile(r"/v1(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~:@-]+)+")


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
            RefusedError: when the path isn't below /v1, the request is one too many, or nobody can be reached.
            BrokenOffError: when the provider ends before it answers.
        """
        request = exchange.request
        if PLAIN_PATH.fullmatch(request.path) is None:
            raise RefusedError(404, "not_served", "Not found")
        if not self._key:
            raise RefusedError(502, "upstream_unreachable", "Pairbench's gateway has no key for the provider.")
        if request.method == "POST" and request.path in MODEL_PATHS:
            take_model_request()
        has_body = bool(request.body) or request.method in {"POST", "PUT", "PATCH"}
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
            asked = facts_of(exchange).model
            exchange.observation = Observation(asked, None, None, False, UsageUnavailable("no answer came"), True)
            raise
        body = LiveBody(arriving, exchange)
        length = arriving.header(b"content-length")
        return Answer(
            status=arriving.status,
            headers=returned_headers(arriving.headers),
            body=body,
            body_limit_bytes=None,
            observe=body.observation,
            length_bytes=int(length) if length is not None else None,
        )


class LiveBody:
    """A body on its way, read along."""

    def __init__(self, arriving: Arriving, exchange: Exchange) -> None:
        """Nothing of it came."""
        kind, coding = (arriving.header(name) or b"" for name in (b"content-type", b"content-encoding"))
        self._arriving = arriving
        self._exchange = exchange
        self._reader = AnswerReader(
            exchange.request, arriving.status, (kind.decode("latin-1"), coding.decode("latin-1"))
        )
        self._unread = b""
        self._ended = False

    def __aiter__(self) -> LiveBody:
        """The bursts, once."""
        return self

    async def __anext__(self) -> Burst:
        """The next burst, as the provider cut it; what it says is read when the one after it is asked for.

        Raises:
            BrokenOffError: when the provider ends before the body's end.
        """
        self._read_along()
        burst = await self._arriving.burst()
        if burst is None:
            self._ended = True
            raise StopAsyncIteration
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
