"""How far reviewers agree beyond chance."""

from __future__ import annotations

import pytest

from runner.core.quantities import Measured, Unavailable
from runner.measure.agreement import alpha_ppm


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([list("aabb"), list("aabb")], Measured(1_000_000)),
        # Worked by hand: 1 - (n - 1) * disagreeing pairs / expected ones = 1 - 7 * 2 / 30.
        ([list("aaab"), list("aabb")], Measured(533_333)),
        ([list("ab"), list("ba")], Measured(-500_000)),
        ([list("aabb")], Unavailable("fewer than two reviewers")),
        ([list("aaaa"), list("aaaa")], Unavailable("all decisions are the same")),
        ([[], []], Unavailable("there is nothing to agree on")),
    ],
)
def test_alpha(rows: list[list[str]], expected: Measured[int] | Unavailable) -> None:
    """Nominal: being otherwise is all that counts."""
    assert alpha_ppm(rows) == expected
