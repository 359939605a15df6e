"""Deterministic tar archives of small trees, in memory."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.core.trees import EXECUTABLE_MODE, FILE_MODE, FOLDER_MODE, MODIFIED_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True)
class TreeFile:
    """A regular file of a tree."""

    data: bytes
    executable: bool = False


def tar_of(files: Mapping[str, TreeFile], *, owner: int = 0) -> bytes:
    """One tar that holds `files` and their folders: sorted by path, fixed times, one owner, no names of users."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in sorted(set(_folders(files))):
            tar.addfile(_item(folder, FOLDER_MODE, owner, tarfile.DIRTYPE))
        for path in sorted(files):
            file = files[path]
            item = _item(path, EXECUTABLE_MODE if file.executable else FILE_MODE, owner, tarfile.REGTYPE)
            item.size = len(file.data)
            tar.addfile(item, io.BytesIO(file.data))
    return stream.getvalue()


def files_of(data: bytes, document: str) -> dict[str, bytes]:
    """The contents of the files of a tar that `tar_of` made; raises as `tree_of` does."""
    return {path: file.data for path, file in tree_of(data, document).items()}


def tree_of(data: bytes, document: str) -> dict[str, TreeFile]:
    """The files of a tar that `tar_of` made.

    Raises:
        EvidenceError: it isn't a tar, it is cut, or it holds anything but files and folders.
    """
    found: dict[str, TreeFile] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for item in tar:
                if item.isdir():
                    continue
                stream = tar.extractfile(item) if item.isreg() else None
                if stream is None:
                    raise EvidenceError(f"{item.name} is no regular file", document=document)
                found[item.name] = TreeFile(stream.read(), item.mode == EXECUTABLE_MODE)
    # Damaged headers make tarfile raise more than its own errors: numbers and names that can't be.
    except (tarfile.TarError, EOFError, ValueError, OverflowError, OSError, RecursionError) as error:
        raise EvidenceError(f"not a whole tar: {error}", document=document) from error
    return found


def _folders(files: Iterable[str]) -> Iterator[str]:
    for path in files:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            yield "/".join(parts[:depth])


def _item(name: str, mode: int, owner: int, kind: bytes) -> tarfile.TarInfo:
    item = tarfile.TarInfo(name)
    item.mode, item.uid, item.gid, item.mtime, item.type = mode, owner, owner, MODIFIED_S, kind
    return item
