import math

import numpy as np
import pytest
from scipy import stats

from runner.core.quantities import Unavailable
from runner.core.statistics import Bootstrap, Interval, TaskSums, drawn_tasks


def test_draws_follow_from_the_seed_text_alone() -> None:
    """The literal draws hold on every platform and NumPy version: PCG64's raw stream is part of its contract."""
    assert drawn_tasks("pairbench", 5, 3).tolist() == [[1, 2, 3, 3, 3], [3, 4, 4, 3, 2], [0, 3, 2, 1, 2]]
    assert drawn_tasks("another", 5, 3).tolist()[0] != [1, 2, 3, 3, 3]


def test_draws_are_uniform() -> None:
    """Each of 7 tasks is drawn as often as the others, within five standard errors."""
    drawn = drawn_tasks("uniform", 7, 10_000)
    counts = np.bincount(drawn.ravel(), minlength=7)
    assert counts.shape == (7,)
    assert abs(counts - 10_000).max() < 5 * math.sqrt(70_000 * (1 / 7) * (6 / 7))


def test_tasks_that_agree_leave_no_doubt() -> None:
    """When every task has the same ratio and difference, each resample has too."""
    sums = TaskSums(control=(200,) * 6, treatment=(150,) * 6, divisor=(2,) * 6)
    bootstrap = Bootstrap("same")
    assert bootstrap.ratio_ppm(sums) == Interval(750_000, 750_000)
    assert bootstrap.mean_difference(sums, 1_000) == Interval(-25_000, -25_000)
    assert bootstrap.median_difference([5] * 6, [4] * 6) == Interval(-1, -1)


def test_few_tasks_have_no_interval() -> None:
    """A percentile of four tasks would be an ornament."""
    sums = TaskSums((1, 2, 3, 4), (1, 2, 3, 4), (1, 1, 1, 1))
    reason = Unavailable("4 tasks with complete blocks; an interval needs at least 5")
    bootstrap = Bootstrap("few")
    assert bootstrap.ratio_ppm(sums) == reason
    assert bootstrap.mean_difference(sums, 1_000) == reason
    assert bootstrap.median_difference((1, 2, 3, 4), (1, 2, 3, 4)) == reason


def test_a_control_that_can_be_zero_has_no_ratio_interval() -> None:
    """A resample of zeros would divide by nothing."""
    sums = TaskSums((0, 0, 0, 0, 1), (1,) * 5, (1,) * 5)
    assert Bootstrap("zeros").ratio_ppm(sums) == Unavailable("the control's total is 0 in some resamples")


def test_totals_beyond_exact_arithmetic_are_refused() -> None:
    """An overflow would be a silently wrong interval."""
    sums = TaskSums((10**13,) * 5, (10**13,) * 5, (1,) * 5)
    assert Bootstrap("large").ratio_ppm(sums) == Unavailable("totals are too large for exact 64-bit arithmetic")


def test_the_interval_agrees_with_scipys_percentile_bootstrap() -> None:
    """One level, the same data, other random numbers: equal within Monte Carlo error."""
    generator = np.random.default_rng(7)
    control = generator.lognormal(10, 0.6, 20).astype(int)
    treatment = (control * generator.lognormal(-0.2, 0.3, 20)).astype(int)
    theirs = stats.bootstrap(
        (control, treatment),
        lambda c, t, axis: t.sum(axis=axis) / c.sum(axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=9_999,
        rng=np.random.default_rng(8),
    ).confidence_interval
    ours = Bootstrap("scipy").ratio_ppm(TaskSums(tuple(map(int, control)), tuple(map(int, treatment)), (1,) * 20))
    assert isinstance(ours, Interval)
    assert ours.low / 1e6 == pytest.approx(theirs.low, abs=0.006)
    assert ours.high / 1e6 == pytest.approx(theirs.high, abs=0.006)


def test_medians_agree_with_numpys() -> None:
    """The interval of a median difference is that of NumPy's medians of the same draws."""
    control, treatment = [3, 9, 1, 7, 5, 4], [2, 2, 8, 6, 1, 5]
    drawn = drawn_tasks("medians", 6, 999)
    values = np.sort(np.median(np.array(treatment)[drawn], axis=1) - np.median(np.array(control)[drawn], axis=1))
    expected = Interval(int(np.rint(values[24])), int(np.rint(values[974])))
    assert Bootstrap("medians", resamples=999).median_difference(control, treatment) == expected


@pytest.mark.parametrize(
    ("tasks", "repetitions", "least", "most"),
    [(6, 2, 0.80, 0.89), (12, 2, 0.85, 0.94), (40, 5, 0.88, 0.96)],
)
def test_coverage_is_what_the_summary_says(tasks: int, repetitions: int, least: float, most: float) -> None:
    """400 simulated studies of skewed costs: the printed coverage holds within Monte Carlo error."""
    held = sum(_holds_the_truth(tasks, repetitions, number) for number in range(400))
    assert least <= held / 400 <= most


def _holds_the_truth(tasks: int, repetitions: int, number: int) -> bool:
    """Log-normal costs: task sd 0.6, treatment by task sd 0.25, repetition sd 0.3, and no effect on the log scale."""
    generator = np.random.default_rng([tasks, repetitions, number])
    level = 11.5 + generator.normal(0, 0.6, (tasks, 1))
    effect = generator.normal(0, 0.25, (tasks, 1))
    shape = (tasks, repetitions)
    control = np.exp(level + generator.normal(0, 0.3, shape)).astype(int).sum(axis=1)
    treatment = np.exp(level + effect + generator.normal(0, 0.3, shape)).astype(int).sum(axis=1)
    sums = TaskSums(tuple(map(int, control)), tuple(map(int, treatment)), (repetitions,) * tasks)
    interval = Bootstrap(f"study {number % 20}", resamples=999).ratio_ppm(sums)
    assert isinstance(interval, Interval)
    return interval.low <= math.exp(0.25**2 / 2) * 1_000_000 <= interval.high
