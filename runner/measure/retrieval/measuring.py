"""What is a ranking of sources worth, by the field's own measures?

`ir_measures` makes every figure, with trec_eval's code where that has the measure: recall, precision, nDCG (gains are
grades, discounts log2 of rank + 1), average precision and reciprocal rank, a source being relevant from grade 1; and
the share of judged ones among the first k. Ours is only what goes in: the order of sources as scores that count down,
for trec_eval goes by scores alone and breaks ties by the document's name; no more of a ranking than figures depend on;
and some queries at a time, so that memory doesn't grow with their number.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import ir_measures

from runner.core.retrieval.scores import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

AT_ONCE: Final = 64
"""Queries that are measured together: at 1,000 sources each they take some 5 MB."""


def measure_names(ks: Sequence[int]) -> tuple[str, ...]:
    """What the measures with the cuts `ks` are called, here and by ir_measures on the command line."""
    return tuple(str(measure) for measure in (*_ranked(ks), *_judged(ks)))


def measured(
    rankings: Iterable[tuple[str, Sequence[str]]], grades: Mapping[str, Mapping[str, int]], ks: Sequence[int]
) -> Iterator[dict[str, int]]:
    """The measures of each of `rankings`, in their order, in units of 1e-9, half to even.

    A ranking is a query's id and the sources found for it, best first, each once; `grades` has the judged sources of
    each query that something answers. A query that isn't among them has no measure; one for which nothing was found
    has what ir_measures gives it, which is 0.

    With grades a: 3, b: 1, c: 1 and the ranking b, x, a: `P@3` is 2/3, `R@3` 2/3, `RR` 1, `AP` (1/1 + 2/3) / 3 = 5/9,
    `Judged@3` 2/3, and `nDCG@3` (1 + 3/2) / (3 + 1/log2(3) + 1/2) = 2.5 / 4.13093 = 0.605190.
    """
    names = measure_names(ks)
    waiting = iter(rankings)
    while some := list(islice(waiting, AT_ONCE)):
        yield from _some(some, grades, ks, names)


def _some(
    rankings: Sequence[tuple[str, Sequence[str]]],
    grades: Mapping[str, Mapping[str, int]],
    ks: Sequence[int],
    names: Sequence[str],
) -> Iterator[dict[str, int]]:
    # Ids of our own, so that one query may stand in several rankings.
    judged = {str(index): grades[query] for index, (query, _) in enumerate(rankings) if query in grades}
    found = {str(index): sources for index, (_, sources) in enumerate(rankings) if sources and str(index) in judged}
    values: dict[str, dict[str, int]] = {index: dict.fromkeys(names, 0) for index in judged}
    longest = max(map(len, found.values()), default=0)
    scores = [float(score) for score in range(longest, 0, -1)]
    deepest = max(ks)
    passes = (
        (
            ir_measures.pytrec_eval,
            _ranked(ks),
            {index: _needed(own, judged[index], deepest) for index, own in found.items()},
        ),
        (ir_measures.judged, _judged(ks), {index: own[:deepest] for index, own in found.items()}),
    )
    for provider, measures, needed in passes:
        run = {index: dict(zip(sources, scores, strict=False)) for index, sources in needed.items()}
        known = {id(measure): str(measure) for measure in measures}
        for metric in provider.evaluator(measures, judged).iter_calc(run):
            values[metric.query_id][known[id(metric.measure)]] = round(metric.value * SCALE)
    for index in range(len(rankings)):
        yield values.get(str(index), {})


def _needed(sources: Sequence[str], judged: Mapping[str, int], deepest: int) -> Sequence[str]:
    """The beginning of `sources` that figures depend on: to the deepest cut, and to the last relevant source."""
    relevant = {source for source, grade in judged.items() if grade > 0}
    last = max((sources.index(source) for source in relevant.intersection(sources)), default=-1)
    return sources[: max(last + 1, deepest)]


def _ranked(ks: Sequence[int]) -> list[Any]:
    cut = [measure @ k for measure in (ir_measures.R, ir_measures.P, ir_measures.nDCG) for k in ks]
    return [*cut, ir_measures.RR, ir_measures.AP]


def _judged(ks: Sequence[int]) -> list[Any]:
    return [ir_measures.Judged @ k for k in ks]
