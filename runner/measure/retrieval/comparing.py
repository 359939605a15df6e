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
from runner.core.retrieval.scores import SCALE, RetrievalContrast
from runner.core.rounding import rounded_quotient
from runner.core.statistics.bootstrap import (
    FINE,
    MINIMUM_PAIRS,
    MINIMUM_TASKS,
    RESAMPLES,
    Bootstrap,
    Deviations,
    Sample,
    difference_interval,
    rounded_quotients,
)
from runner.core.statistics.exact import decimals, whole
from runner.core.statistics.power import detectable
from runner.core.statistics.simultaneous import widenings
from runner.core.statistics.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.core.quantities import Quantity
    from runner.core.statistics.exact import Integers

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
_ALIKE: Final = "{units} the same difference: resampling can't say how far another would lie"


@dataclass(frozen=True)
class _Corpus:
    """The queries that all systems have of one corpus, in the order of their ids."""

    name: str
    systems: tuple[tuple[int, ...], ...]
    """Of each system, the control first: its values."""

    @property
    def queries(self) -> int:
        """How many there are."""
        return len(self.systems[0])

    def differences(self, number: int) -> list[int]:
        """Each value of the treatment with this number, from 1, less the control's."""
        return [mine - other for mine, other in zip(self.systems[number], self.systems[0], strict=True)]


@dataclass(frozen=True)
class Compared:
    """One system's difference from the control, alone and together with those of the other systems."""

    contrast: RetrievalContrast
    together_low_e9: Quantity
    together_high_e9: Quantity


def compare(measure: str, control: Values, treatment: Values, seed: str) -> RetrievalContrast:
    """Mean of `treatment` less mean of `control`, over the queries that both have, with a 95 % interval."""
    return compare_all(measure, control, (treatment,), seed)[0].contrast


