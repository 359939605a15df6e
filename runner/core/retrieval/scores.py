"""What is one ranking worth, what do rankings come to together, and how do two systems compare?

Measures have the names of ir_measures: `R@10`, `P@10`, `RR`, `nDCG@10`, `AP`, `Judged@10`.
"""

from __future__ import annotations

import enum
from typing import ClassVar, Final

from runner.core.documents import Document, Part, QuantityField
from runner.core.retrieval.queries import Kind, Split

SCALE: Final = 10**9
"""Measures are integers in units of 1e-9."""


class Violation(enum.StrEnum):
    """What a system may not return."""

    FOREIGN_WORKSPACE = "foreign_workspace"
    """A passage of a workspace that whoever asks doesn't stand in."""
    DELETED = "deleted"
    EXPIRED = "expired"
    """A passage that was valid no more when the query was asked."""
    NOT_YET_KNOWN = "not_yet_known"
    """A passage that nobody knew of when the query was asked."""


class RetrievalScore(Document):
    """One line of `retrieval.jsonl`: what labels and boundaries say of one ranking."""

    FORMAT: ClassVar[str] = "pairbench/retrieval-score"
    EXACT: ClassVar[bool] = True

    trial: str
    task: str
    query: str
    split: Split
    kind: Kind
    measures_e9: dict[str, int]
    """Measure -> value; empty for a query without an answer."""
    first_relevant_rank: QuantityField
    """Among sources, from 1."""
    results: int
    sources: int
    """Different sources among them."""
    unmapped: int
    violations: dict[Violation, int]
    """Results that break each boundary that was broken."""
    abstained: bool
    """The system returned nothing, and didn't fail."""
    failed: bool


class MeanMeasure(Part):
    """The mean of one measure over all queries that something in the corpus answers."""

    measure: str
    queries: int
    mean_e9: QuantityField


class RetrievalTotals(Part):
    """What the rankings of one system come to, in one split or whatever else they were chosen by."""

    queries: int
    measures: tuple[MeanMeasure, ...]
    failed: int
    empty: int
    """Of the queries with an answer: those for which nothing came, failures included. They count, as what they are."""
    no_answer_queries: int
    no_answer_abstained: int
    """Of them: those for which the system returned nothing, and didn't fail."""
    results: int
    unmapped: int
    violations: dict[Violation, int]
    violating_queries: int


class RetrievalContrast(Part):
    """The difference of two systems' means of one measure over the same queries: treatment less control."""

    measure: str
    queries: int
    corpora: int
    control_e9: QuantityField
    treatment_e9: QuantityField
    difference_e9: QuantityField
    low_e9: QuantityField
    high_e9: QuantityField
    detectable_e9: QuantityField
    """The smallest difference that a study of this size would see with a probability of 80 %."""
    method: str
    """What was resampled."""
