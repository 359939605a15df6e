"""Whose request is it, and may it go to a model? Tokens, re-sends and the number of requests; no bodies, no sockets."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from gateway.provider_errors import LIMIT_STATUS, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.config import Token
    from gateway.exchange import Exchange, Owner, Request


# Later requests beyond so many different ones aren't recognized when they come again: a flood fills no memory.
REMEMBERED_REQUESTS = 65536


def offered_tokens(request: Request) -> list[bytes]:
    """What the request offers as its secret: `x-api-key`, then a bearer token."""
    offered = []
    key = request.header("x-api-key")
    if key is not None:
        offered.append(key.encode("latin-1"))
    scheme, _, value = (request.header("authorization") or "").partition(" ")
    if scheme.lower() == "bearer":
        offered.append(value.strip().encode("latin-1"))
    return offered


class Admission:
    """Keeps the count of model requests and the digests of bodies seen."""

    def __init__(self, tokens: Mapping[str, Token], request_limit: int) -> None:
        """Nothing has been admitted."""
        self._tokens = tokens
        self._request_limit = request_limit
        self._model_requests = 0
        self._sent: dict[bytes, tuple[int, int]] = {}

    def owner(self, request: Request) -> Owner:
        """Whose token the request carries; every comparison is made, and in constant time."""
        found: Owner = "unknown"
        for offered in offered_tokens(request):
            if hmac.compare_digest(offered, self._tokens["client"].value):
                found = "client"
            if hmac.compare_digest(offered, self._tokens["memory"].value):
                found = "memory"
        return found

    def note(self, exchange: Exchange) -> None:
        """The exchange knows its owner, and of which earlier exchange it is a re-send."""
        if exchange.noted:
            return
        exchange.noted = True
        exchange.owner = self.owner(exchange.request)
        request = exchange.request
        if not request.body:
            return
        key = hashlib.sha256(f"{request.method} {request.target} {exchange.request_sha256}".encode()).digest()
        if key not in self._sent:
            if len(self._sent) < REMEMBERED_REQUESTS:
                self._sent[key] = (exchange.seq, 0)
            return
        first, resends = self._sent[key]
        exchange.resend_of, exchange.resends = first, resends + 1
        self._sent[key] = (first, resends + 1)

    def require_owner(self, exchange: Exchange) -> None:
        """Returns when the request carried a known token.

        Raises:
            RefusedError: when it didn't.
        """
        if exchange.owner == "unknown":
            raise RefusedError(401, "unauthorized", "invalid x-api-key")

    def take_model_request(self) -> None:
        """One more request may go to a model.

        Raises:
            RefusedError: when the attempt has used up its number.
        """
        if self._model_requests >= self._request_limit:
            raise RefusedError(
                LIMIT_STATUS,
                "request_limit",
                f"Pairbench refused this request: the limit of {self._request_limit} model requests is reached.",
            )
        self._model_requests += 1
