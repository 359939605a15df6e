"""The slots port on locks of files, which the kernel lets go when a process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class HostSlots:
    """Places as files in `folder`; every process that is given the same folder shares them."""

    def __init__(self, folder: Path) -> None:
        """Remember where the files are."""
        self._folder = folder

    @contextlib.contextmanager
    def taken(self, kind: str, places: int) -> Iterator[None]:
        """While the context lasts, one of `places` of `kind` is taken; it waits until one is free."""
        with contextlib.ExitStack() as held:
            try:
                self._take(held, kind, places)
            except OSError as error:
                raise EnvironmentNotReady(error.strerror or str(error), document=str(self._folder)) from error
            yield

    def _take(self, held: contextlib.ExitStack, kind: str, places: int) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in range(places):
            stream = (self._folder / f"{kind}-{number}.lock").open("a")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.close()
                continue
            held.enter_context(stream)
            return
        # Whoever waits does so for one certain place: the kernel knows no wait for any of several locks.
        stream = held.enter_context((self._folder / f"{kind}-{os.getpid() % places}.lock").open("a"))
        fcntl.flock(stream, fcntl.LOCK_EX)
