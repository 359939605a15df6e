"""The same integers come out whatever NumPy's instructions: what a summary seals, anybody can recompute."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TOP = Path(__file__).resolve().parents[4]
PROGRAM = """
import numpy, sys
if sys.argv[1:]:
    from numpy._core._multiarray_umath import __cpu_features__ as features
    assert not any(features[name] for name in sys.argv[1:]), "NumPy still uses what was to be off"
from decimal import Decimal
from runner.core.statistics.bootstrap import *
control = [(7919 * n) % 104729 + 2000 for n in range(36)]
treatment = [c * (60 + (31 * n) % 70) // 100 for n, c in enumerate(control)]
taken = Sample((3,) * 12, numpy.array([control, treatment]), numpy.ones(36, dtype=numpy.int64))
for method in ("corrected", "percentile", "bca", "smoothed"):
    bootstrap = Bootstrap("platforms", method=method)
    (found,) = bootstrap.resampled([taken])
    ratio, difference = bootstrap.ratio_deviations(found, 1), bootstrap.difference_deviations(found, 1, 1000)
    print(method, ratio_interval(ratio.estimate, bootstrap.ends(ratio, 12), Decimal(1)),
        difference_interval(difference.estimate, bootstrap.ends(difference, 12), Decimal(1)))
print(bootstrap.median_difference((3,) * 12, control[::3], treatment[::3]))
"""


def printed(*switched_off: str, threads: str = "") -> str:
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(switched_off)}
    if threads:
        environment |= {"OPENBLAS_NUM_THREADS": threads, "OPENBLAS_CORETYPE": "Haswell"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *switched_off],
        capture_output=True, text=True, check=False, cwd=TOP, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def dispatched() -> tuple[str, ...]:
    """The instructions that NumPy chooses at run time on this machine."""
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    names = np._core._multiarray_umath.__cpu_dispatch__  # type: ignore[attr-defined]
    return tuple(name for name in names if features[name])


@pytest.mark.slow
def test_results_do_not_depend_on_numpys_instructions() -> None:
    """All that NumPy dispatches at run time switched off, one thread instead of several: the same integers."""
    assert printed(*dispatched(), threads="1") == printed()


@pytest.mark.slow
def test_results_are_these() -> None:
    """Literal: another platform, Python or NumPy must give the same."""
    assert printed() == (Path(__file__).parent / "platforms.txt").read_text("utf-8")
