"""By how much do two systems differ in a measure, and how sure is that?

Pairs are queries: both systems answered the same ones. Queries of one corpus resemble each other, so where there are
enough corpora they are what is resampled, and queries within each. With fewer, corpora can't stand for others: queries
are resampled within each of them, and the interval speaks of these corpora alone, which its method says.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.scores import RetrievalContrast
from runner.core.rounding import rounded_quotient
from runner.core.statistics.bootstrap import (
    FINE,
    MINIMUM_PAIRS,
    MINIMUM_TASKS,
    RESAMPLES,
    Bootstrap,
    Deviations,
    Interval,
    Sample,
    difference_interval,
    rounded_quotients,
)
from runner.core.statistics.exact import decimals, whole
from runner.core.statistics.power import detectable
from runner.core.statistics.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.core.quantities import Quantity

Values: TypeAlias = "Mapping[tuple[str, str], int]"
"""(Corpus, query) -> a measure, in units of 1e-9."""

# Draws are kept for the next measure: so many of them take 40 MB.
_MOST_DRAWS: Final = 10_000_000
_ENDS: Final = "percentiles, drawn to the variance of {units} and to Student's t; {resamples} resamples"
_TWO_LEVELS: Final = "paired bootstrap of corpora, then of queries within each drawn corpus; "
_WITHIN: Final = (
    "paired bootstrap of queries within each corpus, for there are fewer than {least} corpora: the interval speaks of "
    "these and not of others; "
)
_NO_QUERY: Final = Unavailable("there is no query that both systems were asked")


@dataclass(frozen=True)
class _Corpus:
    """The pairs of one corpus, in the order of their queries' ids."""

    name: str
    control: tuple[int, ...]
    treatment: tuple[int, ...]


def compare(measure: str, control: Values, treatment: Values, seed: str) -> RetrievalContrast:
    """Mean of `treatment` less mean of `control`, over the queries that both have, with a 95 % interval."""
    corpora = _paired(control, treatment)
    queries = sum(len(corpus.control) for corpus in corpora)
    bootstrap = Bootstrap(seed, resamples=min(RESAMPLES, max(999, _MOST_DRAWS // max(queries, 1))))
    is_clustered = len(corpora) >= MINIMUM_TASKS
    deviations = _clustered(corpora, bootstrap) if is_clustered else _stratified(corpora, bootstrap)
    low, high, seen = _interval(deviations, bootstrap, len(corpora))
    totals = sum(sum(corpus.control) for corpus in corpora), sum(sum(corpus.treatment) for corpus in corpora)
    return RetrievalContrast(
        measure=measure,
        queries=queries,
        corpora=len(corpora),
        control_e9=_mean(totals[0], queries),
        treatment_e9=_mean(totals[1], queries),
        difference_e9=_mean(totals[1] - totals[0], queries),
        low_e9=low,
        high_e9=high,
        detectable_e9=seen,
        method=_method(is_clustered=is_clustered, resamples=bootstrap.resamples),
    )


def _paired(control: Values, treatment: Values) -> list[_Corpus]:
    found: dict[str, list[tuple[int, int]]] = {}
    for corpus, query in sorted(control.keys() & treatment.keys()):
        found.setdefault(corpus, []).append((control[corpus, query], treatment[corpus, query]))
    return [
        _Corpus(name, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))
        for name, pairs in found.items()
    ]


def _mean(total: int, queries: int) -> Quantity:
    return Measured(rounded_quotient(total, queries)) if queries else _NO_QUERY


def _interval(
    deviations: Deviations | Unavailable, bootstrap: Bootstrap, corpora: int
) -> tuple[Quantity, Quantity, Quantity]:
    if isinstance(deviations, Unavailable):
        return deviations, deviations, deviations
    with decimals():
        seen = Measured(whole(detectable(deviations.spread, bootstrap.level_ppm) / FINE))
    found = difference_interval(deviations.estimate, bootstrap.ends(deviations, corpora), Decimal(1))
    if isinstance(found, Interval):
        return Measured(found.low), Measured(found.high), seen
    return found, found, seen


def _clustered(corpora: Sequence[_Corpus], bootstrap: Bootstrap) -> Deviations | Unavailable:
    """Corpora are the tasks of the two-level bootstrap, and queries their blocks."""
    sample = Sample(
        repetitions=tuple(len(corpus.control) for corpus in corpora),
        arms=np.concatenate(
            [np.array([corpus.control, corpus.treatment], dtype=np.int64) for corpus in corpora], axis=1
        ),
        divisor=np.ones(sum(len(corpus.control) for corpus in corpora), dtype=np.int64),
    )
    (resampled,) = bootstrap.resampled([sample])
    return resampled if isinstance(resampled, Unavailable) else bootstrap.difference_deviations(resampled, 1, 1)


def _stratified(corpora: Sequence[_Corpus], bootstrap: Bootstrap) -> Deviations | Unavailable:
    """Queries of each corpus are drawn with a seed of its own; a resample has as many of each corpus as there are."""
    queries = sum(len(corpus.control) for corpus in corpora)
    if queries < MINIMUM_PAIRS:
        return Unavailable(f"{queries} queries; an interval needs at least {MINIMUM_PAIRS}")
    lonely = [corpus.name for corpus in corpora if len(corpus.control) == 1]
    if lonely:
        return Unavailable(f"one query alone says nothing of how queries vary, in: {', '.join(lonely)}")
    differences = np.zeros(bootstrap.resamples, dtype=np.int64)
    for corpus in corpora:
        size = len(corpus.control)
        sample = Sample(
            repetitions=(1,) * size,
            arms=np.array([corpus.control, corpus.treatment], dtype=np.int64),
            divisor=np.ones(size, dtype=np.int64),
        )
        own = Bootstrap(
            f"{bootstrap.seed}\n{corpus.name}", bootstrap.resamples, levels=1, minimum_tasks=1, minimum_pairs=1
        )
        (resampled,) = own.resampled([sample])
        if isinstance(resampled, Unavailable):
            return resampled
        differences += resampled.arms[1] - resampled.arms[0]
    total = sum(sum(corpus.treatment) - sum(corpus.control) for corpus in corpora)
    estimate = rounded_quotient(total * FINE, queries)
    values = rounded_quotients(differences * FINE, np.int64(queries)) - estimate
    return Deviations(estimate, values, _stratified_spread(corpora, queries), np.zeros(1, dtype=np.int64))


def _stratified_spread(corpora: Sequence[_Corpus], queries: int) -> Spread:
    """The variance of a stratified mean, and the degrees of freedom of Welch (1947) and Satterthwaite (1946), plus 1.

    A corpus of n of all N queries adds n s² / N², s² with n - 1 in its denominator.
    """
    with decimals():
        parts: list[Decimal] = []
        squares = Decimal(0)
        for corpus in corpora:
            differences = [mine - other for mine, other in zip(corpus.treatment, corpus.control, strict=True)]
            size, total = len(differences), sum(differences)
            # n x the sum of squared deviations: an integer.
            deviations = size * sum(one * one for one in differences) - total * total
            part = Decimal(deviations * FINE * FINE) / ((size - 1) * queries * queries)
            parts.append(part)
            squares += part * part / (size - 1)
        variance = sum(parts, Decimal(0))
        return Spread(variance, variance * variance / squares + 1 if squares else Decimal(queries))


def _method(*, is_clustered: bool, resamples: int) -> str:
    if is_clustered:
        return _TWO_LEVELS + _ENDS.format(units="corpora", resamples=resamples)
    units = "queries within corpora"
    return _WITHIN.format(least=MINIMUM_TASKS) + _ENDS.format(units=units, resamples=resamples)