def compare_all(
    measure: str, control: Values, treatments: Sequence[Values], seed: str, resamples: int = RESAMPLES
) -> tuple[Compared, ...]:
    """Mean of each of `treatments` less mean of `control`, over the queries that all have, with 95 % intervals.

    The intervals that hold together are widened by max-T over the treatments, which share their resamples. A treatment
    whose differences don't vary has none, and the others' hold together without it.
    """
    corpora = _paired((control, *treatments))
    queries = sum(corpus.queries for corpus in corpora)
    bootstrap = Bootstrap(seed, resamples=min(resamples, max(999, _MOST_DRAWS // max(queries, 1))))
    is_clustered = len(corpora) >= MINIMUM_TASKS
    deviations = _varying(corpora, _clustered(corpora, bootstrap) if is_clustered else _stratified(corpora, bootstrap))
    known = (
        []
        if isinstance(deviations, Unavailable)
        else [item.values for item in deviations if isinstance(item, Deviations)]
    )
    wider = iter(widenings(known, bootstrap.level_ppm))
    totals = [sum(sum(corpus.systems[number]) for corpus in corpora) for number in range(len(treatments) + 1)]
    found: list[Compared] = []
    for number in range(1, len(totals)):
        own = deviations if isinstance(deviations, Unavailable) else deviations[number - 1]
        low, high = _interval(own, bootstrap, len(corpora), Decimal(1))
        contrast = RetrievalContrast(
            measure=measure,
            queries=queries,
            corpora=len(corpora),
            control_e9=_mean(totals[0], queries),
            treatment_e9=_mean(totals[number], queries),
            difference_e9=_mean(totals[number] - totals[0], queries),
            low_e9=low,
            high_e9=high,
            detectable_e9=_detectable(own, bootstrap.level_ppm),
            method=_method(is_clustered=is_clustered, resamples=bootstrap.resamples),
        )
        widening = Decimal(1) if isinstance(own, Unavailable) else next(wider)
        found.append(Compared(contrast, *_interval(own, bootstrap, len(corpora), widening)))
    return tuple(found)


def refusal(queries: Mapping[str, int]) -> Unavailable | None:
    """Why so many queries of each corpus have no interval, whatever systems make of them; None when they may have."""
    total = sum(queries.values())
    if total < MINIMUM_PAIRS:
        counted = "1 query" if total == 1 else f"{total} queries"
        return Unavailable(f"{counted}; an interval needs at least {MINIMUM_PAIRS}")
    lonely = [corpus for corpus, number in queries.items() if number == 1]
    if lonely and len(queries) < MINIMUM_TASKS:
        return Unavailable(f"one query alone says nothing of how queries vary, in: {', '.join(lonely)}")
    return None


def _paired(systems: Sequence[Values]) -> list[_Corpus]:
    found: dict[str, list[tuple[int, ...]]] = {}
    for corpus, query in sorted(set(systems[0]).intersection(*systems[1:])):
        found.setdefault(corpus, []).append(tuple(system[corpus, query] for system in systems))
    return [_Corpus(name, tuple(zip(*rows, strict=True))) for name, rows in found.items()]


def _mean(total: int, queries: int) -> Quantity:
    return Measured(rounded_quotient(total, queries)) if queries else _NO_QUERY


def _interval(
    deviations: Deviations | Unavailable, bootstrap: Bootstrap, corpora: int, widening: Decimal
) -> tuple[Quantity, Quantity]:
    if isinstance(deviations, Unavailable):
        return deviations, deviations
    found = difference_interval(deviations.estimate, bootstrap.ends(deviations, corpora), widening)
    if isinstance(found, Unavailable):
        return found, found
    # No two shares differ by more than 1.
    return Measured(max(found.low, -SCALE)), Measured(min(found.high, SCALE))


def _varying(
    corpora: Sequence[_Corpus], deviations: Sequence[Deviations] | Unavailable
) -> Sequence[Deviations | Unavailable] | Unavailable:
    """`deviations`, with the reason in the place of those whose variance is 0."""
    if isinstance(deviations, Unavailable):
        return deviations
    return [item if item.spread.variance else _alike(corpora, number) for number, item in enumerate(deviations, 1)]


def _alike(corpora: Sequence[_Corpus], number: int) -> Unavailable:
    """Why a treatment whose variance is 0 has no interval."""
    own = [set(corpus.differences(number)) for corpus in corpora]
    if len(set.union(*own)) == 1:
        return Unavailable(_ALIKE.format(units="every query has"))
    is_within = all(len(one) == 1 for one in own)
    units = "all queries of each corpus have" if is_within else "all corpora have on average"
    return Unavailable(_ALIKE.format(units=units))


def _detectable(deviations: Deviations | Unavailable, level_ppm: int) -> Quantity:
    if isinstance(deviations, Unavailable):
        return deviations
    with decimals():
        return Measured(whole(detectable(deviations.spread, level_ppm) / FINE))


def _clustered(corpora: Sequence[_Corpus], bootstrap: Bootstrap) -> list[Deviations] | Unavailable:
    """Corpora are the tasks of the two-level bootstrap, and queries their blocks."""
    sample = Sample(
        repetitions=tuple(corpus.queries for corpus in corpora),
        arms=np.concatenate([np.array(corpus.systems, dtype=np.int64) for corpus in corpora], axis=1),
        divisor=np.ones(sum(corpus.queries for corpus in corpora), dtype=np.int64),
    )
    (resampled,) = bootstrap.resampled([sample])
    if isinstance(resampled, Unavailable):
        return resampled
    found = [bootstrap.difference_deviations(resampled, number, 1) for number in range(1, len(sample.arms))]
    refused = next((item for item in found if isinstance(item, Unavailable)), None)
    return refused or [item for item in found if isinstance(item, Deviations)]


def _stratified(corpora: Sequence[_Corpus], bootstrap: Bootstrap) -> list[Deviations] | Unavailable:
    """Queries of each corpus are drawn with a seed of its own; a resample has as many of each corpus as there are."""
    refused = refusal({corpus.name: corpus.queries for corpus in corpora})
    if refused is not None:
        return refused
    queries = sum(corpus.queries for corpus in corpora)
    treatments = range(1, len(corpora[0].systems))
    differences = np.zeros((len(treatments), bootstrap.resamples), dtype=np.int64)
    for corpus in corpora:
        sample = Sample(
            repetitions=(1,) * corpus.queries,
            arms=np.array(corpus.systems, dtype=np.int64),
            divisor=np.ones(corpus.queries, dtype=np.int64),
        )
        own = Bootstrap(
            f"{bootstrap.seed}\n{corpus.name}", bootstrap.resamples, levels=1, minimum_tasks=1, minimum_pairs=1
        )
        (resampled,) = own.resampled([sample])
        if isinstance(resampled, Unavailable):
            return resampled
        differences += np.stack([resampled.arms[number] - resampled.arms[0] for number in treatments])
    return [
        _stratified_deviations(corpora, queries, number, differences[place]) for place, number in enumerate(treatments)
    ]


def _stratified_deviations(corpora: Sequence[_Corpus], queries: int, number: int, drawn: Integers) -> Deviations:
    """The differences of one treatment that were `drawn`, less the one that was found."""
    estimate = rounded_quotient(sum(sum(corpus.differences(number)) for corpus in corpora) * FINE, queries)
    values = rounded_quotients(drawn * FINE, np.int64(queries)) - estimate
    spread = _stratified_spread([corpus.differences(number) for corpus in corpora], queries)
    return Deviations(estimate, values, spread, np.zeros(1, dtype=np.int64))


def _stratified_spread(corpora: Sequence[Sequence[int]], queries: int) -> Spread:
    """The variance of a stratified mean, and the degrees of freedom of Welch (1947) and Satterthwaite (1946), plus 1.

    `corpora` has the differences of each; one of n of all N queries adds n s² / N², s² with n - 1 in its denominator.
    """
    with decimals():
        parts: list[Decimal] = []
        squares = Decimal(0)
        for differences in corpora:
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
