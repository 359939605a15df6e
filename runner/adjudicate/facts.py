"""What of a run gates look at beside decisions: counts of scorer v1, answers, and what wasn't measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.reconsolidation.assessment import ArmScore
    from runner.core.reconsolidation.floors import FloorFigures


@dataclass(frozen=True)
class RunFacts:
    """Facts of one run; arms and splits are those of its contract and corpus."""

    scores: Mapping[tuple[str, str], ArmScore]
    """Arm and split -> counts and verdict of scorer v1, over every observation that there is."""
    covered: Mapping[tuple[str, str], Mapping[tuple[str, str], frozenset[int]]]
    """Arm and split -> case and probe -> repeats in which the probe is covered; only probes covered in some."""
    repeats: Mapping[tuple[str, str], int]
    """Arm and split -> complete repeats: a completed trial, and an observation of every case."""
    unmeasured: tuple[str, ...]
    """Trials that didn't complete, and cases without an observation."""
    unknown_usage: tuple[str, ...]
    """Trials whose usage isn't known."""
    floors: Mapping[str, FloorFigures]
    """Name of a floor -> the figure that it pins, and the one that is held against it."""
    references: Mapping[str, frozenset[tuple[str, str]]]
    """Split -> case and probe of everything that a memory which changes nothing can answer."""
    holdout_run: str
    """The first run that was scored over this holdout; "" if this is it."""
