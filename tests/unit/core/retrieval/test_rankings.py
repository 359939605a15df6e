"""Rankings and latencies as documents."""

from __future__ import annotations

import pytest

from runner.core.errors import EvidenceError
from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.rankings import Latency, Ranking, SourceResult, SpanResult, UnmappedResult


def _ours(passages: tuple[int, ...], scores_e6: tuple[int, ...]) -> Ranking:
    return Ranking(trial="t", task="h", query="q", passages=passages, scores_e6=scores_e6, unmapped=0, error="")


def test_passages_stand_in_columns() -> None:
    """The bytes of a ranking of ours; they come back as they were."""
    ranking = _ours((7, 3), (900_000, -5))
    assert ranking.to_bytes() == (
        b'{"error":"","format":"pairbench/ranking","found":[],"passages":[7,3],"query":"q","scores_e6":[900000,-5],'
        b'"task":"h","trial":"t","unmapped":0,"version":1}\n'
    )
    assert Ranking.from_bytes(ranking.to_bytes(), "r") == ranking
    assert ranking.results == 2


def test_results_of_servers_come_back() -> None:
    """Each kind is known by its keys, and a missing score says why it is missing."""
    found = (
        SpanResult(source="a.md", start=0, end=9, score_e6=Measured(5)),
        SourceResult(source="a.md"),
        UnmappedResult(said="?"),
    )
    ranking = Ranking(trial="t", task="h", query="q", found=found, unmapped=1, error="")
    again = Ranking.from_bytes(ranking.to_bytes(), "r")
    assert again == ranking
    assert [type(result) for result in again.found] == [SpanResult, SourceResult, UnmappedResult]
    assert again.found[1].score_e6 == Unavailable("the server gives no score")


@pytest.mark.parametrize(
    ("passages", "scores", "is_in_order"),
    [
        ((), (), True),
        ((3, 7), (5, 5), True),
        ((7, 3), (5, 5), False),
        ((7, 3), (6, 5), True),
        ((3, 7), (5, 6), False),
        ((3, 3), (5, 4), False),
    ],
)
def test_the_declared_order(passages: tuple[int, ...], scores: tuple[int, ...], is_in_order: bool) -> None:  # noqa: FBT001
    """Score, descending, then id, ascending; no passage twice."""
    assert _ours(passages, scores).is_in_order is is_in_order


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b'"scores_e6":[5]', b'"scores_e6":[]'), "passages and scores_e6 must be equally many"),
        ((b'"found":[]', b'"found":[{"source":"a"}]'), "passages and found can't both be given"),
        ((b"[5]", b"[0.5]"), "must be a valid integer"),
    ],
)
def test_rankings_that_are_refused(change: tuple[bytes, bytes], message: str) -> None:
    """What can't be a ranking isn't read as one."""
    data = _ours((7,), (5,)).to_bytes()
    assert change[0] in data
    with pytest.raises(EvidenceError, match=message):
        Ranking.from_bytes(data.replace(*change), "r")


def test_latencies() -> None:
    """Microseconds, or why there are none."""
    latency = Latency(
        trial="t",
        task="h",
        query="q",
        embed_us=Unavailable("the server embeds for itself"),
        search_us=Measured(900),
        decode_us=Measured(10),
        total_us=Measured(910),
    )
    assert Latency.from_bytes(latency.to_bytes(), "l") == latency
