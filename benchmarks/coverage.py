"""How often do 95 % intervals hold the truth, at the sizes that people run?

Simulated studies: log-normal costs, tasks of different sizes that react differently to the treatment, repetitions that
differ, with and without heavy tails, an effect and missing pairs. Every study is the same for every method. Beside the
project's own methods stand SciPy's bootstrap of task totals, and `evalstats`' nested ones where it is installed.

    .venv/bin/python benchmarks/coverage.py [--studies 4000] [--resamples 999] [--peer-studies 400] [--jobs 2]
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import math
import multiprocessing
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from scipy import stats

from runner.core.quantities import Unavailable
from runner.core.statistics.bootstrap import Bootstrap, Interval, Sample, difference_interval, ratio_interval

EVALSTATS = importlib.util.find_spec("evalstats") is not None
OWN = {
    "corrected (default)": Bootstrap("", method="corrected"),
    "two levels, percentile": Bootstrap("", method="percentile"),
    "two levels, BCa": Bootstrap("", method="bca"),
    "two levels, smoothed": Bootstrap("", method="smoothed"),
    "tasks only, percentile": Bootstrap("", method="percentile", levels=1),
    "tasks only, BCa": Bootstrap("", method="bca", levels=1),
}


@dataclass(frozen=True)
class Cell:
    """One kind of study."""

    tasks: int
    repetitions: int
    task_sd: float
    repetition_sd: float
    effect: float = 0.0
    tail: str = "normal"
    missing: float = 0.0
    reaction_sd: float = 0.25

    def __str__(self):
        notes = [f"sd {self.task_sd} / {self.repetition_sd}"]
        notes += [f"ratio {math.exp(self.effect):.2f}"] if self.effect else []
        notes += ["heavy tails"] if self.tail != "normal" else []
        notes += [f"{self.missing:.0%} of blocks missing"] if self.missing else []
        return f"{self.tasks} x {self.repetitions}, {', '.join(notes)}"

    @property
    def true_ratio(self):
        return math.exp(self.effect)

    @functools.cached_property
    def true_difference(self):
        noise = self.repetition_noise(np.random.default_rng(1), (2_000_000,))
        return math.exp(11.5 + self.task_sd**2 / 2) * np.exp(noise).mean() * (self.true_ratio - 1)

    @functools.cached_property
    def true_median_difference(self):
        arms = replace(self, tasks=400_000).draw(np.random.default_rng(2))
        medians = [np.median(np.median(arm, axis=1)) for arm in arms]
        return medians[1] - medians[0]

    def repetition_noise(self, generator, shape):
        noise = generator.normal(0, self.repetition_sd, shape)
        if self.tail == "heavy":  # one repetition of ten varies three times as much
            noise = noise * np.where(generator.random(shape) < 0.1, 3, 1)
        return noise

    def draw(self, generator):
        """Costs of both arms, shape (tasks, repetitions); the mean reaction leaves the ratio of expected totals."""
        level = 11.5 + generator.normal(0, self.task_sd, (self.tasks, 1))
        reaction = self.effect + generator.normal(-(self.reaction_sd**2) / 2, self.reaction_sd, (self.tasks, 1))
        shape = (self.tasks, self.repetitions)
        return tuple(np.exp(level + own + self.repetition_noise(generator, shape)) for own in (0, reaction))

    def sample(self, number):
        """One study: its costs, and the sample that its complete blocks make."""
        generator = np.random.default_rng([number, self.tasks, self.repetitions])
        arms = self.draw(generator)
        there = generator.random((self.tasks, self.repetitions)) >= self.missing
        repetitions = tuple(int(count) for count in there.sum(axis=1) if count)
        values = np.array([arm[there].astype(np.int64) for arm in arms])
        return arms, Sample(repetitions, values, np.ones(values.shape[1], np.int64))


def own_intervals(number, resamples, sample):
    """(statistic, method) -> ends."""
    found = {}
    drawn = {}
    for name, bootstrap in OWN.items():
        own = replace(bootstrap, seed=f"study {number % 50}", resamples=resamples)
        tasks = len(sample.repetitions)
        if own.levels not in drawn:
            (resampled,) = own.resampled([sample])
            if isinstance(resampled, Unavailable):
                return {}
            drawn[own.levels] = (own.ratio_deviations(resampled, 1), own.difference_deviations(resampled, 1, 1))
        ratio, difference = drawn[own.levels]
        found["ratio", name] = ends(ratio_interval(ratio.estimate, own.ends(ratio, tasks), Decimal(1)), 1e6)
        found["difference", name] = ends(
            difference_interval(difference.estimate, own.ends(difference, tasks), Decimal(1)), 1
        )
    starts = np.cumsum((0, *sample.repetitions[:-1]))
    medians = [[int(np.median(part)) for part in np.split(arm, starts[1:])] for arm in sample.arms]
    median = Bootstrap(f"study {number % 50}", resamples).median_difference(sample.repetitions, *medians)
    found["median", "tasks only, percentile (default)"] = ends(median, 1)
    return found


def ends(interval, scale):
    assert isinstance(interval, Interval), interval
    return interval.low / scale, interval.high / scale


def peer_intervals(number, resamples, arms, sample):
    """The same of other programs; SciPy resamples task totals, `evalstats` knows no ratio."""
    found = {}
    starts = np.cumsum((0, *sample.repetitions[:-1]))
    totals = np.add.reduceat(sample.arms, starts, axis=1)
    counts = np.array(sample.repetitions)

    def ratio(control, treatment, _, axis):
        return treatment.sum(axis=axis) / control.sum(axis=axis)

    def difference(control, treatment, blocks, axis):
        return (treatment.sum(axis=axis) - control.sum(axis=axis)) / blocks.sum(axis=axis)

    for name, statistic in (("ratio", ratio), ("difference", difference)):
        for method in ("percentile", "BCa"):
            interval = stats.bootstrap(
                (*totals, counts), statistic, paired=True, vectorized=True, method=method, n_resamples=resamples,
                rng=np.random.default_rng(number),
            ).confidence_interval  # fmt: skip
            found[name, f"SciPy, {method}"] = interval.low, interval.high
    if EVALSTATS and sample.arms.shape[1] == arms[0].size:
        from evalstats.core.paired import pairwise_differences  # noqa: PLC0415 - only where it is installed

        scores = np.array([arms[1], arms[0]])
        for method in ("bootstrap", "bca", "smooth_bootstrap", "bootstrap_t", "t_interval"):
            result = pairwise_differences(
                scores if arms[0].shape[1] >= 3 else scores.mean(axis=2), 0, 1, "t", "c", method=method,
                n_bootstrap=resamples, rng=np.random.default_rng(number),
            )  # fmt: skip
            found["difference", f"evalstats, {method}"] = result.ci_low, result.ci_high
    return found


def one_study(cell, resamples, peers, number):
    arms, sample = cell.sample(number)
    found = own_intervals(number, resamples, sample)
    if number < peers:
        found |= peer_intervals(number, resamples, arms, sample)
    return found


def rows(cell, arguments, pool):
    truths = {"ratio": cell.true_ratio, "difference": cell.true_difference, "median": cell.true_median_difference}
    study = functools.partial(one_study, cell, arguments.resamples, arguments.peer_studies)
    gathered = {}
    for found in pool.imap_unordered(study, range(arguments.studies), chunksize=50):
        for key, interval in found.items():
            gathered.setdefault(key, []).append(interval)
    for (statistic, method), intervals in gathered.items():
        low, high = np.array(intervals).T
        truth = truths[statistic]
        held = np.mean((low <= truth) & (truth <= high))
        width = np.median(high / low) if statistic == "ratio" else np.median(high - low)
        error = math.sqrt(held * (1 - held) / len(low))
        below = np.mean(truth > high)
        yield (
            f"| {cell} | {statistic} | {method} | {100 * held:.1f} +- {100 * error:.1f} | {100 * below:.1f} | "
            f"{width:,.2f} | {len(low):,} |"
        )


def cells(arguments):
    sizes = [tuple(map(int, size.split("x"))) for size in arguments.sizes.split(",")]
    for tasks, repetitions in sizes:
        for sds in ((0.6, 0.3), (1.0, 0.5)):
            yield Cell(tasks, repetitions, *sds)
        if not arguments.plain:
            yield Cell(tasks, repetitions, 0.6, 0.3, effect=math.log(0.7))
            yield Cell(tasks, repetitions, 1.0, 0.5, effect=math.log(0.7))
            yield Cell(tasks, repetitions, 0.6, 0.3, tail="heavy")
            yield Cell(tasks, repetitions, 0.6, 0.3, missing=0.15)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=4_000, help="of each cell (4000)")
    parser.add_argument("--resamples", type=int, default=999, help="of each study (999)")
    parser.add_argument("--peer-studies", type=int, default=400, help="studies that other programs see too (400)")
    parser.add_argument("--sizes", default="6x2,12x3,40x5", help="tasks x repetitions (6x2,12x3,40x5)")
    parser.add_argument("--plain", action="store_true", help="no effect, no heavy tails, nothing missing")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    arguments = parser.parse_args()
    if not EVALSTATS:
        print("evalstats is not installed: its methods are left out\n")
    print("Without an effect, 100 % less the coverage is the type I error of `interval excludes no effect`.")
    print("Width: high / low of a ratio, high - low of a difference, median over studies.\n")
    print("| tasks x repetitions, task / repetition sd | of | method | coverage % | truth above % | width | studies |")
    print("|---|---|---|---|---|---|---|")
    with multiprocessing.Pool(arguments.jobs) as pool:
        for cell in cells(arguments):
            for row in rows(cell, arguments, pool):
                print(row, flush=True)


if __name__ == "__main__":
    main()
