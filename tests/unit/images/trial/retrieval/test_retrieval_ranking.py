"""The tie rule decides the order and the cut, whatever order an engine has for equal scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from retrieval.ranking import QueryError, Scored, above, best, ordered, scored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _engine(results: Sequence[Scored], asked: list[int], seed: int = 0) -> Callable[[int], Sequence[Scored]]:
    """An engine that orders by score, and equal scores in an order of its own."""
    shuffled = sorted(results, key=lambda result: (-result.score_e6, (result.id + seed) * 7919 % 101))

    def fetch(limit: int) -> Sequence[Scored]:
        asked.append(limit)
        return shuffled[:limit]

    return fetch


def test_scores_are_rounded_to_millionths() -> None:
    """Halves go to the even neighbour, negative scores likewise."""
    points = [{"id": 7, "score": 0.1234565}, {"id": 8, "score": -0.5, "version": 3}, {"id": 0, "score": 3}]
    assert scored(points) == [(7, 123456), (8, -500000), (0, 3_000_000)]
    assert scored([]) == []


@pytest.mark.parametrize(
    "points",
    [
        [{"id": "a-b", "score": 1.0}],
        [{"id": True, "score": 1.0}],
        [{"id": 1, "score": None}],
        [{"id": 1, "score": True}],
        [{"id": 1, "score": float("nan")}],
        [{"id": 1, "score": float("inf")}],
        [{"id": 1}],
        [[1, 2]],
        ["x"],
        5,
        None,
    ],
)
def test_what_is_no_result_is_refused(points: object) -> None:
    """An id that no passage has, a score that is no number, or another answer altogether, is the query's error."""
    with pytest.raises(QueryError):
        scored(points)


def test_equal_scores_stand_by_id() -> None:
    """The best first; of equal ones the lower id."""
    assert ordered([Scored(9, 5), Scored(2, 7), Scored(3, 5)]) == [(2, 7), (3, 5), (9, 5)]


def test_one_search_is_enough_where_the_cut_is_clear() -> None:
    """One more than asked for is fetched, and nothing else."""
    asked: list[int] = []
    results = [Scored(number, 1000 - number) for number in range(100)]
    assert best(10, _engine(results, asked)) == results[:10]
    assert asked == [11]


@pytest.mark.parametrize("seed", range(5))
def test_more_is_fetched_until_ties_cannot_cross_the_cut(seed: int) -> None:
    """Fifty passages of one score straddle the cut: the lowest ids are in, whichever the engine fetched first."""
    asked: list[int] = []
    results = [Scored(number, 9) for number in range(5)] + [Scored(number, 5) for number in range(100, 150)]
    results += [Scored(number, 1) for number in range(200, 300)]
    assert best(10, _engine(results, asked, seed)) == [*results[:5], *(Scored(number, 5) for number in range(100, 105))]
    assert asked == [11, 22, 44, 88]


def test_few_results_are_all_there_is() -> None:
    """An engine that has less than was asked for is not asked again."""
    asked: list[int] = []
    assert best(10, _engine([Scored(2, 5), Scored(1, 5)], asked)) == [(1, 5), (2, 5)]
    assert best(10, _engine([], asked)) == []
    assert asked == [11, 11]


def test_a_minimum_drops_what_scores_less() -> None:
    """The minimum itself is enough; without one everything stays."""
    results = [Scored(1, 500), Scored(2, 400), Scored(3, 399)]
    assert above(results, 400) == results[:2]
    assert above(results, 501) == []
    assert above(results, None) == results
