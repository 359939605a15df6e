"""Vectors that were computed before, by digest of what they were computed from and with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.core.canonical import Digest


class Vectors(Protocol):
    """A store of vectors (bytes of little-endian float32). Raises `EnvironmentNotReady` when it can't be used."""

    def get(self, keys: Iterable[Digest]) -> dict[Digest, bytes]:
        """Those of `keys` that are stored, with their vectors."""

    def put(self, found: Mapping[Digest, bytes]) -> None:
        """All of `found` are stored."""
