"""What goes into a build: the ports, the options, and keys that name inputs by digest."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.canonical import Digest, digest_of, sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.images.store import Store, file_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.core.canonical import Json
    from runner.ports.fetching import BaseImageSource, BytecodeCompiler, PackageFetcher, Wheel, WheelFetcher

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True)
class Tools:
    """The outside, as building needs it."""

    packages: PackageFetcher
    wheels: WheelFetcher
    bytecode: BytecodeCompiler
    base_images: BaseImageSource | None = None


@dataclass(frozen=True)
class Build:
    """One build's surroundings: where the declarations and the cache are, for which architecture, how strictly.

    `check_layers` holds every layer of locked inputs against the diff id in the lock; `recorded` makes a layer again
    that is there without its record of where its files came from. `say` may be called by several threads.
    """

    images_dir: Path
    store: Store
    tools: Tools
    arch: str
    frozen: bool = False
    check_layers: bool = True
    recorded: bool = False
    say: Callable[[str], None] = lambda _: None

    def key(self, kind: str, inputs: Json) -> Digest:
        """The name of `inputs` to a layer of `kind`: it changes with them, and with the code that makes layers."""
        return digest_of({"kind": kind, "arch": self.arch, "code": self._code(), "inputs": inputs})

    def wheel_paths(self, wheels: Sequence[Wheel], python: str) -> dict[str, Path]:
        """The files of `wheels` by digest, downloaded where they weren't here; each has the digest that it should.

        Raises:
            EnvironmentNotReady: one of them can't be had.
            EvidenceError: what came has another digest.
        """
        folder = self.store.downloads("wheels")
        missing = [wheel for wheel in wheels if not _is(folder / wheel.file, wheel.sha256)]
        if missing:
            self.say(f"downloading {len(missing)} wheels")
            self.tools.wheels.download(missing, folder, python=python, arch=self.arch)
        return {wheel.sha256: checked(folder / wheel.file, wheel.sha256) for wheel in wheels}

    def _code(self) -> Digest:
        sources = sorted(Path(__file__).parent.glob("*.py"))
        return digest_of([self.tools.bytecode.identity, *(sha256_digest(path.read_bytes()) for path in sources)])


def checked(path: Path, digest: Digest) -> Path:
    """`path`, whose bytes have `digest`.

    Raises:
        EvidenceError: they haven't, or there is no such file; it is gone then, so that it will be fetched again.
    """
    if not _is(path, digest):
        path.unlink(missing_ok=True)
        raise EvidenceError(f"what was downloaded doesn't have the locked digest {digest}", document=path.name)
    return path


def host_arch() -> str:
    """This machine's architecture, `amd64` or `arm64`.

    Raises:
        EnvironmentNotReady: it is another one.
    """
    machine = platform.machine()
    if machine.lower() not in _ARCHITECTURES:
        raise EnvironmentNotReady(f"no image is locked for {machine}", hint="x86-64 and aarch64 are")
    return _ARCHITECTURES[machine.lower()]


def _is(path: Path, digest: Digest) -> bool:
    return path.exists() and file_digest(path) == digest
