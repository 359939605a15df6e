"""Which Debian packages a base is made of today: the locked ones, or what the archive has in their place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.canonical import Digest, canonical_bytes, digest_of
from runner.core.errors import EnvironmentNotReady
from runner.images.locks import RELOCK_HINT
from runner.ports.fetching import DebianPackage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from runner.core.canonical import Json
    from runner.images.inputs import Build
    from runner.images.locks import BaseLock
    from runner.images.spec import BaseSpec


@dataclass(frozen=True)
class Drift:
    """A package that isn't what the lock says; an empty version means that it isn't there at all."""

    package: str
    locked: str
    taken: str

    def __str__(self) -> str:
        """The change in words."""
        return f"{self.package}: {self.locked or 'not locked'} -> {self.taken or 'gone'}"


def chosen(spec: BaseSpec, lock: BaseLock, build: Build) -> tuple[tuple[DebianPackage, ...], tuple[Drift, ...]]:
    """The packages to take, and how they differ from the lock.

    As long as every locked package can be had, they are the locked ones. When one is gone, today's whole set is taken,
    so that what is taken fits together. The archive is asked only when something is missing here.

    Raises:
        EnvironmentNotReady: the archive can't be asked, or (frozen) a locked package is gone.
    """
    locked = tuple(item.package() for item in lock.packages)
    missing = [package for package in locked if not deb_path(package, build).exists()]
    if not missing or build.store.layer(base_key(spec, locked, build)):
        return locked, ()
    packages = _remembered(spec, lock, build)
    if packages is None:
        gone = build.tools.packages.gone(missing, suite=spec.suite, arch=build.arch)
        if not gone:
            return locked, ()
        packages = resolved(spec, build)
        build.store.write("drift", _memory(lock), canonical_bytes([_facts(package) for package in packages]))
    drifted = drift_between(locked, packages)
    if build.frozen:
        names = ", ".join(f"{item.package} {item.locked}" for item in drifted)
        raise EnvironmentNotReady(f"the archive has moved on from the locked base: {names}", hint=RELOCK_HINT)
    return packages, drifted


def resolved(spec: BaseSpec, build: Build) -> tuple[DebianPackage, ...]:
    """The packages that `spec` comes to with today's archive.

    Raises:
        EnvironmentNotReady: the archive can't be asked.
    """
    everything = build.tools.packages.closure(spec.packages, suite=spec.suite, arch=build.arch)
    return tuple(package for package in everything if package.name not in spec.omit)


def drift_between(locked: Sequence[DebianPackage], taken: Sequence[DebianPackage]) -> tuple[Drift, ...]:
    """Where the two differ, by package name."""
    before, after = ({package.name: package.version for package in packages} for packages in (locked, taken))
    names = sorted(before.keys() | after.keys())
    pairs = ((name, before.get(name, ""), after.get(name, "")) for name in names)
    return tuple(Drift(name, old, new) for name, old, new in pairs if old != new)


def base_key(spec: BaseSpec, packages: Sequence[DebianPackage], build: Build) -> Digest:
    """The name of the base layer that `spec` makes of `packages`."""
    declared = spec.model_dump(mode="json", exclude={"packages", "omit", "image", "suite"})
    return build.key("base", {"declared": declared, "packages": sorted(package.sha256 for package in packages)})


def deb_path(package: DebianPackage, build: Build) -> Path:
    """Where the package's file stands, or would."""
    return build.store.downloads("debs") / f"{package.sha256.removeprefix('sha256:')}.deb"


def _remembered(spec: BaseSpec, lock: BaseLock, build: Build) -> tuple[DebianPackage, ...] | None:
    """What was taken for this lock before, if the layer that it gave is still there: the archive isn't asked then."""
    try:
        items = json.loads((build.store.folder / "drift" / _memory(lock)).read_bytes())
        packages = tuple(DebianPackage(n, v, a, Digest(d)) for n, v, a, d in items)
    except (OSError, ValueError, TypeError):
        return None
    return packages if build.store.layer(base_key(spec, packages, build)) else None


def _memory(lock: BaseLock) -> str:
    pinned = digest_of([_facts(item.package()) for item in lock.packages])
    return f"{pinned.removeprefix('sha256:')}.json"


def _facts(package: DebianPackage) -> list[Json]:
    return [package.name, package.version, package.arch, package.sha256]
