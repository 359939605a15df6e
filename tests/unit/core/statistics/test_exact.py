from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from runner.core.statistics.exact import log_nano, normal_quantile, student_quantile, whole


def test_logarithms_are_right_to_the_last_written_digit() -> None:
    """Within half a unit of 1e-9 of NumPy's, which are right to about 1e-16."""
    ratios = np.random.default_rng(3).lognormal(0, 4, 100_000)
    assert abs(log_nano(ratios) - np.log(ratios) * 1e9).max() < 0.500001


def test_logarithms_of_round_numbers() -> None:
    """Literal values, also at the seam between two powers of two."""
    assert log_nano(np.array([1.0, 0.5, 2.0, 10.0, 0.7071067811865476, 1e-300])).tolist() == [
        0,
        -693_147_181,
        693_147_181,
        2_302_585_093,
        -346_573_590,
        -690_775_527_898,
    ]


@pytest.mark.parametrize("df", [1, 2, 3, 5, 8, 39, 120, 400])
@pytest.mark.parametrize("tail_ppm", [200_000, 25_000, 5_000])
def test_quantiles_of_students_t_are_scipys(df: int, tail_ppm: int) -> None:
    """Even and odd degrees of freedom have formulas of their own."""
    assert float(student_quantile(Decimal(df), tail_ppm)) == pytest.approx(stats.t.isf(tail_ppm / 1e6, df), abs=1e-6)


def test_between_whole_degrees_of_freedom_quantiles_err_on_the_wide_side() -> None:
    """By at most 3 %, from 1 to where t is normal."""
    for tenths in range(10, 300):
        for tail_ppm in (200_000, 25_000):
            found = float(student_quantile(Decimal(tenths) / 10, tail_ppm))
            assert 1 - 1e-6 < found / stats.t.isf(tail_ppm / 1e6, tenths / 10) < 1.03
    assert float(student_quantile(Decimal(5_000), 25_000)) == pytest.approx(stats.t.isf(0.025, 5_000), abs=1e-5)
    assert student_quantile(Decimal("0.3"), 25_000) == student_quantile(Decimal(1), 25_000)


def test_normal_quantiles() -> None:
    """Literal, to six decimals."""
    assert (normal_quantile(25_000), normal_quantile(200_000)) == (Decimal("1.959964"), Decimal("0.841621"))


def test_whole_numbers_are_half_to_even() -> None:
    """As every other figure."""
    assert [whole(Decimal(text)) for text in ("0.5", "1.5", "-0.5", "2.5", "2.51")] == [0, 2, 0, 2, 3]
