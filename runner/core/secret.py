"""A text that shows in no log, no traceback and no document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Secret:
    """Holds a secret; whoever needs its text asks for it by name."""

    text: str

    def __repr__(self) -> str:
        """Nothing of the secret."""
        return "Secret(...)"

    __str__ = __repr__
