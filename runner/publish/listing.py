"""A table of texts: what page and terminal print alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.publish.formatting import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Kind = Literal["words", "figures", "code", "verdict"]
Cell: TypeAlias = str | Unavailable
"""What isn't available is a dash, and its reason stands below the table."""


@dataclass(frozen=True)
class Column:
    """What stands in a column."""

    heading: str
    kind: Kind


@dataclass(frozen=True)
class Group:
    """Lines under a heading of their own; "" for none."""

    heading: str
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Listing:
    """One table of texts."""

    caption: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    note: str
    """What a reader has to know of it, and why there are dashes; "" for nothing."""

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """The lines of all groups."""
        return tuple(line for group in self.groups for line in group.lines)


def words(*headings: str) -> tuple[Column, ...]:
    """Columns of words."""
    return tuple(Column(heading, "words") for heading in headings)


def figures(*headings: str) -> tuple[Column, ...]:
    """Columns of figures."""
    return tuple(Column(heading, "figures") for heading in headings)


def code(*headings: str) -> tuple[Column, ...]:
    """Columns of identifiers."""
    return tuple(Column(heading, "code") for heading in headings)


def verdict(heading: str) -> Column:
    """A column that says what passed and what failed."""
    return Column(heading, "verdict")


def listing(
    caption: str, columns: Sequence[Column], lines: Iterable[Sequence[Cell]], note: str = ""
) -> tuple[Listing, ...]:
    """The table, or nothing where there are no lines."""
    return grouped(caption, columns, [("", lines)], note)


def grouped(
    caption: str, columns: Sequence[Column], groups: Iterable[tuple[str, Iterable[Sequence[Cell]]]], note: str = ""
) -> tuple[Listing, ...]:
    """The table with its lines in groups; a group without lines, and a column without a text, isn't among them."""
    reasons: dict[str, None] = {}
    found = tuple(
        Group(heading, tuple(tuple(_text(cell, reasons) for cell in line) for line in lines))
        for heading, lines in groups
    )
    kept = tuple(group for group in found if group.lines)
    told = [n for n, _ in enumerate(columns) if any(line[n] for group in kept for line in group.lines)]
    dashes = f"{ABSENT} {'; '.join(reasons)}." if reasons else ""
    whole_note = " ".join(part for part in (note, dashes) if part)
    if not kept:
        return ()
    shown = tuple(Group(item.heading, tuple(tuple(line[n] for n in told) for line in item.lines)) for item in kept)
    return (Listing(caption, tuple(columns[n] for n in told), shown, whole_note),)


def cell(quantity: Quantity, show: Callable[[int], str]) -> Cell:
    """The quantity as text, or why there is none."""
    match quantity:
        case Measured(value):
            return show(value)
        case Unavailable():
            return quantity


def _text(item: Cell, reasons: dict[str, None]) -> str:
    if isinstance(item, Unavailable):
        reasons[item.reason] = None
        return ABSENT
    return item
