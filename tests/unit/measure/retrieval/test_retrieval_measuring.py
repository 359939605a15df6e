"""Measures of rankings, against figures worked out by hand."""

from __future__ import annotations

from runner.measure.retrieval.measuring import AT_ONCE, measure_names, measured


def test_names_are_those_of_the_command_line() -> None:
    """The names are what ir_measures takes."""
    assert measure_names((1, 10)) == (
        "R@1",
        "R@10",
        "P@1",
        "P@10",
        "nDCG@1",
        "nDCG@10",
        "RR",
        "AP",
        "Judged@1",
        "Judged@10",
    )


def test_worked_example() -> None:
    """Grades a: 3, b: 1, c: 1, d: 0; ranking b, x, a, d.

    R@3 = 2/3. P@3 = 2/3. RR = 1/1. AP = (1/1 + 2/3 + 0) / 3 = 5/9. Judged@3 = 2/3, of b, x, a.
    nDCG@3 = (1/log2(2) + 3/log2(4)) / (3/log2(2) + 1/log2(3) + 1/log2(4)) = 2.5 / 4.130929754 = 0.605190635.
    """
    (found,) = measured([("q", ["b", "x", "a", "d"])], {"q": {"a": 3, "b": 1, "c": 1, "d": 0}}, (1, 3))
    assert found == {
        "R@1": 333_333_333,
        "R@3": 666_666_667,
        "P@1": 1_000_000_000,
        "P@3": 666_666_667,
        "nDCG@1": 333_333_333,
        "nDCG@3": 605_190_635,
        "RR": 1_000_000_000,
        "AP": 555_555_556,
        "Judged@1": 1_000_000_000,
        "Judged@3": 666_666_667,
    }


def test_short_rankings_divide_by_k_in_precision_only() -> None:
    """One relevant source found, k = 5: P@5 = 1/5, R@5 = 1/2, and Judged@5 = 1/1, of what there is."""
    (found,) = measured([("q", ["a"])], {"q": {"a": 1, "b": 1}}, (5,))
    assert (found["P@5"], found["R@5"], found["Judged@5"]) == (200_000_000, 500_000_000, 1_000_000_000)


def test_order_decides_where_names_would() -> None:
    """Sources keep the order that they are given in, whatever trec_eval would make of their names."""
    first, second = measured([("q", ["a", "z"]), ("q", ["z", "a"])], {"q": {"a": 1}}, (1,))
    assert (first["RR"], second["RR"]) == (1_000_000_000, 500_000_000)


def test_queries_without_results_count_as_nothing_found() -> None:
    """Every measure is 0: none is missing."""
    (found,) = measured([("q", [])], {"q": {"a": 1}}, (1,))
    assert found == {"R@1": 0, "P@1": 0, "nDCG@1": 0, "RR": 0, "AP": 0, "Judged@1": 0}


def test_queries_without_answer_have_no_measure() -> None:
    """What nothing answers can't be found."""
    assert next(measured([("nothing", ["a"]), ("q", ["a"])], {"q": {"a": 1}}, (1,))) == {}


def test_order_is_kept_across_chunks() -> None:
    """More queries than are measured at once come back in their order, each with its own figure."""
    size = 2 * AT_ONCE + 1
    rankings = [(f"q{number}", [f"x{rank}" for rank in range(number % 4)] + ["a"]) for number in range(size)]
    found = list(measured(rankings, {f"q{number}": {"a": 1} for number in range(size)}, (1,)))
    expected = [1_000_000_000, 500_000_000, 333_333_333, 250_000_000]
    assert [values["RR"] for values in found] == [expected[number % 4] for number in range(size)]


def test_no_rankings_at_all() -> None:
    """Nothing in, nothing out."""
    assert list(measured([], {"q": {"a": 1}}, (1,))) == []
