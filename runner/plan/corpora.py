"""A corpus is laid out from its parts, split into passages, and held against its lock.

Knows wheels and folders; nothing of a part is ever run.
"""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import Digest, sha256_digest
from runner.core.corpus import CorpusLock, FilesPart, WheelPart
from runner.core.errors import EnvironmentNotReady, Problem, StudyError
from runner.core.passages import Splitter, passages_jsonl, skipped, split, tree_digest
from runner.core.tars import TreeFile
from runner.core.trees import placed, selected, tree_problems
from runner.ports.fetching import Wheel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.core.corpus import CorpusFile
    from runner.core.passages import Passage
    from runner.core.resolved import CorpusSource
    from runner.ports.fetching import WheelFetcher
    from runner.ports.files import Files

_PYTHON: Final = "3.11"
# Corpora are laid out from pure-Python wheels, which are the same on every architecture.
_ARCH: Final = "amd64"
_UNPACKED_LIMIT_BYTES: Final = 1 << 30
_UNIX_MODE_SHIFT: Final = 16
_LINK_TYPE: Final = 0o120000
_FILE_TYPE: Final = 0o100000
_TYPE_MASK: Final = 0o170000
_EXECUTABLE: Final = 0o100
# What zipfile raises for damaged members, encrypted ones (RuntimeError) and methods that it doesn't know.
_UNZIP_FAULTS: Final = (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class Corpus:
    """A corpus as it is laid out: its files by path in the workspace, and its passages by id."""

    name: str
    files: Mapping[str, TreeFile]
    passages: tuple[Passage, ...]

    def contents(self) -> dict[str, bytes]:
        """The bytes of every file."""
        return {path: file.data for path, file in self.files.items()}


@dataclass(frozen=True)
class CorpusReader:
    """Reads the parts of corpora; wheels are kept in `cache`, by digest."""

    files: Files
    wheels: WheelFetcher
    cache: Path

    def corpus(self, declared: CorpusFile, folder: Path, document: str) -> Corpus:
        """The corpus that `declared`, a file in `folder`, describes.

        Raises:
            StudyError: a part is missing or may not be laid out; every such part is named.
            EnvironmentNotReady: a wheel can't be fetched, or isn't what its digest says.
        """
        pairs: list[tuple[str, TreeFile]] = []
        problems: list[Problem] = []
        for index, part in enumerate(declared.parts):
            key = f"parts[{index}]"
            try:
                match part:
                    case WheelPart():
                        found = self._wheel(part, document, key)
                    case FilesPart():
                        found = self._folder(part, folder, document, key)
            except StudyError as error:
                problems += error.problems
                continue
            names = selected(sorted(found), part.include, part.exclude)
            pairs += [(placed(part.into, name), found[name]) for name in names]
        if not problems:
            problems += tree_problems((path for path, _ in pairs), document)
        if problems:
            raise StudyError.of(problems)
        files = dict(sorted(pairs, key=lambda pair: pair[0].encode("utf-8")))
        rule = Splitter(declared.splitter.name, declared.splitter.target_bytes, declared.splitter.max_bytes)
        passages = split({path: file.data for path, file in files.items()}, rule)
        return Corpus(declared.name, files, passages)

    def locked(self, source: CorpusSource, folder: Path) -> Corpus:
        """The corpus, which is what its lock says; raises as `corpus` does, and `StudyError` when it isn't."""
        found = self.corpus(source.file, folder, source.document)
        now, frozen = lock_of(found, Digest(source.lock.corpus_sha256)), source.lock
        problems = [
            Problem(
                f"it is {getattr(now, key)}, and was frozen as {getattr(frozen, key)}",
                source.document,
                key,
                "run `pairbench corpora lock` if the change is meant",
            )
            for key in ("tree_sha256", "passages_sha256", "files", "bytes", "passages", "skipped")
            if getattr(now, key) != getattr(frozen, key)
        ]
        if problems:
            raise StudyError.of(problems)
        return found

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


def lock_of(corpus: Corpus, corpus_sha256: Digest) -> CorpusLock:
    """What `corpus` is frozen to; `corpus_sha256` is the digest of its file."""
    contents = corpus.contents()
    return CorpusLock(
        name=corpus.name,
        corpus_sha256=corpus_sha256,
        tree_sha256=tree_digest(contents),
        passages_sha256=sha256_digest(passages_jsonl(corpus.passages)),
        files=len(contents),
        bytes=sum(len(data) for data in contents.values()),
        passages=len(corpus.passages),
        skipped=len(skipped(contents, corpus.passages)),
    )


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
