"""Git in memory: commits that a test writes down, fetched into stores that it can damage."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady
from runner.ports.repositories import GitEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


@dataclass
class Commit:
    """A commit: path -> (kind, bytes); of a submodule the bytes are the commit's name."""

    paths: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    submodules: dict[str, str] = field(default_factory=dict)


@dataclass
class MemoryRepositories:
    """The repositories port; `remote` has commits by URL and name, `stores` what was fetched."""

    remote: dict[tuple[str, str], Commit] = field(default_factory=dict)
    stores: dict[Path, dict[str, Commit]] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    damaged: set[Path] = field(default_factory=set)

    def fetch(self, url: str, commit: str, store: Path) -> None:
        self.fetched.append(f"{url} {commit}")
        if (url, commit) not in self.remote:
            raise EnvironmentNotReady("git fetch failed: no such commit", document="git", key=url)
        self.stores[store] = {commit: self.remote[url, commit]}
        self.damaged.discard(store)

    def holds(self, commit: str, store: Path) -> bool:
        return commit in self.stores.get(store, {})

    def entries(self, commit: str, store: Path) -> Mapping[str, GitEntry]:
        return {
            path: GitEntry(kind, data.decode(), 0)  # type: ignore[arg-type]
            if kind == "submodule"
            else GitEntry(kind, _name(data), len(data))  # type: ignore[arg-type]
            for path, (kind, data) in self.stores[store][commit].paths.items()
        }

    def blobs(self, names: Collection[str], store: Path) -> Mapping[str, bytes]:
        if store in self.damaged:
            raise EnvironmentNotReady("the object is missing or no blob", document=str(store))
        held = {_name(data): data for commit in self.stores[store].values() for _, data in commit.paths.values()}
        return {name: held[name] for name in names}

    def submodules(self, commit: str, store: Path) -> Mapping[str, str]:
        return self.stores[store][commit].submodules


def _name(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
