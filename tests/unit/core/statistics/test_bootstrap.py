import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from runner.core.quantities import Unavailable
from runner.core.statistics.bootstrap import (
    Bootstrap,
    Deviations,
    Interval,
    IntervalOrReason,
    Resampled,
    Sample,
    difference_interval,
    ratio_interval,
)
from runner.core.statistics.draws import drawn_tasks


def sample(control: list[int], treatment: list[int], repetitions: tuple[int, ...] = ()) -> Sample:
    return Sample(repetitions or (1,) * len(control), np.array([control, treatment]), np.ones(len(control), np.int64))


def resampled(bootstrap: Bootstrap, taken: Sample) -> Resampled:
    (found,) = bootstrap.resampled([taken])
    assert isinstance(found, Resampled)
    return found


def ratio(bootstrap: Bootstrap, taken: Sample) -> IntervalOrReason:
    found = bootstrap.ratio_deviations(resampled(bootstrap, taken), 1)
    if isinstance(found, Unavailable):
        return found
    return ratio_interval(found.estimate, bootstrap.ends(found, len(taken.repetitions)), Decimal(1))


def difference(bootstrap: Bootstrap, taken: Sample, scale: int = 1_000) -> IntervalOrReason:
    found = bootstrap.difference_deviations(resampled(bootstrap, taken), 1, scale)
    if isinstance(found, Unavailable):
        return found
    return difference_interval(found.estimate, bootstrap.ends(found, len(taken.repetitions)), Decimal(1))


def skewed(seed: int, tasks: int, repetitions: int) -> Sample:
    """Log-normal costs: task sd 0.6, treatment by task sd 0.25, repetition sd 0.3, true ratio 1."""
    generator = np.random.default_rng([seed, tasks, repetitions])
    level = 11.5 + generator.normal(0, 0.6, (tasks, 1))
    effect = generator.normal(-(0.25**2) / 2, 0.25, (tasks, 1))
    shape = (tasks, repetitions)
    arms = [np.exp(level + added + generator.normal(0, 0.3, shape)).astype(np.int64).ravel() for added in (0, effect)]
    return Sample((repetitions,) * tasks, np.array(arms), np.ones(tasks * repetitions, np.int64))


def test_tasks_that_agree_leave_no_doubt() -> None:
    """When every task has the same ratio and difference, each resample has too, whatever the method."""
    agreeing = sample([200] * 12, [150] * 12, (2,) * 6)
    for bootstrap in (Bootstrap("same", method=method) for method in ("corrected", "percentile", "bca", "smoothed")):
        assert ratio(bootstrap, agreeing) == Interval(750_000, 750_000)
        assert difference(bootstrap, agreeing) == Interval(-50_000, -50_000)
    assert Bootstrap("same").median_difference((2,) * 6, [5] * 6, [4] * 6) == Interval(-1, -1)


def test_few_tasks_or_pairs_have_no_interval() -> None:
    """A percentile of four tasks, or of five pairs, would be an ornament."""
    bootstrap = Bootstrap("few")
    tasks = Unavailable("4 tasks with complete blocks; an interval needs at least 5")
    pairs = Unavailable("5 complete blocks; an interval needs at least 6")
    few = [sample([1, 2, 3, 4], [1, 2, 3, 4]), sample([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])]
    assert bootstrap.resampled(few) == (tasks, pairs)
    assert bootstrap.median_difference((3,) * 4, (1, 2, 3, 4), (1, 2, 3, 4)) == tasks
    assert bootstrap.median_difference((1,) * 5, (1,) * 5, (1,) * 5) == pairs


def test_a_total_that_can_be_zero_has_no_ratio_interval() -> None:
    """A resample of zeros would divide by nothing, or have no logarithm."""
    zeros = [0, 0, 0, 0, 0, 1]
    bootstrap = Bootstrap("zeros")
    assert ratio(bootstrap, sample(zeros, [1] * 6)) == Unavailable("the control's total is 0 in some resamples")
    assert ratio(bootstrap, sample([1] * 6, zeros)) == Unavailable("the treatment's total is 0 in some resamples")


def test_one_task_that_holds_everything_has_no_interval() -> None:
    """Its leverage is 1: nothing is left to see an error by."""
    holding = sample([0] * 5 + [9], [0] * 5 + [9])
    holding = Sample(holding.repetitions, holding.arms, holding.arms[0])
    assert difference(Bootstrap("one"), holding) == Unavailable("there is nothing to divide by in some resamples")


def test_totals_beyond_exact_arithmetic_are_refused() -> None:
    """An overflow would be a silently wrong interval."""
    reason = Unavailable("totals are too large for exact arithmetic")
    assert Bootstrap("large").resampled([sample([2**51] * 6, [2**51] * 6)]) == (reason,)
    assert difference(Bootstrap("large"), sample([0] * 6, [10**13] * 6), 10**6) == reason


def test_one_repetition_is_resampled_on_one_level() -> None:
    """Two levels of single repetitions are tasks alone, and the result says so."""
    one = skewed(1, 8, 1)
    two_levels, one_level = Bootstrap("x", method="percentile"), Bootstrap("x", method="percentile", levels=1)
    assert resampled(two_levels, one).levels == 1
    assert ratio(two_levels, one) == ratio(one_level, one)
    assert resampled(two_levels, skewed(1, 8, 2)).levels == 2


