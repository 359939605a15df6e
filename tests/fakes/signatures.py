"""Signatures without a program: whoever has the private half makes them, and both halves are made from one word."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.files import Files


class WordSignatures:
    """The signatures port; a private key is a file `private <word>`, and its public half `ssh-word <word>`."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def sign(self, data: bytes, key: Path) -> bytes:
        held = self._files.read(key) or b""
        if not held.startswith(b"private "):
            raise EnvironmentNotReady("it can't sign: no private key", document=str(key))
        return _signature(held.removeprefix(b"private "), data)

    def fault(self, data: bytes, signature: bytes, public_key: str) -> str:
        word = public_key.split(" ")[1].encode()
        return "" if signature == _signature(word, data) else "Signature verification failed: incorrect signature"


def _signature(word: bytes, data: bytes) -> bytes:
    return hashlib.sha256(word + b"\0" + data).hexdigest().encode()
