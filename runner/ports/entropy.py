"""Randomness that must not be guessed, as the stages see it; everything reproducible comes from digests instead."""

from __future__ import annotations

from typing import Protocol


class Entropy(Protocol):
    """A source of secrets."""

    def token(self) -> str:
        """43 characters of `A-Z a-z 0-9 - _` that nobody can guess (256 bits)."""
