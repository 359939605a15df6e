"""What people's decisions come to: one document, which changes no other and activates nothing."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from runner.core.documents import Document, Part, QuantityField
from runner.core.reconsolidation.identity import RunIdentity
from runner.core.reconsolidation.register import Inspected

FIXTURE: Final = "fixture assessment: passes no gate"
HUMAN: Final = "assessment by people"
NON_ACTIVATING: Final = (
    "It activates nothing: no result is changed, and no recorded failure becomes a pass. "
    "The v1 verdict stands beside it."
)


class ReviewedDecisions(Part):
    """One reviewer's decisions, and how they did where the answer is known."""

    reviewer: str
    kind: Literal["human", "fixture"]
    sha256: str
    signature: Literal["verified", "not asked for"]
    positives: int
    positives_right: int
    negatives: int
    negatives_right: int


class Agreement(Part):
    """How far reviewers agree; an entry counts as equivalent only where all of them say so of the same reference."""

    reviewers: int
    entries: int
    disagreed: int
    alpha_ppm: QuantityField
    """Krippendorff's, nominal, over all outputs."""


class ArmReview(Part):
    """What people said of one arm's outputs in one split."""

    arm: str
    mode: str
    split: str
    repeats: int
    """Complete ones."""
    produced: int
    """Every output: the denominator of precision."""
    labels: int
    """References times repeats: the denominator of recall."""
    matched: int
    repeated: int
    """Equivalent to a reference that another output of the same case and repeat matched already."""
    uncertain: int
    not_equivalent: int
    disagreed: int
    precision_ppm: QuantityField
    recall_ppm: QuantityField


class ArmScore(Part):
    """The counts of scorer v1 of one arm in one split, and its verdict, which nothing here changes."""

    arm: str
    split: str
    counts: dict[str, int]
    passed: bool
    not_met: tuple[str, ...]


class GateResult(Part):
    """One gate of the contract, held against one arm in one split, where it is about those."""

    gate: str
    arm: str
    split: str
    verdict: Literal["passed", "failed", "undefined", "fixture"]
    """`undefined`: nothing to divide by, which is no success; `fixture`: met, by a fixture, which passes nothing."""
    figure: str
    threshold: str
    reasons: tuple[str, ...]


class HeldFloor(Part):
    """A figure of another study as the contract pins it, and as a newer file of that study has it."""

    floor: str
    metric: str
    better: Literal["higher", "lower"]
    pinned_sha256: str
    pinned: QuantityField
    found_sha256: str
    """Of the newer file; "" where none was given."""
    found: QuantityField


class Assessment(Document):
    """`assessment.json`. Its first key says who made it."""

    FORMAT: ClassVar[str] = "pairbench/review-assessment"

    about: str
    activation: str
    non_activating: Literal[True]
    passed: bool
    reviewer_kind: Literal["human", "fixture"]
    run: RunIdentity
    observations_sha256: str
    contract_sha256: str
    packet_sha256: str
    key_sha256: str
    holdout_sha256: str
    holdout_inspected: Literal["before this run", "by this run"]
    holdout_claim: Literal["seen before", "fresh"]
    register_sha256: str
    """Of the register of inspected holdouts as it was before this assessment."""
    earlier: tuple[Inspected, ...]
    """Every assessment of this run that the register had by then: whoever decides again knows what came of it."""
    reviews: tuple[ReviewedDecisions, ...]
    agreement: Agreement
    arms: tuple[ArmReview, ...]
    v1: tuple[ArmScore, ...]
    floors: tuple[HeldFloor, ...]
    gates: tuple[GateResult, ...]
    not_checked: tuple[str, ...]
