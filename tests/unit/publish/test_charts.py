from runner.core.quantities import Measured, Unavailable
from runner.core.summary import Estimate
from runner.publish.charts import amount_axis, difference_axis, dumbbell, interval_mark, ratio_axis


def estimate(value: int, low: int, high: int) -> Estimate:
    return Estimate(value=Measured(value), low=Measured(low), high=Measured(high))


def test_a_ratio_axis_shows_every_interval_and_one() -> None:
    """0.68 to 0.80 beside 1 gives 0.6 to 1.0 in tenths."""
    axis = ratio_axis([estimate(740_000, 680_000, 800_000)])
    assert (axis.low, axis.high) == (600_000, 1_000_000)
    assert [(tick.label, tick.x) for tick in axis.ticks] == [
        ("0.60", "3.0%"),
        ("0.70", "26.5%"),
        ("0.80", "50.0%"),
        ("0.90", "73.5%"),
        ("1.00", "97.0%"),
    ]


def test_marks_stand_where_their_figures_are() -> None:
    """Linear from 3 % to 97 % of the width."""
    axis = ratio_axis([estimate(740_000, 680_000, 800_000)])
    mark = interval_mark(estimate(740_000, 680_000, 800_000), axis)
    assert mark is not None
    assert (mark.low, mark.x, mark.high, mark.reference, mark.has_interval) == (
        "21.8%",
        "35.9%",
        "50.0%",
        "97.0%",
        True,
    )


def test_a_wild_interval_is_cut_at_the_edge_and_says_so() -> None:
    """An axis to 100 would flatten every other interval."""
    wild = estimate(1_200_000, 900_000, 90_000_000)
    axis = ratio_axis([wild])
    mark = interval_mark(wild, axis)
    assert axis.high == 4_000_000
    assert mark is not None
    assert (mark.high, mark.beyond_high, mark.beyond_low) == ("97.0%", True, False)


def test_a_ratio_without_interval_is_a_dot_and_no_ratio_is_no_mark() -> None:
    """Nothing is drawn that isn't in the summary."""
    few = Unavailable("3 tasks")
    alone = Estimate(value=Measured(500_000), low=few, high=few)
    axis = ratio_axis([alone])
    mark = interval_mark(alone, axis)
    assert mark is not None
    assert not mark.has_interval
    assert interval_mark(Estimate(value=few, low=few, high=few), axis) is None


def test_an_axis_of_ones_has_width() -> None:
    """A ratio of exactly 1 everywhere still has a middle."""
    axis = ratio_axis([estimate(1_000_000, 1_000_000, 1_000_000)])
    assert (axis.low, axis.high, axis.at(1_000_000)) == (950_000, 1_050_000, "50.0%")


def test_a_difference_axis_shows_zero_and_speaks_in_percentage_points() -> None:
    """+8.3 to +40.0 points beside 0 gives 0 to 40 in tens."""
    difference = estimate(214_286, 83_333, 400_000)
    axis = difference_axis([difference])
    assert [tick.label for tick in axis.ticks] == ["0", "+10", "+20", "+30", "+40"]
    mark = interval_mark(difference, axis)
    assert mark is not None
    assert (mark.reference, mark.x, mark.high) == ("3.0%", "53.4%", "97.0%")


def test_amounts_start_at_zero_in_round_steps() -> None:
    """A cut axis would exaggerate differences; labels that wouldn't have room are left out."""
    axis = amount_axis([34_000, 97_000], str)
    assert axis.high == 100_000
    assert [tick.label for tick in axis.ticks] == ["0", "40000", "80000"]
    assert [tick.label for tick in amount_axis([34, 97], str).ticks] == ["0", "20", "40", "60", "80", "100"]
    assert amount_axis([0, 0], str).high == 1


def test_a_dumbbell_spans_its_dots() -> None:
    """Dots keep the order of the arms, whichever is larger."""
    axis = amount_axis([100], str)
    item = dumbbell([100, 0], axis)
    assert (item.from_x, item.to_x, item.dots) == ("3.0%", "97.0%", ("97.0%", "3.0%"))
