"""Passages fold into sources, each once, at its best passage."""

from __future__ import annotations

import pytest

from runner.core.passages import Passage
from runner.core.retrieval.rankings import Ranking, SourceResult, SpanResult, UnmappedResult
from runner.core.sources import SourceIds
from runner.measure.retrieval.folding import Folded, Passages, fold, overlap


def _passages() -> Passages:
    """Two passages of a.md, one of b.md, one of "c d.md", one of a document of a collection."""
    listed = [
        Passage(1, "a.md", 0, 10, "a", "x" * 10),
        Passage(2, "a.md", 10, 20, "a", "x" * 10),
        Passage(3, "b.md", 0, 10, "b", "x" * 10),
        Passage(4, "c d.md", 0, 10, "c", "x" * 10),
        Passage(5, "docs/MED-7.txt", 0, 10, "d", "x" * 10),
    ]
    return Passages.of(listed, SourceIds.of([passage.source for passage in listed], ["docs"]))


def _ours(*ids: int) -> Ranking:
    scores = tuple(900_000 - 1_000 * rank for rank in range(len(ids)))
    return Ranking(trial="t", task="h", query="q", passages=ids, scores_e6=scores, unmapped=0, error="")


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ((3, 1, 4, 2), ("b.md", "a.md", "c%20d.md")),
        ((1, 2, 3), ("a.md", "b.md")),
        ((2, 1), ("a.md",)),
        ((5, 3), ("MED-7", "b.md")),
        ((), ()),
    ],
)
def test_duplicate_passages_count_once(ids: tuple[int, ...], expected: tuple[str, ...]) -> None:
    """The worked example: a source stands where its best passage stood, and later passages of it change nothing."""
    assert fold(_ours(*ids), _passages()) == Folded(expected, 0)


def test_unknown_passages_keep_their_ranks() -> None:
    """A passage that isn't of the corpus is a source of its own: what follows it doesn't move up, nor does it fold."""
    found = fold(_ours(3, 99, 1, 99, 2), _passages())
    assert found == Folded(("b.md", "%unmapped-2", "a.md", "%unmapped-4"), 2)


def test_results_of_servers() -> None:
    """A server may name a path, bytes of it, or what TREC files call it; what leads nowhere keeps its rank."""
    results = (
        SourceResult(source="c d.md"),
        UnmappedResult(said="something"),
        SpanResult(source="a.md", start=12, end=15),
        SourceResult(source="MED-7"),
        SourceResult(source="docs/MED-7.txt"),
        SourceResult(source="gone.md"),
        SpanResult(source="a.md", start=0, end=3),
    )
    found = fold(Ranking(trial="t", task="h", query="q", found=results, unmapped=1, error=""), _passages())
    assert found == Folded(("c%20d.md", "%unmapped-2", "a.md", "MED-7", "%unmapped-6"), 2)


@pytest.mark.parametrize(
    ("found", "exact", "k", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], 3, (3, 3)),
        ([1, 3, 2], [1, 2, 3], 2, (1, 2)),
        ([], [1, 2], 2, (0, 2)),
        ([1, 2], [1], 5, (1, 1)),
        ([1], [], 5, (0, 0)),
    ],
)
def test_overlap_with_exact_search(found: list[int], exact: list[int], k: int, expected: tuple[int, int]) -> None:
    """Of the first k of the exact search, as many as there are, those among the first k found."""
    assert overlap(found, exact, k) == expected
