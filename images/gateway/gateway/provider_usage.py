"""What does a provider's usage object say in our classes? Two APIs' objects; no bytes, no streams.

A class that the provider leaves out is unavailable, never zero. Of a cache write whose ttl it doesn't tell, the request
decides: a write is one for five minutes unless an hour was asked for.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from gateway.exchange import Tokens, Usage, UsageUnavailable

CLASSES = tuple(field.name for field in dataclasses.fields(Usage))
# What else a price can depend on.
DETAILS = ("service_tier", "inference_geo", "speed")


def count_of(value: object) -> int | None:
    """The number of tokens that `value` is, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else None


def messages_usage(usage: dict[str, Any], *, asks_for_an_hour: bool, ended: bool) -> Usage:
    """A usage of the Messages API; of an answer that didn't `ended`, the last word on its output is missing."""
    if _has_more_iterations(usage):
        return Usage(*[UsageUnavailable("the answer has iterations that its usage doesn't hold")] * len(CLASSES))
    write_5m, write_1h = _writes(usage, asks_for_an_hour=asks_for_an_hour)
    return Usage(
        input_tokens=_class(usage, "input_tokens"),
        output_tokens=_class(usage, "output_tokens") if ended else UsageUnavailable("cut before the final usage"),
        cache_read_input_tokens=_class(usage, "cache_read_input_tokens"),
        cache_write_5m_input_tokens=write_5m,
        cache_write_1h_input_tokens=write_1h,
    )


def _has_more_iterations(usage: dict[str, Any]) -> bool:
    """Whether the model was called more often than the usage says: to sum up a context, or for advice."""
    iterations = usage.get("iterations")
    if not isinstance(iterations, list):
        return False
    # Numbers in other places or of another model: only what adds up to the usage itself is nothing more.
    return any(
        sum((count_of(item.get(name)) or 0) if isinstance(item, dict) else 1 for item in iterations)
        > (count_of(usage.get(name)) or 0)
        for name in ("input_tokens", "output_tokens")
    )


def _class(usage: dict[str, Any], name: str) -> Tokens:
    count = count_of(usage.get(name))
    return UsageUnavailable(f"the answer has no {name}") if count is None else count


def _writes(usage: dict[str, Any], *, asks_for_an_hour: bool) -> tuple[Tokens, Tokens]:
    whole = count_of(usage.get("cache_creation_input_tokens"))
    split = usage.get("cache_creation")
    if isinstance(split, dict):
        write_5m = count_of(split.get("ephemeral_5m_input_tokens"))
        write_1h = count_of(split.get("ephemeral_1h_input_tokens"))
        if write_5m is not None and write_1h is not None and whole in {None, write_5m + write_1h}:
            return write_5m, write_1h
        reason = UsageUnavailable("the answer's cache writes don't add up")
        return reason, reason
    if whole is None:
        reason = UsageUnavailable("the answer has no cache_creation_input_tokens")
        return reason, reason
    if whole == 0 or not asks_for_an_hour:
        return whole, 0
    reason = UsageUnavailable("the answer doesn't split its cache writes by ttl")
    return reason, reason


def responses_usage(usage: dict[str, Any]) -> Usage:
    """A usage of the Responses API, whose input holds the cached tokens; it knows one kind of writes."""
    whole, output = count_of(usage.get("input_tokens")), _class(usage, "output_tokens")
    details = usage.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    read, written = count_of(details.get("cached_tokens")), count_of(details.get("cache_write_tokens")) or 0
    if whole is None or read is None:
        reason = UsageUnavailable("the answer doesn't tell its cached input from the rest")
        return Usage(reason, output, reason, reason, 0)
    if read + written > whole:
        reason = UsageUnavailable("the answer's cached input is more than its input")
        return Usage(reason, output, reason, reason, 0)
    return Usage(whole - read - written, output, read, written, 0)


def details_of(usage: dict[str, Any]) -> dict[str, object] | None:
    """What else of the usage bears on the price, or None when there is nothing."""
    found: dict[str, object] = {name: usage[name] for name in DETAILS if isinstance(usage.get(name), str)}
    requests = usage.get("server_tool_use")
    if isinstance(requests, dict):
        counts = {name: count for name, value in sorted(requests.items()) if (count := count_of(value))}
        if counts:
            found["server_tools"] = counts
    output = usage.get("output_tokens_details")
    if isinstance(output, dict):
        for name in ("thinking_tokens", "reasoning_tokens"):
            if (count := count_of(output.get(name))) is not None:
                found["thinking_tokens"] = count
    return found or None
