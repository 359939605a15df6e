"""What the control answered, frozen before any other arm starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runner.core.documents import Document, Part
from runner.core.reconsolidation.texts import contains

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.core.reconsolidation.corpus import ReconsolidationCorpus
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


def control_answers(corpora: Iterable[ReconsolidationCorpus]) -> list[list[str]]:
    """Split, case, probe and answer of each answer that stands in a live seed.

    That is what a memory that changes nothing can say. The manifest of a corpus pins it, and a control that covers less
    is no control.
    """
    return sorted(
        [corpus.split, case.id, probe.id, answer]
        for corpus in corpora
        for case in corpus.cases
        for probe in case.probes
        for answer in probe.answers
        if any(seed.is_live and contains(seed.statement, answer) for seed in case.seeds)
    )


def baseline_of(arm: str, observations: Iterable[Observation]) -> ControlBaseline:
    """What the control called `arm` answered, from its observations in any order."""
    answers = [
        BaselineAnswer(trial=seen.trial, case=seen.case, probe=told.probe, answer=told.answer)
        for seen in observations
        for told in seen.answers
    ]
    return ControlBaseline(arm=arm, answers=tuple(sorted(answers, key=lambda one: tuple(one.__dict__.values()))))
