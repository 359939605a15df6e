"""What was seen of a memory after a trial: read from its store and traces, never from what it says of itself."""

from __future__ import annotations

from typing import ClassVar, Literal

from runner.core.documents import Document, Part


class Hypothesis(Part):
    """A connection that the store holds."""

    statement: str
    support: tuple[str, ...]
    """As the store has it: unknown and repeated ids stay, and are counted."""


class Answer(Part):
    """What the memory answered to a probe."""

    probe: str
    answer: str


class Violation(Part):
    """Something rests on a seed that is expired or deleted."""

    kind: Literal["member", "support", "recalled"]
    seed: str


class Invalid(Part):
    """Something in the store or the traces that can't be what was asked for."""

    kind: str
    detail: str


class Observation(Document):
    """What one trial left of one case; cases, seeds and probes by the names that the corpus has for them."""

    FORMAT: ClassVar[str] = "pairbench/reconsolidation-observation"

    trial: str
    case: str
    groups: tuple[tuple[str, ...], ...]
    """Facts that stand for several seeds."""
    survivors: tuple[str, ...]
    """Seeds that some fact stands for, each once."""
    hypotheses: tuple[Hypothesis, ...]
    answers: tuple[Answer, ...]
    boundary_violations: tuple[Violation, ...]
    invalid: tuple[Invalid, ...]
