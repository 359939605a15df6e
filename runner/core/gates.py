"""A threshold that a study freezes before it runs: which figure of which contrast must lie where.

A gate is part of the study, and the lock holds the study's digest and the gates themselves: one that changes after the
lock was written is refused wherever the run is read.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final, Literal, Self

from pydantic import StringConstraints, model_validator

from runner.core.documents import Part
from runner.core.rounding import PPM

AMOUNTS: Final = (
    "cost_microusd",
    "client_cost_microusd",
    "memory_cost_microusd",
    "reported_cost_microusd",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_5m_input_tokens",
    "cache_write_1h_input_tokens",
    "reported_total_tokens",
    "memory_total_tokens",
    "wall_ms",
    "startup_ms",
    "model_ms",
    "working_ms",
    "model_requests",
    "turns",
    "tool_calls",
    "memory_calls",
)
SHARES: Final = ("references", "reference_files", "diagnostic")
AMOUNT_SCALE: Final = 1_000
"""Means and differences of amounts are in thousandths of their unit; shares in parts per million."""

GateName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
BoundText = Annotated[str, StringConstraints(pattern=r"^-?[0-9]{1,12}(\.[0-9]{1,6})?$")]
"""A decimal number as text: TOML's own would be a float."""


class Gate(Part):
    """One threshold; exactly one of `at_most` and `at_least` is given."""

    name: GateName
    measure: str
    arm: GateName
    figure: Literal["ratio", "mean_difference", "median_difference"] = "ratio"
    end: Literal["low", "estimate", "high"]
    at_most: BoundText | None = None
    at_least: BoundText | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("exactly one of at_most and at_least is needed")
        if self.measure not in {*AMOUNTS, *SHARES}:
            raise ValueError(f"measure {self.measure!r} is none of {', '.join((*AMOUNTS, *SHARES))}")
        scaled = Decimal(self.bound) * self.scale
        if scaled != int(scaled):
            raise ValueError(f"the bound {self.bound} is finer than 1/{self.scale}, in which the figure is written")
        return self

    @property
    def bound(self) -> str:
        """The bound as the study writes it."""
        return self.at_most if self.at_most is not None else self.at_least or "0"

    @property
    def scale(self) -> int:
        """The figure is in units of 1/scale."""
        return AMOUNT_SCALE if self.figure != "ratio" and self.measure in AMOUNTS else PPM

    @property
    def bound_scaled(self) -> int:
        """The bound in units of 1/scale."""
        return int(Decimal(self.bound) * self.scale)
