"""In which order do results stand, and which of them count? Score, then id: so that no engine's order of ties shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MILLION = 1_000_000
_NUMBERS = (float, int)
# How many more than asked for are fetched at first: equal scores at the cut are rare, and cost another search.
_SPARE = 1


class Scored(NamedTuple):
    """A passage that was found."""

    id: int
    score_e6: int


class QueryError(Exception):
    """A query has no answer; the text is one sentence that says why, the same in every run."""


def scored(points: object) -> list[Scored]:
    """The results of an answer, with their scores in whole millionths.

    Raises:
        QueryError: one isn't a passage of ours, or its score is no number.
    """
    found: list[Scored] = []
    try:
        for point in points:  # type: ignore[attr-defined]  # whatever can't be gone through is a TypeError
            identity, score = point["id"], point["score"]
            if type(identity) is not int or type(score) not in _NUMBERS:
                raise QueryError(f"the sidecar returned {identity!r} with the score {score!r}, which is no passage")
            found.append(Scored(identity, round(score * MILLION)))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise QueryError(f"the sidecar returned something else than points: {type(error).__name__}") from error
    return found


def ordered(results: Sequence[Scored]) -> list[Scored]:
    """The best first; of equal scores, the lower id."""
    return sorted(results, key=lambda result: (-result.score_e6, result.id))


def best(depth: int, fetch: Callable[[int], Sequence[Scored]]) -> list[Scored]:
    """The first `depth` of all that there is, in order, from as few results as decide it.

    `fetch(limit)` gives the best `limit` results by the engine's own order of ties.
    """
    limit = depth + _SPARE
    while True:
        results = ordered(fetch(limit))
        # What wasn't fetched scores at most as much as the last that was: below the cut's score, it can't matter.
        if len(results) < limit or results[-1].score_e6 < results[depth - 1].score_e6:
            return results[:depth]
        limit *= 2


def above(results: Sequence[Scored], minimum_score_e6: int | None) -> list[Scored]:
    """Those that score enough."""
    return [result for result in results if minimum_score_e6 is None or result.score_e6 >= minimum_score_e6]
