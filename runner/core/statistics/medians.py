"""Medians of many columns in every resample of their rows, without sorting any resample.

A resample's median stands near the middle of the sorted column: what lies below is counted for all columns at once, and
looked at closely is only what lies around the middle. Where a resample's median is elsewhere, all of it is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.statistics.exact import Floats, Integers

# In each direction, in roots of the number of rows: eight standard deviations of how many of a resample's rows stand in
# the lower half.
_AROUND: Final = 4


@dataclass(frozen=True)
class _Column:
    """One column, sorted, and the part of it that is looked at."""

    order: Integers
    ordered: Integers
    first: int
    end: int


class Columns:
    """Columns of equally many values, of which resamples are taken together."""

    def __init__(self, columns: Sequence[Integers]) -> None:
        """The columns, none of them empty."""
        self._rows = len(columns[0])
        around = _AROUND * math.isqrt(self._rows) + 1
        first, end = max(0, self._rows // 2 - around), min(self._rows, self._rows // 2 + around)
        self._columns: list[_Column] = []
        below = np.zeros((self._rows, len(columns)), dtype=np.float64)
        for number, column in enumerate(columns):
            order = np.argsort(column, kind="stable")
            below[order[:first], number] = 1
            self._columns.append(_Column(order, column[order], first, end))
        self._below: Floats = below

    def doubled_medians(self, counts: Integers) -> Integers:
        """Twice the median of every column in each resample, shape (columns, resamples).

        Each row stands in a resample as often as `counts`, of shape (resamples, rows), says.
        """
        if self._columns[0].first:
            below = np.rint(counts.astype(np.float64) @ self._below).astype(np.int64)
        else:
            below = np.zeros((len(counts), len(self._columns)), dtype=np.int64)
        found = np.empty((len(self._columns), len(counts)), dtype=np.int64)
        for number, column in enumerate(self._columns):
            found[number] = self._near(column, counts, below[:, number])
        return found

    def _near(self, column: _Column, counts: Integers, below: Integers) -> Integers:
        lower_rank, upper_rank = (self._rows - 1) // 2, self._rows // 2
        upto = np.cumsum(counts[:, column.order[column.first : column.end]], axis=1) + below[:, None]
        part = column.ordered[column.first : column.end]
        lower, upper = (upto > lower_rank).argmax(axis=1), (upto > upper_rank).argmax(axis=1)
        doubled: Integers = part[lower] + part[upper]
        elsewhere = np.flatnonzero((below > lower_rank) | (upto[:, -1] <= upper_rank))
        if elsewhere.size:
            doubled[elsewhere] = self._anywhere(column, counts[elsewhere])
        return doubled

    def _anywhere(self, column: _Column, counts: Integers) -> Integers:
        upto = np.cumsum(counts[:, column.order], axis=1)
        lower = (upto > (self._rows - 1) // 2).argmax(axis=1)
        upper = (upto > self._rows // 2).argmax(axis=1)
        doubled: Integers = column.ordered[lower] + column.ordered[upper]
        return doubled
