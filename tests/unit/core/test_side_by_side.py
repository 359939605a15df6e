"""Figures of two summaries side by side: how far apart they are, and whether each lies in the other's interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.core.quantities import Measured, Unavailable
from runner.core.side_by_side import NO_INTERVAL, left_out, pairs_of
from runner.core.summary import Estimate, Summary

if TYPE_CHECKING:
    from runner.core.comparison import EstimatePair
    from runner.core.quantities import Quantity

GOLDEN = Summary.from_bytes(
    (Path(__file__).resolve().parents[2] / "golden" / "summary" / "summary.json").read_bytes(), "summary.json"
)
NONE = Unavailable("too few tasks")


def with_ratio(value: Quantity, low: Quantity, high: Quantity) -> Summary:
    """The golden summary, whose every ratio is this."""
    estimate = Estimate(value=value, low=low, high=high)
    views = tuple(
        view.model_copy(
            update={
                "contrasts": tuple(item.model_copy(update={"ratio_ppm": estimate}) for item in view.contrasts),
            }
        )
        for view in GOLDEN.views
    )
    return GOLDEN.model_copy(update={"views": views})


def ratio(a: Summary, b: Summary) -> EstimatePair:
    return next(pair for pair in pairs_of(a, b) if (pair.measure, pair.figure) == ("cost_microusd", "ratio"))


def test_a_summary_beside_itself() -> None:
    """Every estimate of every view, and every arm's own figure; nothing is apart."""
    found = pairs_of(GOLDEN, GOLDEN)
    contrasts = sum(len(view.contrasts) for view in GOLDEN.views)
    means = sum(len(row.arms) for view in GOLDEN.views for row in view.totals)
    assert len(found) == 3 * contrasts + means
    assert len(found) > 100
    assert {(pair.a, pair.a_low) == (pair.b, pair.b_low) for pair in found} == {True}
    assert {pair.difference for pair in found if isinstance(pair.a, Measured)} == {Measured(0)}
    assert {pair.a_low for pair in found if pair.figure == "mean"} == {NO_INTERVAL}


@pytest.mark.parametrize(
    ("a", "b", "within"),
    [
        ((900, 800, 1000), (950, 940, 960), ("no", "yes")),
        ((900, 800, 1000), (950, 850, 1050), ("yes", "yes")),
        ((900, 890, 910), (950, 940, 960), ("no", "no")),
        ((900, 900, 900), (900, 900, 900), ("yes", "yes")),
    ],
)
def test_each_point_lies_in_the_others_interval_or_not(
    a: tuple[int, int, int], b: tuple[int, int, int], within: tuple[str, str]
) -> None:
    """Ends belong to the interval."""
    found = ratio(with_ratio(*map(Measured, a)), with_ratio(*map(Measured, b)))
    assert (found.difference, (found.a_within_b, found.b_within_a)) == (Measured(b[0] - a[0]), within)
    assert (found.scale, found.unit, found.kind, found.headline) == (1_000_000, "microusd", "amount", True)


def test_without_a_point_or_an_interval_nobody_knows() -> None:
    """And the reason stays."""
    known = with_ratio(Measured(900), Measured(800), Measured(1000))
    pointless = with_ratio(NONE, NONE, NONE)
    found = ratio(known, pointless)
    assert (found.a_within_b, found.b_within_a) == ("unknown", "unknown")
    assert found.difference == Unavailable("B has none: too few tasks")
    assert ratio(pointless, known).difference == Unavailable("A has none: too few tasks")
    found = ratio(known, with_ratio(Measured(950), NONE, NONE))
    assert (found.difference, found.a_within_b, found.b_within_a) == (Measured(50), "unknown", "yes")


def test_what_only_one_has_is_named_and_left_out() -> None:
    """A measure, an arm, another unit; and contrasts of another control."""
    first, second, *rest = GOLDEN.measures
    other = GOLDEN.model_copy(
        update={
            "measures": (second.model_copy(update={"unit": "pounds"}), *rest),
            "study": GOLDEN.study.model_copy(update={"control": "another"}),
        }
    )
    assert [(item.what, item.reason) for item in left_out(GOLDEN, other)] == [
        (f"measure {first.name}", "only A has it"),
        (f"measure {second.name}", "its unit, scale or kind isn't the same"),
        ("contrasts", f"the control is {GOLDEN.study.control} in A, and another in B"),
    ]
    assert left_out(GOLDEN, GOLDEN) == ()


def test_a_figure_in_another_scale_has_no_partner() -> None:
    """Numbers that mean something else never stand side by side."""
    scaled = tuple(measure.model_copy(update={"scale": measure.scale * 10}) for measure in GOLDEN.measures)
    found = pairs_of(GOLDEN, GOLDEN.model_copy(update={"measures": scaled}))
    assert {pair.figure for pair in found} == {"ratio"}
