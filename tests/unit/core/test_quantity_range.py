"""A figure that is too large for a document is unavailable, and never an error at the end of a run."""

from __future__ import annotations

from runner.core.quantities import Measured, Unavailable
from runner.core.summary import Range


def test_a_figure_beyond_what_documents_hold_is_unavailable() -> None:
    """2**53 - 1 is the last integer that every reader of JSON keeps."""
    made = Range(low=Measured(2**53 - 1), high=Measured(2**53))
    assert made.low == Measured(9007199254740991)
    assert made.high == Unavailable("beyond 2**53 - 1, the largest figure that a document holds")
