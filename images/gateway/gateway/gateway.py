"""What happens to a request between its arrival and its record? Admission, upstream, evidence, in that order."""

from __future__ import annotations

import json
import sys
import time
import traceback
from typing import TYPE_CHECKING, Protocol

from gateway.exchange import Answer, BrokenOffError, Exchange, Request, unanswered
from gateway.identifiers import identifier
from gateway.provider_errors import LIMIT_STATUS, RefusedError
from gateway.request_facts import facts_of
from gateway.wires import refusal_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.admission import Admission
    from gateway.evidence import Evidence


class Upstream(Protocol):
    """What stands behind the gateway: a provider, a cassette, or a policy that plays the model."""

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        """The answer to a request with a known token.

        `take_model_request` is called once before anything is spent, and refuses.

        Raises:
            RefusedError: when the gateway has to answer in the model's place.
            BrokenOffError: when the model's side ends before it answers.
        """


def say(event: str, **fields: object) -> None:
    """One JSON line is on standard output."""
    print(json.dumps({"event": event, **fields}), flush=True)


class Gateway:
    """One attempt's exchanges, from the first to the last."""

    def __init__(
        self,
        admission: Admission,
        upstream: Upstream,
        evidence: Evidence,
        seed: str,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """No exchange has arrived."""
        self.exchanges = 0
        self.now_ns = now_ns
        self._admission = admission
        self._upstream = upstream
        self._evidence = evidence
        self._seed = seed
        self._reserved: dict[int, int] = {}

    def arrive(self, request: Request) -> Exchange:
        """A new exchange, the next in the order of arrival."""
        self.exchanges += 1
        return Exchange(seq=self.exchanges, received_ns=self.now_ns(), request=request)

    async def answer(self, exchange: Exchange) -> Answer:
        """What goes back for the whole request; a refusal, or a fault of ours, is an answer too.

        Raises:
            BrokenOffError: when the model's side ends before it answers.
        """
        try:
            self._admission.note(exchange)
            self._admission.require_owner(exchange)
            self._require_room(exchange, 0)
            answer = await self._upstream.answer(exchange, self._admission.take_model_request)
            if answer.body_limit_bytes is not None:
                self._require_room(exchange, answer.body_limit_bytes)
        except RefusedError as error:
            return self.refuse(exchange, error)
        except BrokenOffError:
            raise
        except Exception:
            print(traceback.format_exc(), file=sys.stderr, flush=True)
            return self.refuse(exchange, RefusedError(500, "gateway_fault", "Pairbench's gateway failed."))
        return answer

    def _require_room(self, exchange: Exchange, response_limit_bytes: int) -> None:
        self._release(exchange)
        reserved_bytes = self._evidence.reserve(exchange.request, response_limit_bytes)
        if reserved_bytes is None:
            raise RefusedError(
                LIMIT_STATUS, "record_limit", "Pairbench refused this request: the limit of what it records is reached."
            )
        self._reserved[exchange.seq] = reserved_bytes

    def make_room(self, exchange: Exchange, more_bytes: int) -> None:
        """The exchange's body is kept with so many bytes more, or not at all from now on: its client gets it anyway.

        What was asked of a model is paid; only the next request is refused when the room is used up.
        """
        if not exchange.keeps_bodies:
            return
        reserved_bytes = self._evidence.extend(more_bytes)
        if reserved_bytes is None:
            exchange.keeps_bodies = False
        else:
            self._reserved[exchange.seq] = self._reserved.get(exchange.seq, 0) + reserved_bytes

    def look_ahead(self, exchange: Exchange) -> None:
        """What was sent of a long response is being looked at already."""
        self._evidence.look_ahead(exchange)

    def _release(self, exchange: Exchange) -> None:
        self._evidence.release(self._reserved.pop(exchange.seq, 0))

    def refuse(self, exchange: Exchange, error: RefusedError) -> Answer:
        """The refusal as an answer; its bodies are recorded as long as there is room."""
        self._admission.note(exchange)
        exchange.difference = error.difference
        request_id = identifier("req", self._seed, exchange.seq)
        answer = refusal_to(exchange.request, error, request_id, facts_of(exchange).model)
        self._release(exchange)
        if error.refused != "record_limit":
            reserved_bytes = self._evidence.reserve(exchange.request, answer.body_limit_bytes)
            if reserved_bytes is not None:
                self._reserved[exchange.seq] = reserved_bytes
        return answer

    def record(self, exchange: Exchange) -> None:
        """The exchange is in the evidence.

        Raises:
            EvidenceError: when it can't be written; nobody may then be told the answer's end.
        """
        exchange.recorded = True
        facts = facts_of(exchange)
        if exchange.observation is None:
            exchange.observation = unanswered(facts.model)
        self._evidence.record(exchange, self._reserved.pop(exchange.seq, None))
