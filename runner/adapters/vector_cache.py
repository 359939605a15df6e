"""The vectors port on an SQLite file: safe for several processes, and may be deleted at any time."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.core.canonical import Digest

_PATIENCE_S = 30
_TABLE = "create table if not exists vectors (key text primary key, vector blob not null) without rowid"


class VectorCache:
    """Vectors in the file `path`, which is made when it is first written."""

    def __init__(self, path: Path) -> None:
        """Remember where the file is."""
        self._path = path

    def get(self, keys: Iterable[Digest]) -> dict[Digest, bytes]:
        """Those of `keys` that are stored, with their vectors."""
        with self._open() as base:
            found: dict[Digest, bytes] = {}
            for key in keys:
                row = base.execute("select vector from vectors where key = ?", (key,)).fetchone()
                if row is not None:
                    found[key] = bytes(row[0])
        return found

    def put(self, found: Mapping[Digest, bytes]) -> None:
        """All of `found` are stored."""
        with self._open() as base, base:
            base.executemany("insert or replace into vectors values (?, ?)", sorted(found.items()))

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self._path, timeout=_PATIENCE_S)) as base:
                base.execute(_TABLE)
                yield base
        except (sqlite3.Error, OSError) as error:
            raise EnvironmentNotReady(
                str(error), document=str(self._path), hint="delete the file and try again"
            ) from error
