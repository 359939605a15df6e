"""Medians of resamples, looked at near the middle only, are those of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from runner.core.statistics import draws
from runner.core.statistics.bootstrap import Bootstrap, Interval, MedianPair
from runner.core.statistics.draws import Design, block_counts, task_counts
from runner.core.statistics.medians import Columns


def by_sorting(column: np.ndarray, counts: np.ndarray) -> list[int]:
    """Each resample written out, sorted, and its two middle values added."""
    found = []
    for row in counts:
        drawn = sorted(np.repeat(column, row).tolist())
        found.append(drawn[(len(drawn) - 1) // 2] + drawn[len(drawn) // 2])
    return found


@pytest.mark.parametrize("rows", [1, 2, 5, 40, 41, 400, 1001])
def test_medians_are_those_of_the_sorted_resamples(rows: int) -> None:
    """Few rows and many, an odd number and an even one, values that stand several times and values all alike."""
    generator = np.random.default_rng(rows)
    columns = [
        generator.integers(-1000, 1000, rows),
        generator.integers(0, 3, rows),
        np.full(rows, 7),
        np.arange(rows)[::-1].copy(),
    ]
    drawn = generator.integers(0, rows, (30, rows))
    counts = np.array([np.bincount(row, minlength=rows) for row in drawn])
    found = Columns(columns).doubled_medians(counts)
    assert found.tolist() == [by_sorting(column, counts) for column in columns]


def test_a_median_far_from_the_middle_is_found() -> None:
    """No draw gives such a resample in a lifetime: all rows are the first one, or the last."""
    column = np.arange(1000)
    counts = np.zeros((3, 1000), dtype=np.int64)
    counts[0, 0], counts[1, 999], counts[2, 500] = 1000, 1000, 1000
    assert Columns([column]).doubled_medians(counts).tolist() == [[0, 1998, 1000]]


def test_contrasts_of_different_sizes_are_computed_together() -> None:
    """Each as if it stood alone, and those that have none say why."""
    bootstrap = Bootstrap("together", resamples=199)
    six = MedianPair((2,) * 6, (1, 2, 3, 4, 5, 6), (2, 4, 6, 8, 10, 12))
    other = MedianPair((1,) * 6, (6, 5, 4, 3, 2, 1), (1, 1, 1, 1, 1, 1))
    seven = MedianPair((2,) * 7, (1, 2, 3, 4, 5, 6, 7), (7, 6, 5, 4, 3, 2, 1))
    few = MedianPair((9,) * 2, (1, 2), (3, 4))
    huge = MedianPair((2,) * 6, (1 << 60,) * 6, (1,) * 6)
    found = bootstrap.median_differences([six, few, seven, other, huge])
    alone = [
        bootstrap.median_difference(pair.repetitions, pair.control, pair.treatment) for pair in (six, seven, other)
    ]
    assert [found[0], found[2], found[3]] == alone
    assert all(isinstance(interval, Interval) for interval in alone)
    assert "2 tasks with complete blocks" in str(found[1])
    assert "too large" in str(found[4])


def test_draws_are_the_same_whether_they_are_kept_or_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a large study draws a part at a time is what a small one keeps."""
    design = Design("draws", 99, (3, 1, 2, 3, 3))
    kept = [np.concatenate([part for _, part in counts(design)]) for counts in (task_counts, block_counts)]
    monkeypatch.setattr(draws, "_KEPT", 0)
    monkeypatch.setattr(draws, "_AT_ONCE", 70)
    again = [np.concatenate([part for _, part in counts(design)]) for counts in (task_counts, block_counts)]
    assert all((one == other).all() for one, other in zip(kept, again, strict=True))
