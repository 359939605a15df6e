"""What memories kept, lost, merged and connected, as a summary says it: counts of scorer v1 and its verdict."""

from __future__ import annotations

from runner.core.documents import Part, QuantityField


class RuleCheck(Part):
    """One rule of the scorer, and what came of it."""

    name: str
    met: bool
    count: int
    of: QuantityField
    """Unavailable of a rule that counts what may not be."""
    share_ppm: QuantityField
    """Rounded down; unavailable where there is nothing to divide by."""


class MemoryScore(Part):
    """What the trials of one arm came to over one split, all repetitions together."""

    split: str
    arm: str
    mode: str
    trials: int
    """That were planned."""
    observed: int
    """That completed; one that failed counts with nothing kept, one that wasn't judged not at all."""
    failed: int
    counts: dict[str, int]
    """Of the scorer, summed over cases and trials."""
    checks: tuple[RuleCheck, ...]
    passed: bool
    """Every rule is met, and every planned trial was observed."""


class ReconsolidationSection(Part):
    """Only of a reconsolidation study."""

    scorer: str
    corpus_sha256: str
    """Of the manifest that pins cases and scorer."""
    observations_sha256: str
    baseline_sha256: str
    """Of what the control answered; "" where it wasn't frozen."""
    scores: tuple[MemoryScore, ...]
    """By split, the control first."""

    def of_split(self, split: str) -> tuple[MemoryScore, ...]:
        """The scores over one split."""
        return tuple(score for score in self.scores if score.split == split)

    def splits(self) -> tuple[str, ...]:
        """The splits, in the order of the study."""
        return tuple(dict.fromkeys(score.split for score in self.scores))
