"""What did an answer look like on its way? Notes pieces and times for a cassette, beside any upstream."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.canonical_request import canonical_request
from gateway.exchange import BrokenOffError, Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.canonical_request import Mask
    from gateway.exchange import Answer, Burst, Exchange, Pieces
    from gateway.gateway import Upstream


class RecordingUpstream:
    """Another upstream, whose answers can be given again from what is written down."""

    def __init__(self, inner: Upstream, masks: tuple[Mask, ...]) -> None:
        """Nothing was noted."""
        self._inner = inner
        self._masks = masks

    async def answer(self, exchange: Exchange, take_model_request: Callable[[], None]) -> Answer:
        """The inner upstream's answer.

        Raises:
            RefusedError: as the inner upstream does; a refusal isn't recorded.
            BrokenOffError: as the inner upstream does; that is recorded.
        """
        began = time.monotonic_ns()
        canonical = canonical_request(exchange.request, self._masks, exchange.owner)
        recording = exchange.recording = Recording(canonical.key, canonical.parts)
        try:
            answer = await self._inner.answer(exchange, take_model_request)
        except BrokenOffError as error:
            recording.ended = "reset" if error.reset else "closed"
            raise
        recording.status, recording.headers = answer.status, answer.headers
        recording.length_bytes, recording.head_us = answer.length_bytes, _us_since(began)
        if isinstance(answer.body, bytes):
            recording.length_bytes = len(answer.body)
            recording.piece_bytes, recording.piece_us = [len(answer.body)], [recording.head_us]
            recording.ended = "whole"
            return answer
        return replace(answer, body=NotedPieces(answer.body, recording, began))


class NotedPieces:
    """The same pieces, noted as they pass."""

    def __init__(self, inner: Pieces, recording: Recording, began_ns: int) -> None:
        """Nothing passed."""
        self._inner = inner
        self._recording = recording
        self._began_ns = began_ns
        self._goes_on = False

    def __aiter__(self) -> NotedPieces:
        """The bursts, once."""
        return self

    async def __anext__(self) -> Burst:
        """The next burst.

        Raises:
            BrokenOffError: when the model's side ends before its end.
        """
        try:
            burst = await self._inner.__anext__()
        except StopAsyncIteration:
            self._recording.ended = "whole"
            raise
        except BrokenOffError as error:
            self._recording.ended = "reset" if error.reset else "closed"
            raise
        sizes = burst.sizes
        if self._goes_on and sizes:
            self._recording.piece_bytes[-1] += sizes[0]
            sizes = sizes[1:]
        self._recording.piece_bytes += sizes
        self._recording.piece_us += [_us_since(self._began_ns)] * len(sizes)
        self._goes_on = burst.is_open
        return burst

    async def aclose(self) -> None:
        """Nobody goes on for this body."""
        await self._inner.aclose()


def _us_since(began_ns: int) -> int:
    return (time.monotonic_ns() - began_ns) // 1000
