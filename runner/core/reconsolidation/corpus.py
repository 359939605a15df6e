"""What is a reconsolidation corpus? Shapes only; what fits what is asked in `consistency`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints

from runner.core.documents import Document, Part

Split: TypeAlias = Literal["development", "holdout"]
SPLITS: Final[tuple[Split, ...]] = ("development", "holdout")
Category: TypeAlias = Literal[
    "equivalent",
    "same_evidence",
    "quantity",
    "time",
    "attribution",
    "negation",
    "scope",
    "connection_cause",
    "connection_pattern",
    "summary",
    "expiry",
    "correction",
]
CATEGORIES: Final[tuple[Category, ...]] = (
    "equivalent",
    "same_evidence",
    "quantity",
    "time",
    "attribution",
    "negation",
    "scope",
    "connection_cause",
    "connection_pattern",
    "summary",
    "expiry",
    "correction",
)
MOST_REFERENCES: Final = 9
"""Of one case: a reviewer names each by one key."""
Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]


class Seed(Part):
    """One statement that a memory is given."""

    id: Id
    statement: str
    subject: str
    session: str
    event: str
    """What was observed; two statements of one event are one piece of evidence."""
    evidence_time: str
    scope: str
    attribution: str
    status: Literal["live", "expired", "deleted"]

    @property
    def is_live(self) -> bool:
        """Whether anything may still rest on it."""
        return self.status == "live"


class Reference(Part):
    """A connection that a memory may find: what it means, and exactly which seeds it rests on."""

    id: Id
    meaning: str
    support: tuple[str, ...]


class Probe(Part):
    """A question, and every answer to it that counts."""

    id: Id
    question: str
    answers: tuple[str, ...]


class Case(Part):
    """One small memory with its labels. Of all this only seeds and questions may enter a trial."""

    id: Id
    category: Category
    seeds: tuple[Seed, ...]
    duplicate_classes: tuple[tuple[str, ...], ...]
    required_survivors: tuple[str, ...]
    hypotheses: tuple[Reference, ...]
    probes: tuple[Probe, ...]

    def seed(self, identity: str) -> Seed | None:
        """The seed called `identity`."""
        return next((seed for seed in self.seeds if seed.id == identity), None)


class RecallBudget(Part):
    """How much may be recalled for one answer."""

    facts: Annotated[int, Field(ge=1, le=100)]


class ReconsolidationCorpus(Document):
    """One split."""

    FORMAT: ClassVar[str] = "pairbench/reconsolidation-corpus"

    split: Split
    clock: str
    """What time it is for the memory, in every trial."""
    recall_budget: RecallBudget
    cases: tuple[Case, ...]


class ReconsolidationManifest(Document):
    """What a corpus and its scorer were when they were frozen."""

    FORMAT: ClassVar[str] = "pairbench/reconsolidation-manifest"

    files: dict[str, str]
    """Name in the manifest's folder -> digest."""
    scorer: dict[str, str]
    """Path of a source -> digest."""
    control_references: str
    """Digest of what a memory that changes nothing can answer."""
