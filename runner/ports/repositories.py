"""Commits of Git repositories as trees of named objects: fetched once, read by name, never checked out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class GitEntry:
    """What a commit holds at one path."""

    kind: Literal["file", "executable", "link", "submodule"]
    object: str
    """The blob's name; of a submodule, the commit that is recorded."""
    size_bytes: int
    """0 for a submodule."""


class Repositories(Protocol):
    """Git. Nothing of a repository is ever run: no hook, no filter, no helper. Each method takes a store's folder.

    Every method raises `EnvironmentNotReady` when Git is absent, or its words say no.
    """

    def fetch(self, url: str, commit: str, store: Path) -> None:
        """`store` holds the commit with everything below it, and nothing else; what was there is gone."""

    def holds(self, commit: str, store: Path) -> bool:
        """Whether `store` is there, and the commit in it."""

    def entries(self, commit: str, store: Path) -> Mapping[str, GitEntry]:
        """Every path of the commit that isn't a folder; bytes that aren't UTF-8 stand as lone surrogates."""

    def blobs(self, names: Collection[str], store: Path) -> Mapping[str, bytes]:
        """The bytes of the named objects, as they are: no attribute or filter has a say."""

    def submodules(self, commit: str, store: Path) -> Mapping[str, str]:
        """Path -> URL, as the commit's `.gitmodules` declares them."""
