"""How fast are two-level resamples, beside SciPy's bootstrap and `evalstats`' nested one on the same arrays?

1,000 tasks x 10 repetitions x 12 measures, 10,000 resamples. SciPy's bootstrap knows one level, so the two-level scheme
has to loop over tasks; it is timed on a few tasks and measures and extrapolated, which is said. `evalstats` is timed
where it is installed, on one measure.

    .venv/bin/python benchmarks/resampling.py [--tasks 1000] [--repetitions 10] [--measures 12] [--resamples 10000]

Each figure is taken in a process of its own, so that its peak memory is its own. Ends 1 when a target is missed: 2 s
and 500 MB, 20 times as fast as SciPy, faster than `evalstats`.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy import stats

from runner.core.statistics.bootstrap import Bootstrap, MedianPair, Resampled, Sample

LIMIT_S, LIMIT_MB, SCIPY_RATIO = 2.0, 500, 20
EVALSTATS = importlib.util.find_spec("evalstats") is not None


def samples(arguments):
    generator = np.random.default_rng(7)
    shape = (arguments.tasks, arguments.repetitions)
    found = []
    for _ in range(arguments.measures):
        level = 11.5 + generator.normal(0, 0.6, (arguments.tasks, 1))
        arms = [np.exp(level + generator.normal(0, 0.3, shape)).astype(np.int64).ravel() for _ in range(2)]
        ones = np.ones(arms[0].size, np.int64)
        found.append(Sample((arguments.repetitions,) * arguments.tasks, np.array(arms), ones))
    return found


# Each work below takes the arrays, and returns the part of the whole that it did.
def ours(arguments, taken, *, intervals):
    """Totals of every measure in every resample; with their intervals where asked."""
    bootstrap = Bootstrap("benchmark", resamples=arguments.resamples)
    for found in bootstrap.resampled(taken):
        assert isinstance(found, Resampled)
        if intervals:
            for deviations in (bootstrap.ratio_deviations(found, 1), bootstrap.difference_deviations(found, 1, 1_000)):
                bootstrap.ends(deviations, arguments.tasks)
    return 1


def medians(arguments, taken):
    pairs = []
    for sample in taken:
        shaped = sample.arms.reshape(2, arguments.tasks, arguments.repetitions)
        control, treatment = ([int(value) for value in np.median(arm, axis=1)] for arm in shaped)
        pairs.append(MedianPair(sample.repetitions, control, treatment))
    Bootstrap("benchmark", resamples=arguments.resamples).median_differences(pairs)
    return 1


def scipy_loop(arguments, taken):
    """Repetitions of each drawn task by `scipy.stats.bootstrap`, task after task; a few of them."""
    few = min(10, arguments.tasks)
    shaped = taken[0].arms.reshape(2, arguments.tasks, arguments.repetitions).astype(float)
    for task in range(few):
        stats.bootstrap(
            (shaped[0, task], shaped[1, task]),
            lambda control, treatment, axis: treatment.sum(axis=axis) - control.sum(axis=axis),
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=arguments.resamples,
            rng=np.random.default_rng(task),
        )
    return few / arguments.tasks / arguments.measures


def scipy_one_level(arguments, taken):
    """Task totals of each measure, one level: less work than was asked for."""
    few = min(2, arguments.measures)
    for sample in taken[:few]:
        totals = sample.arms.reshape(2, arguments.tasks, arguments.repetitions).sum(axis=2).astype(float)
        stats.bootstrap(
            tuple(totals),
            lambda control, treatment, axis: treatment.sum(axis=axis) / control.sum(axis=axis),
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=arguments.resamples,
            batch=500,
            rng=np.random.default_rng(1),
        )
    return few / arguments.measures


def evalstats_nested(arguments, taken):
    """Its nested bootstrap of a difference of means, one measure."""
    from evalstats.core.resampling import bootstrap_diffs_nested  # noqa: PLC0415 - only where it is installed

    shaped = taken[0].arms.reshape(2, arguments.tasks, arguments.repetitions).astype(float)
    bootstrap_diffs_nested(shaped[1], shaped[0], arguments.resamples, np.random.default_rng(1))
    return 1 / arguments.measures


def measured(work, arguments, options):
    taken = samples(arguments)
    wall, busy = time.perf_counter(), time.process_time()
    part = work(arguments, taken, **options)
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    return wall / part, busy / part, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(work, arguments, **options):
    """Seconds, CPU seconds and peak megabytes of `work` in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, work, arguments, options).result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--measures", type=int, default=12)
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    rows = [
        ("Pairbench, two levels: totals of all measures", apart(ours, arguments, intervals=False)),
        ("Pairbench, the same with ratio and difference intervals", apart(ours, arguments, intervals=True)),
        ("Pairbench, medians over tasks with intervals", apart(medians, arguments)),
        (
            "scipy.stats.bootstrap in a loop over tasks (10 tasks x 1 measure, extrapolated)",
            apart(scipy_loop, arguments),
        ),
        (
            "scipy.stats.bootstrap, one level of task totals (2 measures, extrapolated)",
            apart(scipy_one_level, arguments),
        ),
    ]
    if EVALSTATS:
        rows.append(("evalstats, nested (1 measure, extrapolated)", apart(evalstats_nested, arguments)))
    base = rows[0][1][0]
    print(
        f"{arguments.tasks:,} tasks x {arguments.repetitions} repetitions x {arguments.measures} measures, "
        f"{arguments.resamples:,} resamples\n"
    )
    print("| method | seconds | times the first | CPU seconds | peak MB |\n|---|---|---|---|---|")
    for name, (seconds, busy, megabytes) in rows:
        print(f"| {name} | {seconds:,.2f} | {seconds / base:,.1f} | {busy:,.2f} | {megabytes:,.0f} |")
    if not EVALSTATS:
        print("\nevalstats is not installed: left out")
    seconds, _, megabytes = rows[0][1]
    missed = [
        said
        for said, holds in (
            (f"at most {LIMIT_S} s", seconds <= LIMIT_S),
            (f"at most {LIMIT_MB} MB", megabytes <= LIMIT_MB),
            (f"at least {SCIPY_RATIO} times as fast as SciPy in a loop", rows[3][1][0] >= SCIPY_RATIO * seconds),
            ("faster than evalstats", not EVALSTATS or rows[-1][1][0] > seconds),
        )
        if not holds
    ]
    print("\nmissed: " + "; ".join(missed) if missed else "\nevery target is met")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
