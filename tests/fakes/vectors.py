"""A store of vectors in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.core.canonical import Digest


@dataclass
class MemoryVectors:
    """The vectors port."""

    held: dict[Digest, bytes] = field(default_factory=dict)

    def get(self, keys: Iterable[Digest]) -> dict[Digest, bytes]:
        return {key: self.held[key] for key in keys if key in self.held}

    def put(self, found: Mapping[Digest, bytes]) -> None:
        self.held |= found
