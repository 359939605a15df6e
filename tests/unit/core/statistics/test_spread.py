from decimal import Decimal

import numpy as np
import pytest

from runner.core.quantities import Unavailable
from runner.core.statistics.spread import Spread, TaskSums, difference_spread, ratio_spread


def test_equal_tasks_give_the_textbook_variance() -> None:
    """Without leverage to correct, the variance of a mean: 10, 20, 30, 40 differ by a variance of 500/3, over 4 tasks."""
    found = difference_spread(TaskSums((100,) * 4, (110, 120, 130, 140), (1,) * 4))
    assert isinstance(found, Spread)
    assert float(found.variance) == pytest.approx(500 / 3 / 4, rel=1e-30)
    assert float(found.effective_tasks) == pytest.approx(900**2 / (210**2 + 220**2 + 230**2 + 240**2))


def test_unequal_tasks_leave_fewer_effective_ones() -> None:
    """Sizes 3, 1, 1 (control and treatment alike): 25 / 11 equally large tasks."""
    found = ratio_spread(TaskSums((30, 10, 10), (30, 10, 10), (1,) * 3))
    assert isinstance(found, Spread)
    assert found.variance == 0
    assert float(found.effective_tasks) == pytest.approx(25 / 11)
    assert float(found.df) == pytest.approx(25 / 11 - 1)


def test_degrees_of_freedom_are_at_least_one() -> None:
    """One task that is nearly everything doesn't make Student's t undefined."""
    found = ratio_spread(TaskSums((1_000, 1, 1), (1_000, 2, 1), (1,) * 3))
    assert isinstance(found, Spread)
    assert found.df == 1


def test_the_leverage_correction_is_unbiased() -> None:
    """Effects that vary in proportion to size: the mean of estimated variances is the variance of what is estimated."""
    generator = np.random.default_rng(11)
    control = np.array([500, 1_000, 2_000, 4_000, 9_000]) * 1_000
    ratios, variances = [], []
    for _ in range(2_000):
        treatment = (control * (1 + generator.normal(0, 0.05, 5))).astype(int)
        found = ratio_spread(TaskSums(tuple(map(int, control)), tuple(map(int, treatment)), (1,) * 5))
        assert isinstance(found, Spread)
        ratios.append(np.log(treatment.sum() / control.sum()))
        variances.append(float(found.variance))
    assert np.mean(variances) / np.var(ratios) == pytest.approx(1, abs=0.1)


def test_one_task_that_is_everything_has_no_spread() -> None:
    """Nothing is left to tell an error by."""
    reason = Unavailable("one task holds everything that was measured")
    assert ratio_spread(TaskSums((9, 0, 0), (9, 0, 0), (1,) * 3)) == reason
    assert difference_spread(TaskSums((9, 0), (9, 0), (1, 0))) == reason


def test_nothing_measured_anywhere_rests_on_all_tasks() -> None:
    """Zeros in both arms differ by 0, for certain; no size is left to be unequal in."""
    assert difference_spread(TaskSums((0,) * 5, (0,) * 5, (2,) * 5)) == Spread(Decimal(0), Decimal(5))
