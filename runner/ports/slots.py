"""How many of a kind may be at work on this host at once, whichever runner they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Slots(Protocol):
    """Places of this installation on this host."""

    def taken(self, kind: str, places: int) -> AbstractContextManager[None]:
        """While the context lasts, one of `places` of `kind` is taken; it waits until one is free.

        A runner that dies gives its place back. Raises `EnvironmentNotReady` when the places can't be looked at.
        """
