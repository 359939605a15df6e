"""What do labels and boundaries say of each ranking, and what do rankings come to together?"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.scores import SCALE, MeanMeasure, RetrievalScore, RetrievalTotals
from runner.core.rounding import rounded_quotient
from runner.measure.retrieval.boundaries import violations
from runner.measure.retrieval.folding import fold
from runner.measure.retrieval.measuring import AT_ONCE, measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.core.retrieval.queries import Query, ResolvedQuerySet
    from runner.core.retrieval.rankings import Ranking
    from runner.core.retrieval.scores import Violation
    from runner.measure.retrieval.folding import Folded, Passages

NOT_FOUND: Final = Unavailable("no relevant source was returned")
NO_ANSWER: Final = Unavailable("nothing in the corpus answers the query")
NO_QUERY: Final = Unavailable("there is no query with an answer")


def scored(rankings: Iterable[Ranking], queries: ResolvedQuerySet, passages: Passages) -> Iterator[RetrievalScore]:
    """The score of each of `rankings`, in their order; their queries are of the set."""
    known = {query.id: query for query in queries.queries}
    grades = queries.grades()
    waiting = iter(rankings)
    while some := list(islice(waiting, AT_ONCE)):
        folded = [fold(ranking, passages) for ranking in some]
        asked = ((ranking.query, found.sources) for ranking, found in zip(some, folded, strict=True))
        for ranking, found, values in zip(some, folded, measured(asked, grades, queries.ks), strict=True):
            query = known[ranking.query]
            yield _score(ranking, query, found, values, violations(query, ranking, passages))


def totals(scores: Iterable[RetrievalScore], measures: Sequence[str]) -> RetrievalTotals:
    """What `scores` come to: means over all queries with an answer, those that failed or found nothing included."""
    listed = list(scores)
    answerable = [score for score in listed if score.kind != "no_answer"]
    others = [score for score in listed if score.kind == "no_answer"]
    broken: dict[Violation, int] = {}
    for score in listed:
        for kind, count in score.violations.items():
            broken[kind] = broken.get(kind, 0) + count
    return RetrievalTotals(
        queries=len(answerable),
        measures=tuple(_mean(measure, answerable) for measure in measures),
        failed=sum(score.failed for score in listed),
        empty=sum(score.results == 0 for score in answerable),
        no_answer_queries=len(others),
        no_answer_abstained=sum(score.abstained for score in others),
        results=sum(score.results for score in listed),
        unmapped=sum(score.unmapped for score in listed),
        violations=dict(sorted(broken.items())),
        violating_queries=sum(bool(score.violations) for score in listed),
    )


def _score(
    ranking: Ranking, query: Query, folded: Folded, values: dict[str, int], broken: dict[Violation, int]
) -> RetrievalScore:
    return RetrievalScore(
        trial=ranking.trial,
        task=ranking.task,
        query=ranking.query,
        split=query.split,
        kind=query.kind,
        measures_e9=values,
        first_relevant_rank=_first_relevant(values),
        results=ranking.results,
        sources=len(folded.sources) - folded.unmapped,
        unmapped=folded.unmapped,
        violations=broken,
        abstained=not ranking.results and not ranking.error,
        failed=bool(ranking.error),
    )


def _first_relevant(values: dict[str, int]) -> Measured[int] | Unavailable:
    """The rank that a reciprocal rank is the reciprocal of: exact to rank 20,000, and rankings have 1,000 at most."""
    if not values:
        return NO_ANSWER
    reciprocal = values["RR"]
    return Measured(rounded_quotient(SCALE, reciprocal)) if reciprocal else NOT_FOUND


def _mean(measure: str, scores: Sequence[RetrievalScore]) -> MeanMeasure:
    total = sum(score.measures_e9[measure] for score in scores)
    mean = Measured(rounded_quotient(total, len(scores))) if scores else NO_QUERY
    return MeanMeasure(measure=measure, queries=len(scores), mean_e9=mean)
