from decimal import Decimal

import numpy as np

from runner.core.statistics.simultaneous import widenings


def test_one_treatment_needs_no_widening() -> None:
    """Its interval holds with itself."""
    assert widenings([np.array([1, -2, 3])], 950_000) == [Decimal(1)]


def test_independent_treatments_are_widened_as_sidaks_rule_says() -> None:
    """Three independent normal deviations: the quantile of the largest is 2.388, of one 1.960 (Sidak 1967)."""
    generator = np.random.default_rng(4)
    deviations = [np.rint(generator.normal(0, scale, 40_000)).astype(np.int64) for scale in (1e4, 1e5, 1e6)]
    for factor in widenings(deviations, 950_000):
        assert abs(float(factor) - 2.388 / 1.960) < 0.03


def test_treatments_that_move_together_are_hardly_widened() -> None:
    """The same deviations twice are one comparison."""
    values = np.rint(np.random.default_rng(5).normal(0, 1e5, 9_999)).astype(np.int64)
    assert [round(factor, 6) for factor in widenings([values, values * 3], 950_000)] == [1, 1]


def test_no_deviation_at_all_is_not_widened() -> None:
    """Nothing to divide by, nothing to widen."""
    assert widenings([np.zeros(9, np.int64), np.zeros(9, np.int64)], 950_000) == [Decimal(1), Decimal(1)]
