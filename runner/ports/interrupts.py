"""Someone wants the program to end, as the stages see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


class Interrupts(Protocol):
    """Ctrl-C and its kin."""

    def watch(self, told: Callable[[int], None]) -> AbstractContextManager[None]:
        """While the context lasts, an interruption calls `told` with its number, from 1, and ends nothing by itself."""
