import numpy as np

from runner.core.quantities import Measured, Unavailable
from runner.core.rounding import doubled_median, rounded_quotient, scaled_quartiles, scaled_ratio


def test_halves_go_to_the_even_neighbour_on_both_sides_of_zero() -> None:
    """Half to even, so that neither arm is favoured by a tie."""
    assert [rounded_quotient(number, 2) for number in (1, 3, 5, -1, -3, -5)] == [0, 2, 2, 0, -2, -2]


def test_other_fractions_go_to_the_nearest_integer() -> None:
    """Thirds have no tie."""
    assert [rounded_quotient(number, 3) for number in (1, 2, 4, 5, -1, -2)] == [0, 1, 1, 2, 0, -1]


def test_a_ratio_without_denominator_says_why() -> None:
    """Nothing divided by nothing is a reason, never 0."""
    assert scaled_ratio(2, 3, 1_000_000, "no control") == Measured(666_667)
    assert scaled_ratio(2, 0, 1_000_000, "no control") == Unavailable("no control")


def test_the_median_between_two_values_stays_an_integer() -> None:
    """Twice the median is exact for odd and even counts, in any order."""
    assert doubled_median([5, 1, 3]) == 6
    assert doubled_median([4, 1, 2, 3]) == 5


def test_quartiles_are_numpys() -> None:
    """Linear between neighbours, for every remainder of the count by 4, in any order."""
    generator = np.random.default_rng(9)
    for count in range(1, 30):
        values = [int(value) for value in generator.integers(0, 10**6, count)]
        expected = np.rint(np.quantile(values, [0.25, 0.5, 0.75]))
        assert list(scaled_quartiles(values)) == [int(value) for value in expected]


def test_quartiles_between_two_values_are_rounded_half_to_even() -> None:
    """1 and 2: a quarter, a half and three quarters of the way."""
    assert scaled_quartiles([2, 1]) == (1, 2, 2)
    assert scaled_quartiles([7]) == (7, 7, 7)
