"""Rankings are scored one by one, and summed over every query, failures and silences included."""

from __future__ import annotations

from runner.core.passages import Passage
from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.queries import Judgement, Query, ResolvedQuerySet
from runner.core.retrieval.rankings import Ranking, UnmappedResult
from runner.core.retrieval.scores import RetrievalScore, Violation
from runner.core.sources import SourceIds
from runner.measure.retrieval.folding import Passages
from runner.measure.retrieval.measuring import measure_names
from runner.measure.retrieval.scoring import scored, totals

PASSAGES = [
    Passage(1, "a.md", 0, 10, "", "x"),
    Passage(2, "a.md", 10, 20, "", "x"),
    Passage(3, "b.md", 0, 10, "", "x", workspace="theirs"),
    Passage(4, "c.md", 0, 10, "", "x"),
]
QUERIES = ResolvedQuerySet(
    name="h",
    corpus="h",
    ks=(1, 2),
    queries=(
        Query(id="found", text="x", kind="literal"),
        Query(id="late", text="x", kind="paraphrase"),
        Query(id="silent", text="x", kind="literal"),
        Query(id="failed", text="x", kind="literal", split="holdout"),
        Query(id="nothing", text="x", kind="no_answer"),
        Query(id="guessed", text="x", kind="no_answer"),
        Query(id="crashed", text="x", kind="no_answer"),
    ),
    labels=(
        Judgement(query="found", source="a.md", grade=3),
        Judgement(query="late", source="c.md", grade=1),
        Judgement(query="late", source="b.md", grade=0),
        Judgement(query="silent", source="a.md", grade=1),
        Judgement(query="failed", source="a.md", grade=1),
    ),
)


def _ranking(query: str, *ids: int, error: str = "") -> Ranking:
    scores = tuple(100 - rank for rank in range(len(ids)))
    return Ranking(trial="t", task="h", query=query, passages=ids, scores_e6=scores, unmapped=0, error=error)


def _scores() -> list[RetrievalScore]:
    rankings = [
        _ranking("found", 2, 1, 4),
        _ranking("late", 3, 99, 4),
        _ranking("silent"),
        _ranking("failed", error="the server went away"),
        _ranking("nothing"),
        _ranking("guessed", 4),
        _ranking("crashed", error="the server went away"),
    ]
    passages = Passages.of(PASSAGES, SourceIds.of([passage.source for passage in PASSAGES]))
    return list(scored(rankings, QUERIES, passages))


def test_a_score() -> None:
    """Sources and not passages are ranked; an unknown passage keeps its place, and a foreign one is told."""
    found, late, *_ = _scores()
    assert (found.first_relevant_rank, found.results, found.sources) == (Measured(1), 3, 2)
    assert (late.first_relevant_rank, late.results, late.sources, late.unmapped) == (Measured(3), 3, 2, 1)
    assert late.violations == {Violation.FOREIGN_WORKSPACE: 1}
    assert late.measures_e9 == {
        "R@1": 0,
        "R@2": 0,
        "P@1": 0,
        "P@2": 0,
        "nDCG@1": 0,
        "nDCG@2": 0,
        "RR": 333_333_333,
        "AP": 333_333_333,
        "Judged@1": 1_000_000_000,
        "Judged@2": 500_000_000,
    }


def test_silence_failure_and_abstention() -> None:
    """Nothing returned is an abstention, unless it failed; queries without an answer have no measure."""
    _, _, silent, failed, nothing, guessed, crashed = _scores()
    assert (silent.abstained, silent.failed) == (True, False)
    assert silent.first_relevant_rank == Unavailable("no relevant source was returned")
    assert (failed.abstained, failed.failed, failed.measures_e9["RR"]) == (False, True, 0)
    assert (nothing.abstained, nothing.measures_e9) == (True, {})
    assert nothing.first_relevant_rank == Unavailable("nothing in the corpus answers the query")
    assert guessed.abstained is False
    assert (crashed.abstained, crashed.failed) == (False, True)


def test_results_that_lead_nowhere_are_no_silence() -> None:
    """A server that answers with what nobody can map didn't abstain."""
    ranking = Ranking(trial="t", task="h", query="nothing", found=(UnmappedResult(said="?"),), unmapped=1, error="")
    (score,) = scored([ranking], QUERIES, Passages.of(PASSAGES, SourceIds.of(["a.md", "b.md", "c.md"])))
    assert (score.abstained, score.unmapped, score.sources) == (False, 1, 0)


def test_totals_keep_every_query_in_the_denominator() -> None:
    """RR 1, 1/3, 0 and 0 have the mean 1/3; queries without an answer stand apart, with their own number."""
    found = totals(_scores(), measure_names((1, 2)))
    means = {mean.measure: (mean.queries, mean.mean_e9) for mean in found.measures}
    assert means["RR"] == (4, Measured(333_333_333))
    assert means["R@1"] == (4, Measured(250_000_000))
    assert (found.queries, found.failed, found.empty) == (4, 2, 2)
    assert (found.no_answer_queries, found.no_answer_abstained) == (3, 1)
    assert (found.results, found.unmapped) == (7, 1)
    assert (found.violations, found.violating_queries) == ({Violation.FOREIGN_WORKSPACE: 1}, 1)


def test_totals_of_nothing() -> None:
    """A mean over no query is no number."""
    found = totals([], ("RR",))
    assert found.measures[0].mean_e9 == Unavailable("there is no query with an answer")


def test_scores_are_documents() -> None:
    """They come back from their bytes, and so do rankings."""
    for score in _scores():
        assert RetrievalScore.from_bytes(score.to_bytes(), "s") == score
    ranking = _ranking("found", 2, 1)
    assert Ranking.from_bytes(ranking.to_bytes(), "r") == ranking
