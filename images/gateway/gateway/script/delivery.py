"""How does an answer reach the client? Piece by piece, at a pace, as far as it goes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from gateway.exchange import Answer, BrokenOffError, Burst, Observation, UsageUnavailable, burst_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from gateway.exchange import Usage
    from gateway.script.rules import Interruption, Respond

# Asks that what was given so far leaves at once: the headers too, which otherwise wait for the first piece.
NOTHING = burst_of(b"")
# Of an answer that broke off the evidence says the same here as where a provider's is read.
NO_USAGE = UsageUnavailable("cut before any usage")


@dataclass
class Progress:
    """How far an answer came; `broken_off` is set where it stops short of its end by the script's will."""

    pieces: int = 0
    broken_off: bool = False


@dataclass(frozen=True)
class Planned:
    """An answer that is decided, before any of it was sent; `observe` is told how far it came."""

    status: int | None
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[bytes, ...]
    limit_bytes: int
    streamed: bool
    respond: Respond
    observe: Callable[[Progress], Observation]
    error_event: bytes = b""

    def answer(self) -> Answer:
        """The answer, of which nothing was sent yet."""
        progress = Progress()
        hurried = not self.respond.first_event_ms and self.respond.interruption is None
        plain = hurried and self.status is not None and not self.streamed
        return Answer(
            status=self.status,
            headers=self.headers,
            body=self.pieces[0] if plain else paced(self.pieces, self.respond, progress, self.error_event),
            body_limit_bytes=self.limit_bytes + len(self.error_event),
            observe=lambda: self.observe(progress),
            length_bytes=None if self.streamed else sum(map(len, self.pieces)),
        )


def as_far_as(
    progress: Progress, whole: Observation, *, final: int, at_first: Usage | UsageUnavailable = NO_USAGE
) -> Observation:
    """What an answer says of itself as far as it came: `at_first` with its first piece, all with number `final`."""
    if not progress.broken_off:
        return whole
    if progress.pieces >= final:
        return replace(whole, broken_off=True)
    usage = at_first if progress.pieces else NO_USAGE
    return Observation(
        model_asked=whole.model_asked,
        model_resolved=whole.model_resolved if progress.pieces else None,
        stop_reason=None,
        streamed=whole.streamed,
        usage=whole.usage if isinstance(whole.usage, UsageUnavailable) else usage,
        broken_off=True,
    )


async def before_headers(respond: Respond) -> None:
    """The headers may go out.

    Raises:
        BrokenOffError: when they never do.
    """
    await asyncio.sleep(respond.headers_ms / 1000)
    interruption = respond.interruption
    if interruption and interruption.place.before_headers:
        await _break_off(interruption)


async def paced(
    pieces: Sequence[bytes], respond: Respond, progress: Progress, error_event: bytes
) -> AsyncGenerator[Burst, None]:
    """The pieces with their delays, up to the interruption; a piece is a whole event, or the whole body.

    Raises:
        BrokenOffError: where the script cuts.
    """
    interruption = respond.interruption
    whole, rest = _kept(pieces, interruption) if interruption else (len(pieces), b"")
    if respond.first_event_ms:
        yield NOTHING
    for number, piece in enumerate([*pieces[:whole], rest] if rest else pieces[:whole]):
        await asyncio.sleep((respond.between_events_ms if number else respond.first_event_ms) / 1000)
        yield burst_of(piece)
        # Whoever asks for more has sent this piece.
        progress.pieces = min(number + 1, whole)
    if interruption is None:
        return
    progress.broken_off = True
    if interruption.kind == "error":
        yield burst_of(error_event)
    elif interruption.kind != "end":
        yield NOTHING
        await _break_off(interruption)


def _kept(pieces: Sequence[bytes], interruption: Interruption) -> tuple[int, bytes]:
    """How many pieces are sent whole, and what is sent of the next one."""
    if interruption.place.events is not None:
        return min(interruption.place.events, len(pieces)), b""
    left_bytes = interruption.place.bytes or 0
    for number, piece in enumerate(pieces):
        if left_bytes < len(piece):
            return number, piece[:left_bytes]
        left_bytes -= len(piece)
    return len(pieces), b""


async def _break_off(interruption: Interruption) -> NoReturn:
    if interruption.kind == "stall":
        # Nothing ever comes of it: the client goes away, or the gateway ends.
        await asyncio.get_running_loop().create_future()
    raise BrokenOffError(reset=interruption.kind == "reset")
