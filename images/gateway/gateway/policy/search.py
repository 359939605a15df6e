"""Where in the workspace are the question's terms close together? Ranks places among the hits of all searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.policy.findings import Line
    from gateway.policy.words import Term

PLACE_LINES = 30


@dataclass(frozen=True)
class Place:
    """A stretch of a file; `terms` are those that its hits hold, `defines` that a most telling one is defined there."""

    path: str
    first: int
    last: int
    terms: frozenset[str]
    score: int
    defines: bool
    lines: tuple[Line, ...]


def places(hits: Sequence[Line], terms: Sequence[Term]) -> list[Place]:
    """The places where hits lie within a page of one another, best first; no two of one file overlap."""
    by_path: dict[str, dict[int, Line]] = {}
    for hit in hits:
        by_path.setdefault(hit.path, {})[hit.number] = hit
    ranked = [
        place for path, lines in by_path.items() for place in _places_of(path, [lines[n] for n in sorted(lines)], terms)
    ]
    ranked.sort(key=lambda place: -place.score)
    apart: list[Place] = []
    for place in ranked:
        if all(place.path != other.path or place.last < other.first or other.last < place.first for other in apart):
            apart.append(place)
    return apart


def _places_of(path: str, lines: Sequence[Line], terms: Sequence[Term]) -> list[Place]:
    held = [{index for index, term in enumerate(terms) if term.occurs_in(line.text)} for line in lines]
    defined = [{index for index, term in enumerate(terms) if term.is_defined_in(line.text)} for line in lines]
    found = []
    for start, first in enumerate(lines):
        end = start
        while end < len(lines) and lines[end].number < first.number + PLACE_LINES:
            end += 1
        inside = set().union(*held[start:end])
        definitions = set().union(*defined[start:end])
        score = 100 * sum(terms[index].weight * (2 if index in definitions else 1) for index in inside) + end - start
        found.append(
            Place(
                path=path,
                first=first.number,
                last=lines[end - 1].number,
                terms=frozenset(terms[index].text for index in inside),
                score=score,
                defines=any(terms[index].weight == terms[0].weight for index in definitions),
                lines=tuple(lines[start:end]),
            )
        )
    return found
