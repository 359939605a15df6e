"""Signatures of files, as the stages see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from pathlib import Path


class Signatures(Protocol):
    """Signs with a person's key, and tells whether a signature is good."""

    def sign(self, data: bytes, key: Path) -> bytes:
        """A signature of `data` with the private key at `key`, for reviews and nothing else.

        Raises `EnvironmentNotReady` where the key can't be used.
        """

    def fault(self, data: bytes, signature: bytes, public_key: str) -> str:
        """Why `signature` isn't one of `data` by the holder of `public_key`; "" when it is.

        Raises `EnvironmentNotReady` where signatures can't be checked at all.
        """


class NoSignatures:
    """Signatures where there is nothing to make or check them with."""

    def sign(self, data: bytes, key: Path) -> bytes:
        """Never returns; raises `EnvironmentNotReady`."""
        del data, key
        raise EnvironmentNotReady("nothing can be signed here", document="signatures")

    def fault(self, data: bytes, signature: bytes, public_key: str) -> str:
        """Never returns; raises `EnvironmentNotReady`."""
        del data, signature, public_key
        raise EnvironmentNotReady("no signature can be checked here", document="signatures")
