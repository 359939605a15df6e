"""The outside that stages are given, as ports; `wiring` makes the real one, tests make another."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady
from runner.ports.signatures import NoSignatures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from runner.archives.harness import HarnessFiles
    from runner.core.lock import HarnessPin
    from runner.core.owner import Owner
    from runner.core.secret import Secret
    from runner.images.inputs import Build
    from runner.ports.clock import Clock
    from runner.ports.engine import Engine
    from runner.ports.entropy import Entropy
    from runner.ports.files import Files
    from runner.ports.interrupts import Interrupts
    from runner.ports.progress import Progress
    from runner.ports.repositories import Repositories
    from runner.ports.signatures import Signatures
    from runner.ports.slots import Slots
    from runner.ports.vectors import Vectors


@dataclass(frozen=True)
class Places:
    """Folders of this installation."""

    images: Path
    """`image.toml` files and locks."""
    cache: Path
    """Whatever can be made again."""
    runs: Path
    """One folder a run, and `latest`."""


def no_provider_key() -> Secret:
    """Never returns; raises `EnvironmentNotReady`."""
    raise EnvironmentNotReady("there is no provider's key here", document="environment")


def no_sources() -> Mapping[str, bytes]:
    """Never returns; raises `EnvironmentNotReady`."""
    raise EnvironmentNotReady("the sources of this program aren't to be had here", document="environment")


def no_versions() -> Mapping[str, str]:
    """Never returns; raises `EnvironmentNotReady`."""
    raise EnvironmentNotReady("what is installed here isn't known", document="environment")


def no_code() -> HarnessFiles:
    """Never returns; raises `EnvironmentNotReady`."""
    raise EnvironmentNotReady("this program can't be packed here", document="environment")


@dataclass(frozen=True)
class World:
    """Everything outside that a stage may need."""

    engine: Callable[[], Engine]
    """The engine; raises `EnvironmentNotReady` when none answers."""
    files: Files
    clock: Clock
    entropy: Entropy
    vectors: Vectors
    repositories: Repositories
    slots: Slots
    build: Build
    """How images are built."""
    progress: Progress
    interrupts: Interrupts
    owner: Owner
    lives: Callable[[Owner], bool]
    """Whether an owner still runs; one that can't be seen from here counts as alive."""
    harness: HarnessPin
    places: Places
    provider_key: Callable[[], Secret] = no_provider_key
    """The provider's key; raises `EnvironmentNotReady` where nobody gave one."""
    sources: Callable[[], Mapping[str, bytes]] = no_sources
    """Every file of this program, by its path from the folder that holds the package."""
    versions: Callable[[], Mapping[str, str]] = no_versions
    """Every distribution that is installed -> its version; names as indexes compare them."""
    code: Callable[[], HarnessFiles] = no_code
    """This program as it travels with a run; what `harness` names."""
    signatures: Signatures = field(default_factory=NoSignatures)
    alone: Callable[[], AbstractContextManager[None]] = nullcontext
    """While its context lasts, no other process uses the cache; raises `EnvironmentNotReady` where one does."""
