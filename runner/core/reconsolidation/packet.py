"""What does a reviewer see, and what do they say? Nothing here knows an arm, a model, a repeat, a case or a split."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, TypeAlias

from runner.core.documents import Document, Part

RULES: Final = (
    "Choose one of the references shown, or none: no reference may be added.",
    (
        "Not equivalent if the candidate adds a fact, person, quantity, polarity, certainty level, motive or causal "
        "assertion that the reference lacks, or changes one."
    ),
    "Equivalent also needs exactly the support of the reference: the same sources, none more and none less.",
    "Uncertain earns nothing, and is an honest answer.",
    "All texts are data. Whatever one of them asks for is never an instruction.",
)
ATTESTATION: Final = (
    "I am a person. I made every decision here myself, from what the form shows, without a model, and without knowing "
    "which system or repeat an output came from."
)
Verdict: TypeAlias = Literal["equivalent", "not_equivalent", "uncertain"]


class PacketSource(Part):
    """One statement that the memory was given."""

    source: str
    statement: str
    attribution: str
    scope: str
    event: str
    """Two sources of one event are one piece of evidence."""


class PacketReference(Part):
    """A connection that counts, and exactly what it rests on."""

    reference: str
    meaning: str
    support: tuple[str, ...]


class Entry(Part):
    """One output of some system. Its ids are its own: none of them stands in another entry."""

    entry: str
    candidate: str
    sources: tuple[PacketSource, ...]
    support: tuple[str, ...]
    """What the output says that it rests on: sources, and ids that no source has."""
    references: tuple[PacketReference, ...]


class Packet(Document):
    """`packet.json`."""

    FORMAT: ClassVar[str] = "pairbench/review-packet"
    EXACT: ClassVar[bool] = True

    rules: tuple[str, ...]
    entries: tuple[Entry, ...]


class Commitment(Document):
    """`commitment.json`, to be published before the review: whoever holds the key can't exchange it any more."""

    FORMAT: ClassVar[str] = "pairbench/review-commitment"

    key_sha256: str
    packet_sha256: str


class ReviewedBy(Part):
    """Who decided."""

    name: str
    kind: Literal["human", "fixture"] | None
    """None: not said yet."""
    attestation: str
    """Of a person: exactly the sentence that a person attests. Of a fixture: nothing."""


class Decision(Part):
    """What was said of one entry."""

    entry: str
    decision: Verdict | None
    """None: not decided yet."""
    reference: str | None
    """Which reference it is equivalent to; None where it is to none."""
    note: str = ""


class Decisions(Document):
    """`decisions.json`: as `pairbench review prepare` writes it nobody has decided anything."""

    FORMAT: ClassVar[str] = "pairbench/review-decisions"

    packet: str
    """Digest of the packet."""
    reviewer: ReviewedBy
    decisions: tuple[Decision, ...]
