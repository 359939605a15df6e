"""Which sources does a foreign answer name? A declared regular expression reads them out of its text."""

from __future__ import annotations

import math
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from retrieval.ranking import MILLION, QueryError

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

ANSWER_CHARACTERS = 4_000_000
SECONDS = 2.0
SOURCE_CHARACTERS = 4096
_MESSAGE_CHARACTERS = 200
# The largest whole number that every reader of JSON reads exactly (RFC 8785, 3.2.2.3).
_LARGEST_NUMBER = 2**53 - 1


def results_of(
    text: str, pattern: re.Pattern[str], empty: re.Pattern[str] | None, depth: int, seconds: float = SECONDS
) -> tuple[list[dict[str, object]], int]:
    """The first `depth` results of an answer in its order, and how many of them can't be mapped.

    One that names no source can't be; it keeps its rank.

    Raises:
        QueryError: the answer is too long, takes too long, or holds no result where it should.
    """
    if len(text) > ANSWER_CHARACTERS:
        raise QueryError(f"the answer is longer than {ANSWER_CHARACTERS} characters")
    with _at_most(seconds):
        found = [_result(match) for match, _ in zip(pattern.finditer(text), range(depth), strict=False)]
        if not found and empty is not None and empty.search(text) is None:
            raise QueryError("the answer holds no result, and doesn't say that there is none")
    return found, sum("source" not in result for result in found)


def error_of(text: str) -> str:
    """Why a query failed whose answer is an error with this text."""
    said = " ".join(text.split())[:_MESSAGE_CHARACTERS]
    return f"the tool answered an error: {said}" if said else "the tool answered an error without a text"


def _result(match: re.Match[str]) -> dict[str, object]:
    groups = match.groupdict()
    found: dict[str, object] = {}
    identity, source = _number(groups.get("id")), (groups.get("source") or "").strip()
    if identity is not None:
        found["id"] = identity
    if source and len(source) <= SOURCE_CHARACTERS:
        found["source"] = source
    for name in ("start", "end"):
        place = _number(groups.get(name))
        if place is not None:
            found[name] = place
    score = groups.get("score")
    if score is not None:
        # Null: the server says one, and it is no number.
        found["score_e6"] = _score_e6(score)
    return found


def _number(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > len(str(_LARGEST_NUMBER)):
        return None
    number = int(text)
    return number if number <= _LARGEST_NUMBER else None


def _score_e6(text: str) -> int | None:
    try:
        score = float(text) * MILLION
    except ValueError:
        return None
    return round(score) if math.isfinite(score) and abs(score) <= _LARGEST_NUMBER else None


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """What runs in it is ended after so many seconds: Python's matcher looks for signals while it tries.

    Raises:
        QueryError: it was ended.
    """

    def end(_signal: int, _frame: Any) -> None:
        raise QueryError(f"the mapping took longer than {seconds:g} s on the answer")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
