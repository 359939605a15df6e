"""What do the rankings of a run come to: system by system, scope by scope, compared, timed, query by query?

Knows nothing of trials but their arms: whose rankings count was decided before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.section import (
    MOST_ROWS,
    SHOWN_CHARACTERS,
    CountedSet,
    Exactness,
    QueryCell,
    QueryRow,
    RetrievalDocument,
    RetrievalSection,
    Scope,
    SystemContrast,
    SystemIdentity,
    SystemLatency,
    SystemTotals,
)
from runner.measure.retrieval.comparing import compare_all
from runner.measure.retrieval.measuring import measure_names
from runner.measure.retrieval.scoring import totals
from runner.measure.retrieval.timing import LATENCY_RULE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.core.retrieval.queries import Query, ResolvedQuerySet
    from runner.core.retrieval.scores import RetrievalScore

QUERIES_RULE: Final = (
    "Means are over all queries of the scope that something in the corpus answers: one that failed, or for which "
    "nothing came, counts as nothing found. Queries without an answer are in no mean; for them it is counted how often "
    "the system returned nothing. Of each query set the rankings of one repetition count."
)
_DEEPEST_HEADLINE: Final = 10
_RESAMPLES: Final = 4_999


@dataclass(frozen=True)
class AskedSet:
    """One query set of a run, and the block whose rankings of it count."""

    task: str
    queries: ResolvedQuerySet
    queries_sha256: str
    """Of the document that `queries` was read from."""
    block: str
    """"" where none does."""


@dataclass(frozen=True)
class Found:
    """All that the section of a run's summary is made of."""

    systems: Mapping[str, str]
    """Arm -> what it asks; the control first."""
    sets: Sequence[AskedSet]
    scores: Mapping[tuple[str, str], Sequence[RetrievalScore]]
    """(Task, arm) -> the scores that count, in the order of the set."""
    latencies: Sequence[SystemLatency]
    exactness: Sequence[Exactness]
    documents: Mapping[str, str]
    """Name -> digest."""
    seed: str
    asked: Sequence[tuple[Scope, str]] = ()
    """Scopes and measures that gates name, besides those that are always compared."""


def section_of(found: Found) -> RetrievalSection:
    """The section of a summary."""
    counted = [item for item in found.sets if item.block]
    ks = [set(item.queries.ks) for item in counted] or [set[int]()]
    shared = tuple(sorted(set.intersection(*ks)))
    cut = max((k for k in shared if k <= _DEEPEST_HEADLINE), default=min(shared, default=0))
    headline = (f"nDCG@{cut}", f"R@{cut}", "RR") if cut else ("RR", "AP")
    scopes = list(_scopes(counted))
    rows = list(_rows(found, counted, headline[0]))
    return RetrievalSection(
        systems=tuple(SystemIdentity(arm=arm, asks=asks) for arm, asks in found.systems.items()),
        sets=tuple(_counted(item) for item in found.sets),
        headline=headline,
        totals=tuple(_totals(found, counted, scopes, shared)),
        contrasts=tuple(_contrasts(found, counted, scopes, headline)),
        latencies=tuple(found.latencies),
        exactness=tuple(found.exactness),
        rows=tuple(row for task in _tasks(counted) for row in [row for row in rows if row.task == task][:MOST_ROWS]),
        rows_left_out=sum(max(0, len(item.queries.queries) - MOST_ROWS) for item in counted),
        documents=tuple(RetrievalDocument(name=name, digest=digest) for name, digest in found.documents.items()),
        queries_rule=QUERIES_RULE,
        latency_rule=LATENCY_RULE,
    )


def _tasks(counted: Iterable[AskedSet]) -> list[str]:
    return [item.task for item in counted]


def _counted(item: AskedSet) -> CountedSet:
    queries = item.queries
    return CountedSet(
        task=item.task,
        name=queries.name,
        corpus=queries.corpus,
        queries=len(queries.queries),
        answerable=sum(query.kind != "no_answer" for query in queries.queries),
        labels=len(queries.labels),
        ks=queries.ks,
        block=item.block,
        queries_sha256=item.queries_sha256,
    )


