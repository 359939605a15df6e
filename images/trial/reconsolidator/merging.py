"""Which seeds are one fact? Exact duplicates by a rule, and nothing that takes a judgement."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconsolidator.launch import Seed


class Fact(NamedTuple):
    """A statement that the memory keeps, and the seeds that it stands for, in their order."""

    statement: str
    members: list[str]


def each_alone(seeds: Sequence[Seed]) -> list[Fact]:
    """Every live seed as a fact of its own."""
    return [Fact(seed.statement, [seed.id]) for seed in seeds if seed.is_live]


def merged(seeds: Sequence[Seed]) -> list[Fact]:
    """The live seeds; those with equal statement, scope and attribution are one fact, with the first one's statement.

    Statements are equal when they are after NFC with each run of white space as one blank. Case and punctuation count:
    a rule that overlooks them would merge what only looks alike.
    """
    facts: dict[tuple[str, str, str], Fact] = {}
    for seed in seeds:
        if seed.is_live:
            key = (folded(seed.statement), seed.scope, seed.attribution)
            facts.setdefault(key, Fact(seed.statement, [])).members.append(seed.id)
    return list(facts.values())


def folded(text: str) -> str:
    """`text` in NFC, white space folded to single blanks, none at its ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())
