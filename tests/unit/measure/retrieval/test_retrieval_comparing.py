"""Two systems are compared over the queries that both answered, clustered by corpus."""

from __future__ import annotations

import pytest

from runner.core.quantities import Measured, Unavailable
from runner.measure.retrieval.comparing import compare

ONE = 1_000_000_000


def _values(by_corpus: dict[str, list[int]]) -> dict[tuple[str, str], int]:
    return {
        (corpus, f"q{number}"): value for corpus, values in by_corpus.items() for number, value in enumerate(values)
    }


def test_a_worked_example_in_one_corpus() -> None:
    """Differences 1, 0, 0, 1, 0, 0, 0, 0: mean 1/4, s² = 12/56, standard error sqrt(s² / 8) = 0.163663.

    With 7 degrees of freedom t is 2.364624 (two-sided 95 %) and 0.896030 (80 %): the smallest difference that is seen
    is 0.163663 x 3.260654 = 0.53365.
    """
    control = _values({"h": [0, ONE, 0, 0, ONE, 0, ONE, 0]})
    treatment = _values({"h": [ONE, ONE, 0, ONE, ONE, 0, ONE, 0]})
    found = compare("R@1", control, treatment, "seed")
    assert (found.measure, found.queries, found.corpora) == ("R@1", 8, 1)
    assert (found.control_e9, found.treatment_e9, found.difference_e9) == (
        Measured(375_000_000),
        Measured(625_000_000),
        Measured(250_000_000),
    )
    assert found.detectable_e9 == Measured(533_649_941)
    assert found.method == (
        "paired bootstrap of queries within each corpus, for there are fewer than 5 corpora: the interval speaks of "
        "these and not of others; percentiles, drawn to the variance of queries within corpora and to Student's t; "
        "9999 resamples"
    )


def test_corpora_are_strata_where_they_are_few() -> None:
    """Two corpora that differ much, whose queries don't differ at all: nothing is uncertain about these corpora."""
    found = compare(
        "RR",
        _values({"a": [0] * 4, "b": [0] * 4}),
        _values({"a": [ONE] * 4, "b": [0] * 4}),
        "seed",
    )
    assert found.difference_e9 == Measured(500_000_000)
    assert (found.low_e9, found.high_e9) == (Measured(500_000_000), Measured(500_000_000))


def test_corpora_are_clusters_where_they_are_many() -> None:
    """The same of six corpora is uncertain, for it speaks of corpora at large."""
    names = "abcdef"
    found = compare(
        "RR",
        _values({name: [0] * 4 for name in names}),
        _values({name: [ONE if name in "abc" else 0] * 4 for name in names}),
        "seed",
    )
    assert found.method.startswith("paired bootstrap of corpora, then of queries within each drawn corpus; ")
    assert isinstance(found.low_e9, Measured)
    assert isinstance(found.high_e9, Measured)
    assert found.low_e9.value < 0
    assert found.high_e9.value > 500_000_000


def test_pairs_matter_and_levels_do_not() -> None:
    """A treatment that adds the same to every query is certain, however much queries differ."""
    control = _values({"h": [0, 100, 900_000_000, 5, 70_000, 3_000_000]})
    treatment = {key: value + 1_000 for key, value in control.items()}
    found = compare("AP", control, treatment, "seed")
    assert (found.low_e9, found.difference_e9, found.high_e9) == (Measured(1_000),) * 3
    assert found.detectable_e9 == Measured(0)


def test_the_order_of_queries_does_not_matter() -> None:
    """Figures follow from keys and values alone, and from the seed."""
    control = _values({"b": [0, 5, 7, 9], "a": [1, 2, 3, 4]})
    treatment = _values({"b": [3, 5, 0, 9], "a": [1, 8, 3, 9]})
    turned = dict(reversed(control.items())), dict(reversed(treatment.items()))
    assert compare("AP", control, treatment, "seed") == compare("AP", *turned, "seed")
    assert compare("AP", control, treatment, "seed") != compare("AP", control, treatment, "other")


def test_only_common_queries_are_compared() -> None:
    """What one system wasn't asked has no pair; the number of queries says so."""
    control, treatment = _values({"h": [1] * 9}), _values({"h": [2] * 7})
    assert compare("AP", control, treatment, "seed").queries == 7


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({}, "0 queries; an interval needs at least 6"),
        ({"a": 5}, "5 queries; an interval needs at least 6"),
        ({"a": 5, "b": 1, "c": 1}, "one query alone says nothing of how queries vary, in: b, c"),
        ({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, "5 complete blocks; an interval needs at least 6"),
    ],
)
def test_too_little_has_no_interval(sizes: dict[str, int], reason: str) -> None:
    """And says why, for each end and for what could be seen."""
    values = _values({name: [0] * size for name, size in sizes.items()})
    found = compare("AP", values, values, "seed")
    assert (found.low_e9, found.high_e9, found.detectable_e9) == (Unavailable(reason),) * 3


def test_no_query_has_no_mean() -> None:
    """0 of 0 is no figure."""
    found = compare("AP", {}, {}, "seed")
    assert found.difference_e9 == Unavailable("there is no query that both systems were asked")


def test_many_queries_take_fewer_resamples() -> None:
    """So that draws don't fill the memory; the method says how many were made."""
    values = _values({"h": [0, ONE] * 2_500})
    assert compare("AP", values, values, "seed").method.endswith("; 2000 resamples")
