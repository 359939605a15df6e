"""Tables of columns, as programs for data frames read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

ColumnKind: TypeAlias = Literal["text", "whole", "number", "flag"]
Columns: TypeAlias = "Mapping[str, Sequence[object]]"
"""Equally long columns by name, of values as their kinds say; None is a missing one."""


class Frames(Protocol):
    """Writes tables."""

    def write(self, path: Path, kinds: Mapping[str, ColumnKind], batches: Iterable[Columns]) -> int:
        """The table of `batches`, one after the other, is the file at `path`; how many rows it has.

        Raises:
            EnvironmentNotReady: what writes such files isn't installed, or there is no room.
        """
