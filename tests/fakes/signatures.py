"""Signatures without a program: whoever has the private half makes them, and both halves are made from one word."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.files import Files


class WordSignatures:
    """The signatures port; a private key is a file `private <word>`, and its public half `public_key(<word>)`."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def sign(self, data: bytes, key: Path) -> bytes:
        held = self._files.read(key) or b""
        if not held.startswith(b"private "):
            raise EnvironmentNotReady("it can't sign: no private key", document=str(key))
        return _signature(_half(held.removeprefix(b"private ")), data)

    def fault(self, data: bytes, signature: bytes, public_key: str) -> str:
        half = base64.b64decode(public_key.split(" ")[1])[-32:]
        return "" if signature == _signature(half, data) else "Signature verification failed: incorrect signature"


def public_key(word: str, comment: str = "") -> str:
    """The public half of the key that is made of `word`; it looks like one of Ed25519."""
    parts = (b"ssh-ed25519", _half(word.encode()))
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} {comment}".strip()


def _half(word: bytes) -> bytes:
    return hashlib.sha256(word).digest()


def _signature(half: bytes, data: bytes) -> bytes:
    return hashlib.sha256(half + b"\0" + data).hexdigest().encode()
