"""An archive, an index and a compiler for image building, in memory: what a test puts in is what a build finds."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EnvironmentNotReady
from runner.ports.fetching import DebianPackage, Requirement, Wheel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def deb(files: Mapping[str, bytes | str], *, compression: str = "xz", mode: int = 0o755) -> bytes:
    """A Debian package of `files`: bytes are a file's content, text is a link's target."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.mode, member.uid, member.mtime = mode, 1000, 1_111_111_111
            if path.endswith("/"):
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            elif isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    packed = lzma.compress(data.getvalue()) if compression == "xz" else data.getvalue()
    members = (("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), (f"data.tar.{compression}", packed))
    return b"!<arch>\n" + b"".join(_ar_member(name, content) for name, content in members)


def _ar_member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)


def wheel(files: Mapping[str, bytes]) -> bytes:
    """A wheel of `files`."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 0)), content)
    return data.getvalue()


@dataclass
class FakeArchive:
    """Debian packages by name, each as a version, what it needs, and its file; `forged` files come in place of true ones."""

    packages: dict[str, tuple[str, tuple[str, ...], bytes]] = field(default_factory=dict)
    present: bool = True
    forged: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def available(self) -> bool:
        return self.present

    def closure(self, roots: Sequence[str], *, suite: str, arch: str) -> tuple[DebianPackage, ...]:
        self.asked.append(f"closure {suite} {arch}")
        found: dict[str, DebianPackage] = {}
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in self.packages:
                raise EnvironmentNotReady(f"no package {name}")
            if name not in found:
                found[name] = self.package(name, arch)
                waiting += self.packages[name][1]
        return tuple(sorted(found.values()))

    def gone(self, packages: Sequence[DebianPackage], *, suite: str, arch: str) -> tuple[DebianPackage, ...]:
        self.asked.append(f"gone {suite} {arch}")
        here = {self.package(name, arch) for name in self.packages}
        return tuple(package for package in packages if package not in here)

    def download(self, packages: Sequence[DebianPackage], folder: Path, *, suite: str, arch: str) -> None:
        self.asked.append(f"download {suite} {arch}")
        for package in packages:
            if package.name not in self.packages or package != self.package(package.name, arch):
                raise EnvironmentNotReady(f"no package {package.name} {package.version}")
            data = self.forged.get(package.name, self.packages[package.name][2])
            (folder / f"{package.sha256.removeprefix('sha256:')}.deb").write_bytes(data)

    def package(self, name: str, arch: str) -> DebianPackage:
        version, _, data = self.packages[name]
        return DebianPackage(name, version, arch, sha256_digest(data))


@dataclass
class FakeIndex:
    """Wheels by name, each as a version, what it needs, and its file."""

    wheels: dict[str, tuple[str, tuple[str, ...], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def closure(self, requirements: Sequence[Requirement], *, python: str, arch: str) -> tuple[Wheel, ...]:
        self.asked.append(f"closure {python} {arch}")
        names: set[str] = set()
        for item in requirements:
            if self.wheels.get(item.name, ("",))[0] != item.version:
                raise EnvironmentNotReady(f"no wheel {item.name} {item.version}")
            names.add(item.name)
            names.update(self.wheels[item.name][1] if item.dependencies else ())
        return tuple(sorted(self.wheel(name) for name in names))

    def download(self, wheels: Sequence[Wheel], folder: Path, *, python: str, arch: str) -> None:
        self.asked.append(f"download {python} {arch}")
        for item in wheels:
            if item.name not in self.wheels or item.sha256 != self.wheel(item.name).sha256:
                raise EnvironmentNotReady(f"no wheel {item.name} with {item.sha256}")
            (folder / item.file).write_bytes(self.wheels[item.name][2])

    def wheel(self, name: str) -> Wheel:
        version, _, data = self.wheels[name]
        return Wheel(name, version, f"{name.replace('-', '_')}-{version}-py3-none-any.whl", sha256_digest(data))


@dataclass
class FakeCompiler:
    """Compiles by putting a word before the source; a source with `!` in it isn't valid."""

    asked: list[str] = field(default_factory=list)

    @property
    def identity(self) -> Digest:
        return sha256_digest(b"a fake compiler")

    def compile(self, root: Path, python: str, sources: Mapping[str, bytes], *, arch: str) -> Mapping[str, bytes]:
        self.asked.append(f"compile {arch}")
        if not (root / python[1:]).exists():
            raise EnvironmentNotReady(f"no {python} in the base")
        return {_compiled_path(path): b"compiled " + source for path, source in sources.items() if b"!" not in source}


def _compiled_path(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/__pycache__/{name.removesuffix('.py')}.cpython-311.pyc"
