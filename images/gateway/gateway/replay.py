"""Who answers without a model? A cassette: the same request gets the same bytes in the same pieces."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from gateway.canonical_request import canonical_request
from gateway.exchange import Answer, BrokenOffError, burst_of
from gateway.provider_errors import LIMIT_STATUS, RefusedError
from gateway.wires import MODEL_PATHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.canonical_request import Mask
    from gateway.cassette import Cassette, Entry
    from gateway.exchange import Burst, Exchange, Observation


class ReplayUpstream:
    """Plays a cassette; a request that it doesn't hold is refused, and what differs is said."""

    def __init__(self, cassette: Cassette, masks: tuple[Mask, ...], *, timed: bool) -> None:
        """Nothing was played; `timed` keeps the recorded pauses."""
        self._cassette = cassette
        self._masks = masks
        self._timed = timed

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        """The recorded answer.

        Raises:
            RefusedError: when nothing was recorded for the request, or it is one too many.
            BrokenOffError: when what was recorded broke off before its head.
        """
        began = time.monotonic()
        request = exchange.request
        canonical = canonical_request(request, self._masks, exchange.owner)
        if request.method == "POST" and request.path in MODEL_PATHS:
            take_model_request()
        entry = self._cassette.take(canonical)
        if entry is None:
            difference = self._cassette.difference(canonical)
            raise RefusedError(
                LIMIT_STATUS,
                "not_recorded",
                f"Pairbench's cassette doesn't hold this request; what differs: {', '.join(difference)}.",
                difference,
            )
        if self._timed:
            await _until(began, entry.head_us)
        if not entry.pieces and not entry.headers:
            exchange.observation = entry.seen
            await _end(entry)
        body = Played(entry, began if self._timed else None)
        return Answer(
            status=entry.status,
            headers=entry.headers,
            body=body,
            body_limit_bytes=3 * sum(len(piece) for _, piece in entry.pieces),
            observe=body.observation,
            length_bytes=entry.length_bytes,
        )


class Played:
    """A recorded body, played once."""

    def __init__(self, entry: Entry, began: float | None) -> None:
        """Nothing was played; without a beginning there are no pauses."""
        self._entry = entry
        self._began = began
        self._next = 0

    def __aiter__(self) -> Played:
        """The bursts, once."""
        return self

    async def __anext__(self) -> Burst:
        """The next piece.

        Raises:
            BrokenOffError: where the recorded answer broke off.
        """
        if self._next == len(self._entry.pieces):
            await _end(self._entry)
            raise StopAsyncIteration
        us, piece = self._entry.pieces[self._next]
        self._next += 1
        # Without pauses, whoever else waits has its turn between two pieces.
        await (asyncio.sleep(0) if self._began is None else _until(self._began, us))
        return burst_of(piece)

    async def aclose(self) -> None:
        """Nothing more is played."""
        self._next = len(self._entry.pieces)

    def observation(self) -> Observation:
        """What was seen of the answer when it was recorded: it was paid then, however much of it is read now."""
        return self._entry.seen


async def _end(entry: Entry) -> None:
    """Returns where the recorded answer was whole.

    Raises:
        BrokenOffError: where the model's side ended it.
    """
    if entry.ended in {"closed", "reset"}:
        raise BrokenOffError(reset=entry.ended == "reset")
    if entry.ended == "client_gone":
        # The client went away while it waited: it is left waiting again.
        await asyncio.Event().wait()


async def _until(began: float, us: int) -> None:
    await asyncio.sleep(max(0.0, began + us / 1_000_000 - time.monotonic()))
