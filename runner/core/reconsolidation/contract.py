"""What was agreed on before a run about how its output is reviewed: contract v2, declared by a person, then frozen."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from runner.core.canonical import Digest, sha256_digest
from runner.core.documents import Document, Part
from runner.core.reconsolidation.ssh_keys import key_fault, key_identity
from runner.core.rounding import PPM

if TYPE_CHECKING:
    from collections.abc import Iterator

ArmName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
PersonName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,79}$")]
Share = Annotated[str, StringConstraints(pattern=r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$")]
"""A decimal number from 0 to 1 as text: TOML's own would be a float."""
Mode = Literal["original_only", "merge_only", "connections"]


def _public_key(line: str) -> str:
    if fault := key_fault(line) if line else "":
        raise ValueError(fault)
    return line


PublicKey = Annotated[str, StringConstraints(pattern=r"^(|[a-z0-9@.-]+ [^\n\r]*)$"), AfterValidator(_public_key)]

LEAST: Final = {
    "precision": "0.80",
    "recall": "0.60",
    "duplicate_coverage": "0.80",
    "answer_lift": "0.10",
    "control_references": "0.90",
}
"""A contract may ask for more and never for less."""
LEAST_REPEATS: Final = 3
CONTROL_BASELINE_RULE: Final = (
    "Every trial of the control ends, and its answers are frozen, before any other arm starts. A probe is held by the "
    "control when it covers it in any repeat; another arm loses it when it doesn't cover it in every repeat."
)


class Reviewer(Part):
    """Who may review."""

    name: PersonName
    kind: Literal["human", "fixture"]
    ssh_public_key: PublicKey = ""
    """Decisions of whoever has one must be signed with it; "" for nobody's."""


class Floor(Part):
    """A figure of another study that may not get worse than it is in a file of it."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
    file: Annotated[str, StringConstraints(pattern=r"^[^/\\\x00][^\\\x00]*$")]
    """From the folder of the contract."""
    sha256: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
    metric: Annotated[str, StringConstraints(pattern=r"^(/[^/]+)+$")]
    """A JSON pointer (RFC 6901) to an integer."""
    better: Literal["higher", "lower"] = "higher"
    """Which way the figure may go."""


def _reviewer_faults(reviewers: tuple[Reviewer, ...]) -> Iterator[str]:
    """One person isn't two: neither by a name that differs in case alone, nor by a key that another one has."""
    names = Counter(reviewer.name.casefold() for reviewer in reviewers)
    yield from (f"reviewer {name!r} stands twice, in whatever case" for name, count in names.items() if count > 1)
    by_key: dict[bytes, list[str]] = {}
    for reviewer in reviewers:
        if reviewer.ssh_public_key:
            by_key.setdefault(key_identity(reviewer.ssh_public_key), []).append(repr(reviewer.name))
    yield from (f"reviewers {' and '.join(names)} have one key" for names in by_key.values() if len(names) > 1)


class ContractArm(Part):
    """One arm of the study, and what it may do."""

    name: ArmName
    mode: Mode


class Thresholds(Part):
    """Least shares, as decimal numbers."""

    precision: Share = LEAST["precision"]
    recall: Share = LEAST["recall"]
    duplicate_coverage: Share = LEAST["duplicate_coverage"]
    answer_lift: Share = LEAST["answer_lift"]
    control_references: Share = LEAST["control_references"]
    """Of the probes that a live seed answers, as many must the control cover in every repeat."""
    attention: Share = "0.75"
    """Of the attention checks of each reviewer."""

    @model_validator(mode="after")
    def _not_lowered(self) -> Self:
        lowered = [name for name, least in LEAST.items() if Decimal(getattr(self, name)) < Decimal(least)]
        if lowered:
            told = ", ".join(f"{name} below {LEAST[name]}" for name in lowered)
            raise ValueError(f"a contract may ask for more and never for less: {told}")
        return self

    def ppm(self, name: str) -> int:
        """The threshold `name` in parts per million."""
        return int(Decimal(getattr(self, name)) * PPM)


class Terms(Part):
    """What is agreed in words and numbers, before anything is pinned."""

    name: ArmName
    arms: Annotated[tuple[ContractArm, ...], Field(min_length=2)]
    repeats: Annotated[int, Field(ge=LEAST_REPEATS, le=100)] = LEAST_REPEATS
    holdout_seen_before: bool
    reviewers: Annotated[tuple[Reviewer, ...], Field(min_length=1)]
    least_reviewers: Annotated[int, Field(ge=1, le=20)] = 1
    attention_checks: Annotated[int, Field(ge=0, le=20)] = 4
    """Entries whose answer is known, half of them right; they are scored apart."""
    thresholds: Thresholds = Thresholds()
    floors: tuple[Floor, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = [
            f"{what} {name!r} stands twice"
            for what, names in (
                ("arm", [arm.name for arm in self.arms]),
                ("floor", [floor.name for floor in self.floors]),
            )
            for name in sorted({name for name in names if names.count(name) > 1})
        ]
        modes = [arm.mode for arm in self.arms]
        if modes.count("original_only") != 1:
            faults.append("exactly one arm must have the mode original_only: the control")
        faults += [f"no arm has the mode {mode}" for mode in ("merge_only", "connections") if mode not in modes]
        faults += _reviewer_faults(self.reviewers)
        if self.least_reviewers > len(self.reviewers):
            faults.append(f"least_reviewers is {self.least_reviewers}, and {len(self.reviewers)} may review")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    @property
    def control(self) -> str:
        """The name of the arm that the others are held against."""
        return next(arm.name for arm in self.arms if arm.mode == "original_only")

    @property
    def asks_attention(self) -> bool:
        """Whether anything depends on entries whose answer is known."""
        return self.attention_checks > 0 and self.thresholds.ppm("attention") > 0

    def named(self, mode: Mode) -> tuple[str, ...]:
        """The arms of one mode."""
        return tuple(arm.name for arm in self.arms if arm.mode == mode)


class ContractFile(Terms):
    """`contract.toml`."""

    format: Literal["pairbench/review-terms"]
    version: Literal[2]
    corpus: Annotated[str, StringConstraints(pattern=r"^[^/\\\x00][^\\\x00]*$")] = "v1/manifest.json"
    """From the folder of this file."""

    def terms(self) -> Terms:
        """What is agreed."""
        return Terms(**{name: getattr(self, name) for name in Terms.model_fields})


class Contract(Document):
    """`contract.json`: the terms, and by digest everything that they are about. Bound before the first model call."""

    FORMAT: ClassVar[str] = "pairbench/review-contract"
    VERSION: ClassVar[int] = 2

    terms: Terms
    corpus: dict[str, str]
    """Name of each file of the corpus, its manifest too -> digest."""
    holdout_sha256: str
    scorer: dict[str, str]
    """Path of the source -> digest."""
    answer_scoring: dict[str, str]
    control_references: str
    control_baseline: str
    """Digest of the rule by which the control's answers are frozen and held."""
    clock: str
    recall_facts: int
    floors: dict[str, str]
    """Path of each file with a floor -> digest."""
    inspected: tuple[str, ...]
    """Digest of each entry of the register of inspected holdouts that lay beside the terms."""
    sources: dict[str, dict[str, str]]
    """`review`, `comparison` and `report`, and what they import (`imported`) -> path of each source -> digest."""
    dependencies: dict[str, str]
    """Distributions that decide about figures or about what is accepted -> version."""

    @classmethod
    def rule_digest(cls) -> Digest:
        """The digest of the control's rule."""
        return sha256_digest(CONTROL_BASELINE_RULE.encode("utf-8"))
