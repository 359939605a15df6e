"""What files does a part of a corpus give? Wheels, folders, commits, test collections; nothing of one is ever run."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import Digest, sha256_digest
from runner.core.collections import Collection
from runner.core.corpus import BeirPart, FilesPart, GitPart, IrPart, WheelPart
from runner.core.errors import EnvironmentNotReady, Problem, StudyError
from runner.core.tars import TreeFile
from runner.plan.git_parts import GitReader
from runner.ports.fetching import Wheel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.core.corpus import AnyPart
    from runner.ports.fetching import WheelFetcher
    from runner.ports.files import Files
    from runner.ports.repositories import Repositories

_PYTHON: Final = "3.11"
# Corpora are laid out from pure-Python wheels, which are the same on every architecture.
_ARCH: Final = "amd64"
_UNPACKED_LIMIT_BYTES: Final = 1 << 30
_UNIX_MODE_SHIFT: Final = 16
_LINK_TYPE: Final = 0o120000
_FILE_TYPE: Final = 0o100000
_TYPE_MASK: Final = 0o170000
_EXECUTABLE: Final = 0o100
_BEIR_FILE: Final = "corpus.jsonl"
# What zipfile raises for damaged members, encrypted ones (RuntimeError) and methods that it doesn't know.
_UNZIP_FAULTS: Final = (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class PartReader:
    """Reads the parts of corpora; wheels and commits are kept in `cache`."""

    files: Files
    wheels: WheelFetcher
    repositories: Repositories
    cache: Path

    def read(self, part: AnyPart, folder: Path, document: str, key: str) -> dict[str, TreeFile]:
        """The files of the part by path within it, for a corpus file in `folder`.

        Raises:
            StudyError: it is missing or may not be laid out.
            EnvironmentNotReady: it can't be fetched, or isn't what its digest says.
        """
        match part:
            case WheelPart():
                return self._wheel(part, document, key)
            case FilesPart():
                return self._folder(part, folder, document, key)
            case GitPart():
                return GitReader(self.repositories, self.cache).files(part, document, key)
            case BeirPart():
                paths = {f"{part.path}/{_BEIR_FILE}": folder / part.path / _BEIR_FILE}
                return self._collection(Collection(document), paths, f"{key}.path")
            case IrPart():
                return self._test_collection(part, folder, document, key)

    def _test_collection(self, part: IrPart, folder: Path, document: str, key: str) -> dict[str, TreeFile]:
        paths: dict[str, Path] = {}
        for path in part.paths:
            place = folder / path
            within = () if self.files.is_regular(place) else tuple(self.files.walk(place))
            paths |= {f"{path}/{name}": place / name for name in within} or {path: place}
        return self._collection(Collection(document, part.encoding), paths, f"{key}.documents")

    def _collection(self, found: Collection, paths: Mapping[str, Path], key: str) -> dict[str, TreeFile]:
        for name, path in paths.items():
            data = self.files.read(path) if self.files.is_regular(path) else None
            if data is None:
                found.problems.append(Problem(f"there is no file {path}", found.document, key))
            else:
                found.add(name, data)
        if found.problems:
            raise StudyError.of(found.problems)
        return {name: TreeFile(data) for name, data in found.files.items()}

    def _folder(self, part: FilesPart, folder: Path, document: str, key: str) -> dict[str, TreeFile]:
        root = folder / part.path
        found: dict[str, TreeFile] = {}
        problems: list[Problem] = []
        for name in self.files.walk(root):
            data = self.files.read(root / name) if self.files.is_regular(root / name) else None
            if data is None:
                problems.append(Problem("only regular files can be laid out", document, f"{key}: {name}"))
            else:
                found[name] = TreeFile(data, self.files.is_executable(root / name))
        if not found and not problems:
            problems.append(Problem(f"there are no files in {root}", document, f"{key}.path"))
        if problems:
            raise StudyError.of(problems)
        return found

    def _wheel(self, part: WheelPart, document: str, key: str) -> dict[str, TreeFile]:
        place = self.cache / "corpora" / part.sha256.partition(":")[2]
        data = self.files.read(place / part.filename)
        if data is None or sha256_digest(data) != part.sha256:
            wheel = Wheel(part.name, part.version, part.filename, Digest(part.sha256))
            self.wheels.download([wheel], place, python=_PYTHON, arch=_ARCH)
            data = self.files.read(place / part.filename) or b""
        if sha256_digest(data) != part.sha256:
            message = f"what was fetched as {part.filename} is not what its digest says"
            raise EnvironmentNotReady(message, document=document, key=f"{key}.sha256")
        return _unzipped(data, document, key)


def _unzipped(data: bytes, document: str, key: str) -> dict[str, TreeFile]:
    found: dict[str, TreeFile] = {}
    left = _UNPACKED_LIMIT_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for item in archive.infolist():
                if item.is_dir():
                    continue
                mode = item.external_attr >> _UNIX_MODE_SHIFT
                fault = _member_fault(item.filename, mode & _TYPE_MASK, found)
                if fault:
                    raise StudyError(fault, document=document, key=f"{key}: {item.filename}")
                left -= item.file_size
                if left < 0:
                    raise StudyError("it unpacks to more than a gigabyte", document=document, key=key)
                found[item.filename] = TreeFile(archive.read(item), bool(mode & _EXECUTABLE))
    except _UNZIP_FAULTS as error:
        raise StudyError(f"not a wheel: {error}", document=document, key=key) from error
    return found


def _member_fault(name: str, kind: int, found: Mapping[str, TreeFile]) -> str:
    """Why a member of a wheel can't be laid out; what is wrong with its path is said by whoever lays out the tree."""
    if kind == _LINK_TYPE:
        return "it holds a link"
    # Archives that were made on other systems say nothing of the type.
    if kind not in (_FILE_TYPE, 0):
        return "it holds something else than files"
    return "it holds two files of this name" if name in found else ""
