"""What unblinds a packet: which output each entry is, and the secret that all of its ids were made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from runner.core.documents import Document, Part
from runner.core.reconsolidation.identity import RunIdentity


@dataclass(frozen=True, order=True)
class Output:
    """One connection that a system proposed, and where it stands in its run."""

    split: str
    case: str
    arm: str
    repetition: int
    trial: str
    index: int
    """Place among the connections of its observation, from 0."""
    statement: str
    support: tuple[str, ...]


class KeyEntry(Part):
    """What one entry is."""

    entry: str
    attention: Literal["", "positive", "negative"]
    """"" for an output; else what the right decision is, of an entry that no system made."""
    expected: str
    """Of a positive check: the reference it is equivalent to; else ""."""
    split: str
    case: str
    arm: str
    repetition: int
    trial: str
    index: int
    sources: dict[str, str]
    """Id in the packet -> id in the case, of sources and of support that no source has."""
    references: dict[str, str]
    """Id in the packet -> id in the case."""


class Key(Document):
    """`key.json`: kept from reviewers until they have decided."""

    FORMAT: ClassVar[str] = "pairbench/review-key"
    EXACT: ClassVar[bool] = True

    secret: str
    run: RunIdentity
    """Where it lies on some machine isn't to be published."""
    observations_sha256: str
    contract_sha256: str
    packet_sha256: str
    entries: tuple[KeyEntry, ...]
    """In the order of the packet."""
