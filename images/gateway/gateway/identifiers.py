"""How are answers named? Identifiers in the provider's shapes, from a seed and a sequence number alone."""

from __future__ import annotations

import hashlib

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LENGTH = 22


def identifier(prefix: str, seed: str, *numbers: int) -> str:
    """`<prefix>_01` and 22 letters and digits: always the same for the same arguments."""
    text = "\0".join([prefix, seed, *(str(number) for number in numbers)])
    value = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    letters = []
    for _ in range(LENGTH):
        value, remainder = divmod(value, len(ALPHABET))
        letters.append(ALPHABET[remainder])
    return f"{prefix}_01{''.join(letters)}"
