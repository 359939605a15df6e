"""A packet is made of what reviewers may see. Nothing here knows an arm, a model, a repeat, a case or a split.

Every name and every order follows from names made with the secret, so neither says where something came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.adjudicate.naming import keyed
from runner.core.errors import EvidenceError
from runner.core.reconsolidation.packet import RULES, Entry, Packet, PacketReference, PacketSource

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Statement:
    """One statement that the output may rest on."""

    identity: str
    text: str
    attribution: str
    scope: str
    event: str


@dataclass(frozen=True)
class Permitted:
    """One reference that the output may be equivalent to."""

    identity: str
    meaning: str
    support: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """One output with what it is held against; only `entry` is a name that may be seen."""

    entry: str
    candidate: str
    support: tuple[str, ...]
    statements: tuple[Statement, ...]
    references: tuple[Permitted, ...]


@dataclass(frozen=True)
class Named:
    """What the names of one entry stand for."""

    sources: dict[str, str]
    references: dict[str, str]


def make_packet(secret: str, shown: Iterable[Shown]) -> tuple[Packet, dict[str, Named]]:
    """The packet, and by entry what its names stand for.

    Raises:
        EvidenceError: two entries have one name.
    """
    made = sorted((_entry(secret, one) for one in shown), key=lambda one: one[0].entry)
    names = {entry.entry: named for entry, named in made}
    if len(names) != len(made):
        raise EvidenceError("two entries have the same name", document="packet")
    return Packet(rules=RULES, entries=tuple(entry for entry, _ in made)), names


def _entry(secret: str, shown: Shown) -> tuple[Entry, Named]:
    # Names are the entry's own: the same source of two entries has two names, so that nothing links entries.
    sources = {
        identity: keyed(secret, "s", shown.entry, identity)
        for identity in sorted({statement.identity for statement in shown.statements} | set(shown.support))
    }
    references = {item.identity: keyed(secret, "r", shown.entry, item.identity) for item in shown.references}
    entry = Entry(
        entry=shown.entry,
        candidate=shown.candidate,
        sources=tuple(
            sorted(
                (
                    PacketSource(
                        source=sources[item.identity],
                        statement=item.text,
                        attribution=item.attribution,
                        scope=item.scope,
                        event=keyed(secret, "v", shown.entry, item.event),
                    )
                    for item in shown.statements
                ),
                key=lambda source: source.source,
            )
        ),
        support=tuple(sorted(sources[identity] for identity in shown.support)),
        references=tuple(
            sorted(
                (
                    PacketReference(
                        reference=references[item.identity],
                        meaning=item.meaning,
                        support=tuple(sorted(sources[identity] for identity in item.support)),
                    )
                    for item in shown.references
                ),
                key=lambda reference: reference.reference,
            )
        ),
    )
    return entry, Named(
        {name: identity for identity, name in sources.items()},
        {name: identity for identity, name in references.items()},
    )
