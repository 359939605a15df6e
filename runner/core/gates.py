"""A threshold that a study freezes before it runs: which figure of which contrast must lie where.

A gate is part of the study, and the lock holds the study's digest and the gates themselves: one that changes after the
lock was written is refused wherever the run is read.
"""

from __future__ import annotations

import re
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import StringConstraints, model_validator

from runner.core.documents import Part
from runner.core.rounding import PPM

if TYPE_CHECKING:
    from collections.abc import Sequence

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
RETRIEVAL_COUNTS: Final = (
    "violations",
    "foreign_workspace",
    "deleted",
    "expired",
    "not_yet_known",
    "failed_queries",
    "unmapped_results",
)
"""Of one system's rankings; the four after the first are violations of one kind."""
ABSTENTION: Final = "abstention"
"""Share of the queries without an answer for which a system returned nothing."""
RETRIEVAL_LATENCIES: Final = ("latency_p50_us", "latency_p95_us")
RETRIEVAL_SCALE: Final = 10**9
"""Measures of rankings are in units of 1e-9."""
_RETRIEVAL_MEASURE: Final = re.compile(r"(R|P|nDCG|Judged)@[1-9][0-9]{0,3}|RR|AP")
_AT_K: Final = ("R@k", "P@k", "nDCG@k", "Judged@k")
_WHOLE: Final = ("RR", "AP")
_OTHER_NAMES: Final = {"recall": "R@k", "precision": "P@k", "mrr": "RR", "map": "AP"}
"""What the field also calls them."""
_TIMED: Final = "wall_ms"
"""Of trials of any study, those of retrieval included."""
SHARES: Final = ("references", "reference_files", "diagnostic")
AMOUNT_SCALE: Final = 1_000
"""Means and differences of amounts are in thousandths of their unit; shares in parts per million."""

GateName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
ArmName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
BoundText = Annotated[str, StringConstraints(pattern=r"^-?[0-9]{1,12}(\.[0-9]{1,6})?$")]
"""A decimal number as text: TOML's own would be a float."""


def scale_of(measure: str, figure: str = "value") -> int:
    """What a gate's figure is in units of: 1 / scale."""
    if _RETRIEVAL_MEASURE.fullmatch(measure) is not None:
        return RETRIEVAL_SCALE
    if measure in (*RETRIEVAL_COUNTS, *RETRIEVAL_LATENCIES):
        return 1
    return AMOUNT_SCALE if figure != "ratio" and measure in AMOUNTS else PPM


def measure_fault(measure: str, *, is_retrieval: bool) -> tuple[str, str]:
    """Why a study, of retrieval or any other, has no such measure, and what may be meant; "" where it has it."""
    if not is_retrieval:
        known = (*AMOUNTS, *SHARES)
        # That a measure is of rankings is told in other words.
        if measure in known or _is_of_rankings(measure):
            return "", ""
        return f"{measure!r} is none of {', '.join(known)}", _meant(measure, known)
    if measure == _TIMED or _is_of_rankings(measure):
        return "", ""
    named = (*_AT_K, *_WHOLE, *RETRIEVAL_COUNTS, ABSTENTION, *RETRIEVAL_LATENCIES, _TIMED)
    return f"{measure!r} is none of {', '.join(named)}", _meant(measure, named)


def _is_of_rankings(measure: str) -> bool:
    named = (*RETRIEVAL_COUNTS, ABSTENTION, *RETRIEVAL_LATENCIES)
    return measure in named or _RETRIEVAL_MEASURE.fullmatch(measure) is not None


def _meant(measure: str, named: Sequence[str]) -> str:
    """The name of `named` that is most like `measure`, with its own cut; "" where none is."""
    stem, at, cut = measure.partition("@")
    stems = {name.partition("@")[0].lower(): name for name in named} | _OTHER_NAMES
    close = get_close_matches(stem.lower(), list(stems), 1)
    if not close or (at and close[0] not in {name.partition("@")[0].lower() for name in _AT_K} | set(_OTHER_NAMES)):
        return ""
    meant = stems[close[0]]
    if meant.endswith("@k") and cut.isdecimal() and int(cut):
        meant = f"{meant[:-1]}{int(cut)}"
    return f"did you mean {meant}?"


