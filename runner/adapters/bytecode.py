"""An image's own Python as a compiler, run from its unpacked files by its own dynamic loader.

Needs no root, no engine and no installation: the loader is told where the image's libraries are, so that nothing of
this machine but its kernel takes part. The interpreter comes from the locked packages and is given only sources to
compile.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TIMEOUT_S = 300
_PROGRAM = Path(__file__).with_name("bytecode_program.py")
# The loader's path is part of each architecture's ABI; the folders are Debian's.
_LOADERS: Mapping[str, str] = {"amd64": "lib64/ld-linux-x86-64.so.2", "arm64": "lib/ld-linux-aarch64.so.1"}
_TRIPLETS: Mapping[str, str] = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}


class ImageInterpreter:
    """Compiles with the interpreter of an unpacked image."""

    @property
    def identity(self) -> Digest:
        """The digest of the program that the interpreter runs."""
        return sha256_digest(_PROGRAM.read_bytes())

    def compile(self, root: Path, python: str, sources: Mapping[str, bytes], *, arch: str) -> Mapping[str, bytes]:
        """Compiled files by path, from `sources` by path.

        Raises:
            EnvironmentNotReady: this machine can't run programs of `arch`, or the interpreter failed.
        """
        command = [*_loader(root, arch), str(_inside(root, python)), "-I", "-S", "-B", "-X", "utf8", str(_PROGRAM)]
        given = b"".join(_frame(path.encode()) + _frame(data) for path, data in sorted(sources.items()))
        try:
            done = subprocess.run(command, input=given, env={}, check=True, capture_output=True, timeout=_TIMEOUT_S)
        except OSError as error:
            raise EnvironmentNotReady(
                f"a program of {arch} can't be run here: {error}",
                hint="build images of an architecture on a machine of it",
            ) from error
        except subprocess.TimeoutExpired as error:
            raise EnvironmentNotReady(f"compiling didn't end within {_TIMEOUT_S} s") from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise EnvironmentNotReady(f"the image's {python} failed: {' '.join(said)}") from error
        frames = list(_frames(done.stdout))
        return {path.decode(): data for path, data in zip(frames[::2], frames[1::2], strict=True)}


def _loader(root: Path, arch: str) -> list[str]:
    triplet = _TRIPLETS[arch]
    folders = (f"usr/lib/{triplet}", f"lib/{triplet}", "usr/local/lib", "usr/lib")
    libraries = ":".join(str(root / folder) for folder in folders)
    return [str(_inside(root, _LOADERS[arch])), "--inhibit-cache", "--library-path", libraries]


def _inside(root: Path, path: str) -> Path:
    """`path` with its links followed as the image itself would follow them."""
    place, remaining, steps = root, [part for part in path.split("/") if part], 0
    while remaining:
        place /= remaining.pop(0)
        steps += 1
        if place.is_symlink() and steps < 100:
            target = str(place.readlink())
            remaining = [part for part in target.split("/") if part] + remaining
            place = root if target.startswith("/") else place.parent
    return place


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


def _frames(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "big")
        yield data[at + 8 : at + 8 + size]
        at += 8 + size