def test_samples_computed_together_are_those_computed_alone() -> None:
    """Sharing resamples saves work and changes nothing; different repetitions in one call don't mix."""
    bootstrap = Bootstrap("together")
    samples = [skewed(1, 8, 2), skewed(2, 8, 2), skewed(3, 7, 3)]
    for mine, taken in zip(bootstrap.resampled(samples), samples, strict=True):
        assert isinstance(mine, Resampled)
        assert (mine.arms == resampled(bootstrap, taken).arms).all()


@pytest.mark.parametrize("statistic", ["ratio", "difference"])
def test_one_level_agrees_with_scipys_percentile_bootstrap(statistic: str) -> None:
    """One level, the same data, other random numbers: equal within Monte Carlo error."""
    taken = skewed(5, 20, 1)

    def theirs(control: np.ndarray, treatment: np.ndarray, axis: int) -> np.ndarray:
        if statistic == "ratio":
            return np.asarray(treatment.sum(axis=axis) / control.sum(axis=axis))
        return np.asarray(treatment.mean(axis=axis) - control.mean(axis=axis))

    found = stats.bootstrap(
        tuple(taken.arms),
        theirs,
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=9_999,
        rng=np.random.default_rng(8),
    )
    bootstrap = Bootstrap("scipy", method="percentile", levels=1)
    ours = ratio(bootstrap, taken) if statistic == "ratio" else difference(bootstrap, taken)
    assert isinstance(ours, Interval)
    scale = 1_000_000 if statistic == "ratio" else 1_000
    # A quantile at 2.5 % of 9,999 resamples has a standard error of about 0.027 standard errors of the statistic.
    within = 5 * math.sqrt(2) * 0.027 * float(found.standard_error)
    assert ours.low / scale == pytest.approx(found.confidence_interval.low, abs=within)
    assert ours.high / scale == pytest.approx(found.confidence_interval.high, abs=within)


def test_bca_agrees_with_scipys() -> None:
    """One level, the same data, other random numbers."""
    taken = skewed(6, 20, 1)
    found = stats.bootstrap(
        tuple(taken.arms),
        lambda control, treatment, axis: treatment.mean(axis=axis) - control.mean(axis=axis),
        paired=True,
        vectorized=True,
        method="BCa",
        n_resamples=9_999,
        rng=np.random.default_rng(8),
    )
    ours = difference(Bootstrap("bca", method="bca", levels=1), taken)
    assert isinstance(ours, Interval)
    within = 0.3 * float(found.standard_error)
    assert ours.low / 1_000 == pytest.approx(found.confidence_interval.low, abs=within)
    assert ours.high / 1_000 == pytest.approx(found.confidence_interval.high, abs=within)


def test_medians_agree_with_numpys() -> None:
    """The interval of a median difference is that of NumPy's medians of the same draws."""
    control, treatment = [3, 9, 1, 7, 5, 4], [2, 2, 8, 6, 1, 5]
    drawn = drawn_tasks("medians", 6, 999)
    values = np.sort(np.median(np.array(treatment)[drawn], axis=1) - np.median(np.array(control)[drawn], axis=1))
    expected = Interval(int(np.rint(values[24])), int(np.rint(values[974])))
    assert Bootstrap("medians", resamples=999).median_difference((2,) * 6, control, treatment) == expected


def test_a_smeared_interval_is_wider() -> None:
    """Silverman's kernel adds variance and takes none."""
    taken = skewed(7, 8, 2)
    plain, smeared = (ratio(Bootstrap("smear", method=method), taken) for method in ("percentile", "smoothed"))
    assert isinstance(plain, Interval)
    assert isinstance(smeared, Interval)
    assert smeared.high - smeared.low > plain.high - plain.low


def test_doubling_everything_leaves_ratios_and_doubles_differences() -> None:
    """To the last digit of what is written: deviations are finer than figures."""
    taken = skewed(8, 9, 3)
    twice = Sample(taken.repetitions, taken.arms * 2, taken.divisor)
    bootstrap = Bootstrap("double")
    assert ratio(bootstrap, taken) == ratio(bootstrap, twice)
    once, double = difference(bootstrap, taken), difference(bootstrap, twice)
    assert isinstance(once, Interval)
    assert isinstance(double, Interval)
    assert abs(double.low - 2 * once.low) <= 2
    assert abs(double.high - 2 * once.high) <= 2


def test_deviations_are_less_the_estimate() -> None:
    """The estimate of a contrast is that of the sample itself, and resamples lie around it."""
    taken = sample([100, 200, 300] * 4, [50, 100, 150] * 4, (2,) * 6)
    found = Bootstrap("around").ratio_deviations(resampled(Bootstrap("around"), taken), 1)
    assert isinstance(found, Deviations)
    assert found.estimate == -693_147_181
    assert set(found.values.tolist()) == {0}


@pytest.mark.parametrize(("tasks", "repetitions", "least", "most"), [(6, 2, 0.91, 0.985), (12, 3, 0.915, 0.98)])
def test_coverage_is_what_the_summary_says(tasks: int, repetitions: int, least: float, most: float) -> None:
    """400 simulated studies of skewed costs: the printed coverage holds within Monte Carlo error."""
    held = 0
    for number in range(400):
        interval = ratio(Bootstrap(f"study {number % 20}", resamples=499), skewed(number, tasks, repetitions))
        assert isinstance(interval, Interval)
        held += interval.low <= 1_000_000 <= interval.high
    assert least <= held / 400 <= most
