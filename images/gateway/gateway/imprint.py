"""What does a response leave in the evidence? Made of it while it is on its way, beside whoever sends it.

A short response is looked at when it is to be recorded. Of a long one each stretch is looked at on a thread of its own,
which holds up nobody: digests and packing take neither the interpreter's lock nor, so, the next bytes' time.
"""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.answer_texts import texts_reader
from gateway.bodies_frame import BodiesFrame, compressor

if TYPE_CHECKING:
    from concurrent.futures import Future

    from gateway.answer_texts import AnswerTexts
    from gateway.exchange import Exchange

# So much of a response is held before anybody looks at it, and so much is waited for at most.
STRETCH_BYTES = 262144
MOST_WAITING = 16


@dataclass
class Imprint:
    """What became of a response up to some byte."""

    texts: AnswerTexts | None
    frame: BodiesFrame | None
    """None where bodies aren't kept."""
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def add(self, data: bytes) -> None:
        """`data` is the next part of the response."""
        self.digest.update(data)
        if self.texts is not None:
            self.texts.feed(data)
        if self.frame is not None:
            self.frame.add(data)


class Imprints:
    """Of all exchanges that are under way."""

    def __init__(self) -> None:
        """There are none, and no thread."""
        self._packer = compressor()
        self._beside: ThreadPoolExecutor | None = None
        self._long: dict[int, Imprint] = {}
        self._waiting: dict[int, deque[Future[None]]] = {}

    def look_ahead(self, exchange: Exchange, *, keep: bool) -> None:
        """What the exchange holds is being looked at, if that is a stretch; returns when not too much of it waits."""
        if exchange.held_bytes < STRETCH_BYTES:
            return
        if self._beside is None:
            self._beside = ThreadPoolExecutor(1, "imprint")
        waiting = self._waiting.setdefault(exchange.seq, deque())
        waiting.append(self._beside.submit(self._look, exchange, exchange.hand_over(), keep=keep))
        while len(waiting) > MOST_WAITING or (waiting and waiting[0].done()):
            waiting.popleft().result()

    def _look(self, exchange: Exchange, held: list[bytes], *, keep: bool) -> None:
        imprint = self._long.get(exchange.seq)
        if imprint is None:
            frame = BodiesFrame(exchange.seq, exchange.request.body, compressor()) if keep else None
            imprint = self._long[exchange.seq] = Imprint(_texts(exchange), frame)
        elif not keep:
            imprint.frame = None
        for piece in held:
            imprint.add(piece)

    def of(self, exchange: Exchange, *, keep: bool) -> Imprint:
        """The imprint of all that was sent; `keep`: with the line of bodies."""
        for looked in self._waiting.pop(exchange.seq, ()):
            looked.result()
        imprint = self._long.pop(exchange.seq, None)
        if imprint is None:
            frame = BodiesFrame(exchange.seq, exchange.request.body, self._packer) if keep else None
            imprint = Imprint(_texts(exchange), frame)
        elif not keep:
            imprint.frame = None
        for piece in exchange.hand_over():
            imprint.add(piece)
        return imprint

    def close(self) -> None:
        """The thread has ended."""
        if self._beside is not None:
            self._beside.shutdown()


def _texts(exchange: Exchange) -> AnswerTexts | None:
    return texts_reader(exchange.request, exchange.response_coding) if exchange.refused is None else None
