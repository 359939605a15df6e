"""What the control answered, frozen before any other arm starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runner.core.documents import Document, Part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.core.reconsolidation.observation import Observation


class BaselineAnswer(Part):
    """One answer of one trial."""

    trial: str
    case: str
    probe: str
    answer: str


class ControlBaseline(Document):
    """`control-baseline.json`."""

    FORMAT: ClassVar[str] = "pairbench/control-baseline"

    arm: str
    answers: tuple[BaselineAnswer, ...]


def baseline_of(arm: str, observations: Iterable[Observation]) -> ControlBaseline:
    """What the control called `arm` answered, from its observations in any order."""
    answers = [
        BaselineAnswer(trial=seen.trial, case=seen.case, probe=told.probe, answer=told.answer)
        for seen in observations
        for told in seen.answers
    ]
    return ControlBaseline(arm=arm, answers=tuple(sorted(answers, key=lambda one: tuple(one.__dict__.values()))))
