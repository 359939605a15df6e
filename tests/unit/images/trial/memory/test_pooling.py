"""The last two steps from a model's output to a vector are fixed to the bit."""

from __future__ import annotations

import numpy as np
from memory.embedding import pool


def test_the_mean_of_the_counted_rows_has_length_one() -> None:
    """(3, 4) and (0, 0), the second uncounted, make (0.6, 0.8)."""
    hidden = np.array([[3.0, 4.0], [100.0, -7.0]], dtype=np.float32)
    assert pool(hidden, np.array([1, 0], dtype=np.int64)).tolist() == [
        np.float32(0.6).item(),
        np.float32(0.8).item(),
    ]


def test_sums_do_not_lose_what_float32_would() -> None:
    """1e8 + 1 - 1e8 is 1, and not 0."""
    hidden = np.array([[1e8, 3.0], [1.0, 0.0], [-1e8, 0.0]], dtype=np.float32)
    vector = pool(hidden, np.ones(3, dtype=np.int64))
    assert vector.tolist() == [np.float32(1 / 10**0.5).item(), np.float32(3 / 10**0.5).item()]


def test_nothing_to_count_has_no_direction() -> None:
    """Zero stays zero: no division by nothing."""
    hidden = np.ones((2, 3), dtype=np.float32)
    assert pool(hidden, np.zeros(2, dtype=np.int64)).tolist() == [0.0, 0.0, 0.0]
    assert pool(np.zeros((1, 3), dtype=np.float32), np.ones(1, dtype=np.int64)).tolist() == [0.0, 0.0, 0.0]


def test_a_vector_is_float32() -> None:
    """As an index stores it."""
    assert pool(np.ones((1, 384), dtype=np.float32), np.ones(1, dtype=np.int64)).dtype == np.float32
