"""When is a passage known, and until when is it valid? Instants as people write them, in seconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_FORM: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}([Zz]|[+-][0-9]{2}:[0-9]{2})")


def seconds_of(text: str) -> int:
    """The seconds from 1970-01-01T00:00:00Z to the instant `text`, an RFC 3339 date-time of whole seconds.

    Raises:
        ValueError: it isn't one.
    """
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r} is not an instant like 2025-01-09T00:00:00Z")
    try:
        found = datetime.fromisoformat(text.upper())
        return int((found - _EPOCH).total_seconds())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not an instant: {error}") from error


def instant_of(seconds: int) -> str:
    """The instant `seconds` after 1970-01-01T00:00:00Z, as `seconds_of` reads it."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
