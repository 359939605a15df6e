"""The lines of one document in two runs, each beside the other run's: read as they come, however many there are."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core.canonical import parse_json
from runner.core.field_comparison import MISSING
from runner.pipeline.chronicle import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.core.canonical import Json
    from runner.core.field_comparison import Missing


@dataclass(frozen=True)
class Pair:
    """What the two runs have for one trial, query or case; `MISSING` where a run has nothing."""

    name: str
    place: int
    """The line's number in the run that has it, from 1; A's where both have."""
    a: Json | Missing
    b: Json | Missing


@dataclass
class Pairs:
    """The pairs of one document; afterwards, whether both runs have their lines in one order."""

    keys: Sequence[str]
    document: str
    misplaced: tuple[int, int] | None = None
    """The first line of A whose partner in B, the second, stands before that of another line; None where none does."""
    _waiting: tuple[dict[str, list[tuple[int, Json]]], dict[str, list[tuple[int, Json]]]] = field(
        default_factory=lambda: ({}, {})
    )
    _places: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))

    def of(self, a: Iterable[bytes], b: Iterable[bytes]) -> Iterator[Pair]:
        """Every line of both, in pairs; lines that have no partner come at the end.

        As many lines are held as the two are apart: none where they have the same ones in the same order.

        Raises:
            EvidenceError: a line isn't JSON, or the last one has no end.
        """
        sides = iter(self._lines(a)), iter(self._lines(b))
        open_sides = [0, 1]
        while open_sides:
            for side in tuple(open_sides):
                found = next(sides[side], None)
                if found is None:
                    open_sides.remove(side)
                elif pair := self._match(side, *found):
                    yield pair
        yield from self._alone()
        furthest = 0
        for place, other in sorted(zip(*self._places, strict=True)):
            if other < furthest:
                self.misplaced = place, other
                break
            furthest = other

    def _match(self, side: int, name: str, place: int, value: Json) -> Pair | None:
        partners = self._waiting[1 - side].get(name)
        if not partners:
            self._waiting[side].setdefault(name, []).append((place, value))
            return None
        other_place, other = partners.pop(0)
        if not partners:
            del self._waiting[1 - side][name]
        places, values = ((other_place, place), (other, value)) if side else ((place, other_place), (value, other))
        for number, one in enumerate(places):
            self._places[number].append(one)
        return Pair(name, places[0], *values)

    def _alone(self) -> Iterator[Pair]:
        for side, waiting in enumerate(self._waiting):
            for name, lines in waiting.items():
                for place, value in lines:
                    yield Pair(name, place, *((MISSING, value) if side else (value, MISSING)))

    def _lines(self, lines: Iterable[bytes]) -> Iterator[tuple[str, int, Json]]:
        for place, line in enumerate(split_lines(lines, self.document), 1):
            value = parse_json(line, f"{self.document} line {place}")
            yield self._name(value), place, value

    def _name(self, value: Json) -> str:
        """What the line is about: its trial, and its query or case; "" for a line that says nothing of it."""
        if not isinstance(value, dict):
            return ""
        return " ".join(str(value[key]) for key in self.keys if key in value)
