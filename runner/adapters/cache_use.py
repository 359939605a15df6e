"""Who uses the cache: any number of processes share it, and whoever takes things away from it is alone.

The kernel lets go of the lock when a process ends, however it does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING, Final

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILE: Final = "in-use.lock"


class CacheUse:
    """This process's use of the cache in `folder`, from now on until it ends."""

    def __init__(self, folder: Path) -> None:
        """It shares the cache; where one can't be written, nobody takes anything away from it either."""
        self._folder = folder
        self._handle: int | None = None
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            # Whoever may only read another user's cache shares it too.
            self._handle = os.open(folder / _FILE, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            # It waits for whoever is alone in the cache just now.
            fcntl.flock(self._handle, fcntl.LOCK_SH)

    def close(self) -> None:
        """This process uses it no more."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While the context lasts, no other process uses the cache, and one that would waits.

        Raises:
            EnvironmentNotReady: another one does, or the cache can't be locked.
        """
        document = str(self._folder)
        if self._handle is None:
            raise EnvironmentNotReady("the cache can't be locked", document=document)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "try again when no run, build or rerun is under way; --dry-run works meanwhile"
            raise EnvironmentNotReady("another process of pairbench uses it", document=document, hint=hint) from error
        except OSError as error:
            raise EnvironmentNotReady(error.strerror or str(error), document=document) from error
        try:
            yield
        finally:
            fcntl.flock(self._handle, fcntl.LOCK_SH)