def _scopes(counted: Sequence[AskedSet]) -> Iterator[Scope]:
    """Every scope with a query: all sets, then each by itself; all splits and kinds, then each."""
    queries = [(item.task, query.split, query.kind) for item in counted for query in item.queries.queries]
    tasks = list(dict.fromkeys(task for task, _, _ in queries))
    splits, kinds = (sorted({query[place] for query in queries}) for place in (1, 2))
    for task, split, kind in product(("", *tasks), ("", *splits), ("", *kinds)):
        scope = Scope(task=task, split=split, kind=kind)
        if any(_holds(scope, *query) for query in queries):
            yield scope


def _holds(scope: Scope, task: str, split: str, kind: str) -> bool:
    return scope.task in ("", task) and scope.split in ("", split) and scope.kind in ("", kind)


def _chosen(found: Found, counted: Sequence[AskedSet], scope: Scope, arm: str) -> list[tuple[str, RetrievalScore]]:
    """The scores of a system in a scope, each with the corpus that was asked."""
    return [
        (item.queries.corpus, score)
        for item in counted
        for score in found.scores[item.task, arm]
        if _holds(scope, item.task, score.split, score.kind)
    ]


def _totals(
    found: Found, counted: Sequence[AskedSet], scopes: Sequence[Scope], shared: Sequence[int]
) -> Iterator[SystemTotals]:
    own = {item.task: measure_names(item.queries.ks) for item in counted}
    for scope in scopes:
        measures = own[scope.task] if scope.task else measure_names(shared)
        for arm in found.systems:
            scores = [score for _, score in _chosen(found, counted, scope, arm)]
            yield SystemTotals(scope=scope, arm=arm, totals=totals(scores, measures))


def _contrasts(
    found: Found, counted: Sequence[AskedSet], scopes: Sequence[Scope], headline: Sequence[str]
) -> Iterator[SystemContrast]:
    """Splits and kinds are compared each over all sets, and kinds within each; not every combination of them."""
    wanted = [(scope, measure) for scope in scopes if _is_compared(scope) for measure in headline]
    wanted += [item for item in dict.fromkeys(found.asked) if item not in wanted and item[0] in scopes]
    for scope, measure in wanted:
        yield from _compared(found, counted, scope, measure)


def _is_compared(scope: Scope) -> bool:
    return scope.kind != "no_answer" and (not scope.split or (not scope.task and not scope.kind))


def _compared(found: Found, counted: Sequence[AskedSet], scope: Scope, measure: str) -> Iterator[SystemContrast]:
    control, *treatments = found.systems
    values = [
        {
            (corpus, f"{score.task} {score.query}"): score.measures_e9[measure]
            for corpus, score in _chosen(found, counted, scope, arm)
            if measure in score.measures_e9
        }
        for arm in (control, *treatments)
    ]
    for arm, item in zip(treatments, compare_all(measure, values[0], values[1:], found.seed, _RESAMPLES), strict=True):
        yield SystemContrast(
            scope=scope,
            arm=arm,
            control=control,
            contrast=item.contrast,
            together_low_e9=item.together_low_e9,
            together_high_e9=item.together_high_e9,
        )


def _rows(found: Found, counted: Sequence[AskedSet], measure: str) -> Iterator[QueryRow]:
    for item in counted:
        columns = [found.scores[item.task, arm] for arm in found.systems]
        for query, *scores in zip(item.queries.queries, *columns, strict=True):
            cells = zip(found.systems, scores, strict=True)
            yield QueryRow(
                task=item.task,
                query=query.id,
                text=_shown(query),
                split=query.split,
                kind=query.kind,
                cells=tuple(_cell(arm, score, measure) for arm, score in cells),
            )


def _shown(query: Query) -> str:
    text = " ".join(query.text.split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _cell(arm: str, score: RetrievalScore, measure: str) -> QueryCell:
    value = score.measures_e9.get(measure)
    return QueryCell(
        arm=arm,
        first_relevant_rank=score.first_relevant_rank,
        value_e9=Unavailable("nothing in the corpus answers the query") if value is None else Measured(value),
        violations=score.violations,
        unmapped=score.unmapped,
        failed=score.failed,
        abstained=score.abstained,
    )
