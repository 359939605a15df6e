"""Two systems are compared over the queries that both answered, clustered by corpus."""

from __future__ import annotations

import pytest

from runner.core.quantities import Measured, Unavailable
from runner.measure.retrieval.comparing import compare, compare_all, refusal

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
    """Two corpora that differ much count as these two: the interval is narrower than the gap between them."""
    found = compare(
        "RR",
        _values({"a": [0] * 6, "b": [0] * 6}),
        _values({"a": [ONE] * 5 + [900_000_000], "b": [0] * 5 + [100_000_000]}),
        "seed",
    )
    assert found.difference_e9 == Measured(500_000_000)
    assert isinstance(found.low_e9, Measured)
    assert isinstance(found.high_e9, Measured)
    assert 450_000_000 < found.low_e9.value < 500_000_000 < found.high_e9.value < 550_000_000


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"a": [0] * 6}, "every query has the same difference"),
        ({"a": [ONE] * 6}, "every query has the same difference"),
        ({"a": [5] * 4, "b": [5] * 4}, "every query has the same difference"),
        ({"a": [ONE] * 4, "b": [0] * 4}, "all queries of each corpus have the same difference"),
        ({name: [0, 2, 4] for name in "abcde"}, "all corpora have on average the same difference"),
    ],
)
def test_what_does_not_vary_has_no_interval(changes: dict[str, list[int]], reason: str) -> None:
    """Six pairs that are alike show no variance, which isn't certainty: neither an interval nor what could be seen."""
    control = _values({name: [0] * len(values) for name, values in changes.items()})
    found = compare_all("RR", control, (_values(changes),), "seed", 999)[0]
    why = Unavailable(f"{reason}: resampling can't say how far another would lie")
    assert (found.contrast.low_e9, found.contrast.high_e9, found.contrast.detectable_e9) == (why,) * 3
    assert (found.together_low_e9, found.together_high_e9) == (why,) * 2


def test_intervals_hold_together_without_a_treatment_that_does_not_vary() -> None:
    """The other one's is as wide as alone, for it stands alone."""
    control = _values({"h": [0, 0, 0, ONE, ONE, 0, 0, 0]})
    varying = _values({"h": [ONE, 0, 0, ONE, ONE, ONE, 0, 0]})
    same, other = compare_all("R@1", control, (control, varying), "seed", 999)
    assert isinstance(same.together_low_e9, Unavailable)
    assert (other.together_low_e9, other.together_high_e9) == (other.contrast.low_e9, other.contrast.high_e9)
    assert isinstance(other.together_low_e9, Measured)


@pytest.mark.parametrize("sign", [1, -1])
def test_no_interval_goes_beyond_what_shares_can_differ(sign: int) -> None:
    """Seven of eight queries found instead of none: both intervals end at 1, or at -1."""
    none, most = _values({"h": [0] * 8}), _values({"h": [ONE] * 7 + [0]})
    more = _values({"h": [0] + [ONE] * 7})
    systems = (none, (most, more)) if sign == 1 else (most, (none, {key: ONE - value for key, value in most.items()}))
    found = compare_all("nDCG@10", systems[0], systems[1], "seed", 999)[0]
    low, high = found.contrast.low_e9, found.contrast.high_e9
    assert found.contrast.difference_e9 == Measured(sign * 875_000_000)
    assert (high if sign == 1 else low) == Measured(sign * ONE)
    assert (found.together_high_e9 if sign == 1 else found.together_low_e9) == Measured(sign * ONE)


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
    """A treatment that adds nearly the same to every query is nearly certain, however much queries differ."""
    control = _values({"h": [0, 100, 900_000_000, 5, 70_000, 3_000_000]})
    added = iter((999, 1_001, 1_000, 1_000, 1_000, 1_000))
    treatment = {key: value + next(added) for key, value in control.items()}
    found = compare("AP", control, treatment, "seed")
    assert (found.low_e9, found.difference_e9, found.high_e9) == (Measured(999), Measured(1_000), Measured(1_001))
    assert found.detectable_e9 == Measured(1)


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


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        ({"a": 6}, None),
        ({"a": 5}, "5 queries; an interval needs at least 6"),
        ({"a": 1}, "1 query; an interval needs at least 6"),
        ({"a": 5, "b": 1}, "one query alone says nothing of how queries vary, in: b"),
        ({"a": 2, "b": 1, "c": 1, "d": 1, "e": 1}, None),
    ],
)
def test_what_has_no_interval_is_known_before_any_answer(queries: dict[str, int], reason: str | None) -> None:
    """From how many queries there are of each corpus; where corpora are resampled, one query each is enough."""
    assert refusal(queries) == (None if reason is None else Unavailable(reason))
