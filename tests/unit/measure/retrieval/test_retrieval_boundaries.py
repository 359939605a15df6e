"""What a system may not return is found and counted by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core.passages import Passage
from runner.core.retrieval.queries import Query
from runner.core.retrieval.rankings import Ranking, SourceResult, SpanResult, UnmappedResult
from runner.core.sources import SourceIds
from runner.measure.retrieval.boundaries import violations
from runner.measure.retrieval.folding import Passages

if TYPE_CHECKING:
    from runner.core.retrieval.rankings import Result

PASSAGES = [
    Passage(1, "all.md", 0, 10, "", "x"),
    Passage(2, "mine.md", 0, 10, "", "x", workspace="mine"),
    Passage(3, "theirs.md", 0, 10, "", "x", workspace="theirs"),
    Passage(4, "mixed.md", 0, 10, "", "x", status="deleted"),
    Passage(5, "mixed.md", 10, 20, "", "x"),
    Passage(6, "old.md", 0, 10, "", "x", status="expired"),
    Passage(7, "timed.md", 0, 10, "", "x", known_from_s=100, expires_s=200),
    Passage(8, "worst.md", 0, 10, "", "x", workspace="theirs", status="deleted", known_from_s=100, expires_s=90),
]


def _violations(results: list[int] | list[Result], workspace: str = "mine", at_s: int | None = None) -> dict[str, int]:
    ids = tuple(result for result in results if isinstance(result, int))
    found = tuple(result for result in results if not isinstance(result, int))
    ranking = Ranking(
        trial="t", task="h", query="q", passages=ids, scores_e6=(1,) * len(ids), found=found, unmapped=0, error=""
    )
    passages = Passages.of(PASSAGES, SourceIds.of([passage.source for passage in PASSAGES]))
    broken = violations(Query(id="q", text="x", workspace=workspace, at_s=at_s), ranking, passages)
    return {str(kind): count for kind, count in broken.items()}


@pytest.mark.parametrize(
    ("number", "workspace", "at_s", "expected"),
    [
        (1, "mine", None, {}),
        (1, "", None, {}),
        (2, "mine", None, {}),
        (2, "", None, {"foreign_workspace": 1}),
        (3, "mine", None, {"foreign_workspace": 1}),
        (4, "mine", None, {"deleted": 1}),
        (5, "mine", None, {}),
        (6, "mine", None, {"expired": 1}),
        (7, "mine", None, {}),
        (7, "mine", 99, {"not_yet_known": 1}),
        (7, "mine", 100, {}),
        (7, "mine", 199, {}),
        (7, "mine", 200, {"expired": 1}),
        (8, "mine", 95, {"deleted": 1, "expired": 1, "foreign_workspace": 1, "not_yet_known": 1}),
        (99, "mine", 1, {}),
    ],
)
def test_a_passage(number: int, workspace: str, at_s: int | None, expected: dict[str, int]) -> None:
    """Known from the first instant, expired at the last; everyone's passages are everyone's."""
    assert _violations([number], workspace, at_s) == expected


def test_every_result_counts() -> None:
    """Two foreign passages are two violations, whatever source they fold to."""
    found = _violations([3, 8, 1], "mine", None)
    assert found == {"deleted": 1, "foreign_workspace": 2}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (SpanResult(source="mixed.md", start=5, end=12), {"deleted": 1}),
        (SpanResult(source="mixed.md", start=10, end=20), {}),
        (SpanResult(source="mixed.md", start=9, end=10), {"deleted": 1}),
        (SourceResult(source="mixed.md"), {}),
        (SourceResult(source="theirs.md"), {"foreign_workspace": 1}),
        (SourceResult(source="gone.md"), {}),
        (SpanResult(source="gone.md", start=0, end=9), {}),
        (UnmappedResult(said="theirs.md, I think"), {}),
    ],
)
def test_what_servers_return(result: Result, expected: dict[str, int]) -> None:
    """Bytes are held to each passage that they touch, a source alone to what all of its passages break."""
    assert _violations([result]) == expected
