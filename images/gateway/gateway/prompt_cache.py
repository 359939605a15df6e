"""Which part of a prompt was cached, and what is written now? The provider's prompt cache on a logical clock.

Prefixes written by earlier requests of this gateway are read, as far as they reach; what lies between them and the last
breakpoint is written; what follows is plain input. Nothing here looks at a clock on the wall.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.messages_request import bad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.usage import Segment, Ttl

# The provider's documented limits: shorter prefixes aren't cached (Sonnet 4.5), a request has at most four breakpoints,
# and before each of them at most twenty blocks are searched for a prefix written earlier.
MINIMUM_PREFIX_TOKENS = 1024
MAXIMUM_BREAKPOINTS = 4
LOOKBACK_SEGMENTS = 20
TTL_SECONDS = {"5m": 300, "1h": 3600}
# Every model request moves the logical clock by this much.
SECONDS_PER_EXCHANGE = 5


@dataclass(frozen=True)
class InputTokens:
    """A request's tokens by how they are billed; together they are all of them."""

    input_tokens: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int


@dataclass(frozen=True)
class _Kept:
    expiry_seconds: int
    lifetime_seconds: int


class PromptCache:
    """Remembers prefixes by digest, each with the logical second at which it expires."""

    def __init__(self) -> None:
        """Nothing is cached; the clock stands at 0."""
        self._now_seconds = 0
        self._kept: dict[bytes, _Kept] = {}

    def charge(self, model: str, segments: Sequence[Segment]) -> InputTokens:
        """The tokens of a request by class; the cache then holds what the request wrote, and the clock has moved."""
        self._now_seconds += SECONDS_PER_EXCHANGE
        prefixes, totals = _prefixes(model, segments)
        points = [
            (index + 1, segment.ttl)
            for index, segment in enumerate(segments)
            if segment.ttl and totals[index + 1] >= MINIMUM_PREFIX_TOKENS
        ]
        read_to = self._longest_known(prefixes, [end for end, _ in points])
        last = points[-1][0] if points else 0
        hour_to = max([end for end, ttl in points if ttl == "1h" and end > read_to], default=read_to)
        self._keep(prefixes, points, read_to)
        return InputTokens(
            input_tokens=totals[-1] - totals[last],
            cache_read=totals[read_to],
            cache_write_5m=totals[last] - totals[hour_to],
            cache_write_1h=totals[hour_to] - totals[read_to],
        )

    def _longest_known(self, prefixes: Sequence[bytes], ends: Sequence[int]) -> int:
        for end in range(ends[-1] if ends else 0, 0, -1):
            within_reach = any(point - LOOKBACK_SEGMENTS <= end <= point for point in ends)
            if within_reach and self._is_alive(prefixes[end]):
                return end
        return 0

    def _is_alive(self, prefix: bytes) -> bool:
        return prefix in self._kept and self._kept[prefix].expiry_seconds > self._now_seconds

    def _keep(self, prefixes: Sequence[bytes], points: Sequence[tuple[int, Ttl]], read_to: int) -> None:
        for end, ttl in points:
            lifetime_seconds = TTL_SECONDS[ttl]
            if self._is_alive(prefixes[end]):
                lifetime_seconds = max(lifetime_seconds, self._kept[prefixes[end]].lifetime_seconds)
            self._kept[prefixes[end]] = _Kept(self._now_seconds + lifetime_seconds, lifetime_seconds)
        if read_to:
            lifetime_seconds = self._kept[prefixes[read_to]].lifetime_seconds
            self._kept[prefixes[read_to]] = _Kept(self._now_seconds + lifetime_seconds, lifetime_seconds)


def check_breakpoints(segments: Sequence[Segment]) -> None:
    """Returns when the provider would take these breakpoints.

    Raises:
        RefusedError: when there are too many, or a shorter life comes before a longer one.
    """
    ttls = [segment.ttl for segment in segments if segment.ttl]
    if len(ttls) > MAXIMUM_BREAKPOINTS:
        bad(f"A maximum of {MAXIMUM_BREAKPOINTS} blocks with cache_control may be provided. Found {len(ttls)}.")
    if ttls != sorted(ttls):
        bad("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")


def _prefixes(model: str, segments: Sequence[Segment]) -> tuple[list[bytes], list[int]]:
    running = hashlib.sha256(model.encode())
    prefixes, totals = [running.digest()], [0]
    for segment in segments:
        running.update(hashlib.sha256(segment.canonical).digest())
        prefixes.append(running.digest())
        totals.append(totals[-1] + segment.tokens)
    return prefixes, totals