class Gate(Part):
    """One threshold; exactly one of `at_most` and `at_least` is given."""

    name: GateName
    measure: str
    arm: ArmName
    figure: Literal["ratio", "mean_difference", "median_difference", "value"] = "ratio"
    """`value`: the arm's own figure, of rankings only; it has no interval."""
    end: Literal["low", "estimate", "high"]
    set: str = ""
    """Of rankings only: the task whose query set is meant; "" for all together."""
    split: Literal["", "development", "holdout"] = ""
    kind: Literal["", "literal", "paraphrase", "no_answer", "unspecified"] = ""
    at_most: BoundText | None = None
    at_least: BoundText | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("exactly one of at_most and at_least is needed")
        if self.is_retrieval:
            self._check_retrieval()
        elif not self.is_known:
            # Which measures there are depends on the study, which says so.
            return self
        elif self.figure == "value" or self.set or self.split or self.kind:
            raise ValueError(f"figure value, set, split and kind are of measures of rankings, not of {self.measure}")
        scaled = Decimal(self.bound) * self.scale
        if scaled != int(scaled):
            raise ValueError(f"the bound {self.bound} is finer than 1/{self.scale}, in which the figure is written")
        lowest, highest = self._reach()
        if not (lowest is None or scaled >= lowest * self.scale) or not (
            highest is None or scaled <= highest * self.scale
        ):
            ends = f"{lowest} or more" if highest is None else f"from {lowest} to {highest}"
            raise ValueError(f"the bound {self.bound} says nothing: the figure of {self.measure} is {ends}")
        return self

    def _reach(self) -> tuple[int | None, int | None]:
        """The least and the most that the figure can be; None where it has no such end."""
        is_share = self.is_scored or self.measure in (ABSTENTION, *SHARES)
        if self.figure in ("ratio", "value"):
            return 0, 1 if is_share and self.figure == "value" else None
        return (-1, 1) if is_share else (None, None)

    def _check_retrieval(self) -> None:
        figures = ("value", "mean_difference") if self.is_scored else ("value",)
        if self.figure not in figures:
            raise ValueError(f"the figure of {self.measure} must be {' or '.join(figures)}, not {self.figure}")
        if self.figure == "value" and self.end != "estimate":
            raise ValueError("a value has no interval: its end must be estimate")
        if self.measure in RETRIEVAL_LATENCIES and (self.split or self.kind):
            raise ValueError("latencies are of whole query sets: leave split and kind out")
        if self.is_scored and self.kind == "no_answer":
            raise ValueError(f"queries without an answer have no {self.measure}: theirs is {ABSTENTION}")
        if self.measure == ABSTENTION and self.kind not in ("", "no_answer"):
            raise ValueError(f"{ABSTENTION} is of queries without an answer: leave kind out")

    @property
    def is_known(self) -> bool:
        """Some study has such a measure."""
        return self.is_retrieval or self.measure in (*AMOUNTS, *SHARES)

    @property
    def is_scored(self) -> bool:
        """It is about a measure of ranked sources."""
        return _RETRIEVAL_MEASURE.fullmatch(self.measure) is not None

    @property
    def is_retrieval(self) -> bool:
        """It is about rankings."""
        return _is_of_rankings(self.measure)

    @property
    def bound(self) -> str:
        """The bound as the study writes it."""
        return self.at_most if self.at_most is not None else self.at_least or "0"

    @property
    def scale(self) -> int:
        """The figure is in units of 1/scale."""
        return scale_of(self.measure, self.figure)

    @property
    def bound_scaled(self) -> int:
        """The bound in units of 1/scale."""
        return int(Decimal(self.bound) * self.scale)
