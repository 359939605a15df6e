"""What image building needs from outside: Debian packages, wheels, the image's own compiler, a base image.

Each protocol says what is true after the call; how it is done (apt, pip, a process, an engine) is an adapter's matter.
Architectures are named as Debian and OCI both do: `amd64`, `arm64`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from runner.core.canonical import Digest


@dataclass(frozen=True, order=True)
class DebianPackage:
    """One binary package: `arch` is its own (`all`, or the architecture), `sha256` that of the `.deb`."""

    name: str
    version: str
    arch: str
    sha256: Digest


@dataclass(frozen=True, order=True)
class Wheel:
    """One wheel of a public index; `file` is its file name."""

    name: str
    version: str
    file: str
    sha256: Digest


@dataclass(frozen=True)
class Requirement:
    """A distribution at one version, alone or with everything that it declares to need."""

    name: str
    version: str
    dependencies: bool = False


class PackageFetcher(Protocol):
    """Debian's archive, as this machine is set up to reach it."""

    def available(self) -> bool:
        """Whether Debian's tools are on this machine at all."""
        ...

    def closure(self, roots: Sequence[str], *, suite: str, arch: str) -> tuple[DebianPackage, ...]:
        """`roots` and everything that they need, at the versions that the archive would install today, by name.

        Raises:
            EnvironmentNotReady: the archive can't be asked, or it doesn't hold one of them.
        """
        ...

    def gone(self, packages: Sequence[DebianPackage], *, suite: str, arch: str) -> tuple[DebianPackage, ...]:
        """Those of `packages` that the archive doesn't hold any more, at that version and with that digest.

        Raises:
            EnvironmentNotReady: the archive can't be asked.
        """
        ...

    def download(self, packages: Sequence[DebianPackage], folder: Path, *, suite: str, arch: str) -> None:
        """`folder` holds every package under the name `<hex of its sha256>.deb`; the caller checks the digests.

        Raises:
            EnvironmentNotReady: one of them can't be had.
        """
        ...


class WheelFetcher(Protocol):
    """The Python package index, as this machine is set up to reach it; nothing that it serves is ever run."""

    def closure(self, requirements: Sequence[Requirement], *, python: str, arch: str) -> tuple[Wheel, ...]:
        """The wheels that satisfy `requirements` for `python` ("3.11") on `arch`, by name.

        Raises:
            EnvironmentNotReady: the index can't be asked, or it has no such wheel.
        """
        ...

    def download(self, wheels: Sequence[Wheel], folder: Path, *, python: str, arch: str) -> None:
        """`folder` holds every wheel under its file name, with the digest that was asked for.

        Raises:
            EnvironmentNotReady: one of them can't be had with that digest.
        """
        ...


class BytecodeCompiler(Protocol):
    """The Python of an image, used as a compiler and never to run what it compiles."""

    @property
    def identity(self) -> Digest:
        """Changes whenever the same interpreter and sources could give other bytes."""
        ...

    def compile(self, root: Path, python: str, sources: Mapping[str, bytes], *, arch: str) -> Mapping[str, bytes]:
        """Compiled files by absolute path, from `sources` by absolute path; what isn't valid Python is left out.

        `root` is the image's unpacked file system, `python` the absolute path of the interpreter inside it. The result
        depends on the interpreter and the sources alone: not on `root`, the order, the clock or the environment.

        Raises:
            EnvironmentNotReady: this machine can't run a program of that architecture.
        """
        ...


class BaseImageSource(Protocol):
    """A container engine, as far as a pinned base image needs one."""

    def save(self, reference: str, destination: Path) -> None:
        """`destination` is the archive of the image `name@sha256:<hex>`, pulled by digest where it wasn't here.

        Raises:
            EnvironmentNotReady: no engine, or the image can't be had.
        """
        ...
