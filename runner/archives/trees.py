"""Which files does a run have, and which blobs are they? A list of one line a file outside its trials, and one a trial.

Files are blobs of their own, so that runs share corpora, indexes and prices; a trial is one blob, because it has many
small files that no other trial has.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.archives.places import TOP, is_left_out, part_fault, path_problems
from runner.core import layout
from runner.core.canonical import Digest, canonical_line, parse_digest, parse_json, parse_lines
from runner.core.documents import validated
from runner.core.errors import EnvironmentNotReady, EvidenceError, Problem
from runner.core.lock import HarnessPin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from runner.core.canonical import Json

_TRIALS: Final = f"{layout.TRIALS}/"


@dataclass(frozen=True)
class Listed:
    """A file, or a trial's folder as a tar, by its blob."""

    digest: Digest
    size: int


@dataclass(frozen=True)
class RunTree:
    """What a run consists of: blobs by the paths of files outside `trials/`, and by trial."""

    files: dict[str, Listed]
    trials: dict[str, Listed]

    def listed(self) -> Iterator[tuple[str, Listed]]:
        """Every path of a file and of a trial's folder, and its blob."""
        yield from self.files.items()
        for trial, listed in self.trials.items():
            yield f"{_TRIALS}{trial}", listed

    def to_bytes(self) -> bytes:
        """The list, canonical: files sorted by path, then trials."""
        lines: list[Json] = [_line("path", path, listed) for path, listed in sorted(self.files.items())]
        lines += [_line("trial", trial, listed) for trial, listed in sorted(self.trials.items())]
        return b"".join(canonical_line(line) for line in lines)


@dataclass(frozen=True)
class FoundFiles:
    """The files of a run's folder with their sizes, sorted by path; and what isn't the run's and stays behind."""

    outside: dict[str, int]
    trials: dict[str, dict[str, int]]
    """Trial -> path below its folder -> size."""
    left_out: tuple[str, ...]


def find_files(folder: Path) -> FoundFiles:
    """What is in the run's `folder`.

    Raises:
        EvidenceError: something of the run is no regular file, or has a path that can't be laid down everywhere.
        EnvironmentNotReady: the folder can't be read.
    """
    found: dict[str, int] = {}
    left_out: list[str] = []
    problems: list[Problem] = []
    for path, entry in sorted(_walked(folder, "")):
        if is_left_out(path):
            # Every run has its own lock of whoever works on it: nobody needs to be told.
            left_out += () if path == layout.HOLDER else (path,)
        elif not entry.is_file(follow_symlinks=False):
            problems.append(Problem("it is no regular file, and can't be archived", path))
        else:
            found[path] = entry.stat(follow_symlinks=False).st_size
    problems += path_problems(found, str(folder))
    problems += [Problem("a file stands among the trials", path) for path in found if _is_stray(path)]
    if problems:
        raise EvidenceError.of(problems)
    outside = {path: size for path, size in found.items() if not path.startswith(_TRIALS)}
    trials: dict[str, dict[str, int]] = {}
    for path, size in found.items():
        if path.startswith(_TRIALS):
            trial, _, inside = path.removeprefix(_TRIALS).partition("/")
            trials.setdefault(trial, {})[inside] = size
    return FoundFiles(outside, trials, tuple(left_out))


def read_tree(data: bytes, document: str) -> RunTree:
    """The list that `data` holds, every path of which can be laid down in a folder of its own.

    Raises:
        EvidenceError: it isn't such a list, or isn't canonical.
    """
    tree = RunTree({}, {})
    paths: list[str] = []
    for number, value in enumerate(parse_lines(data, document), 1):
        kind, name, listed = _listed(value, f"{document} line {number}")
        if kind == "path":
            tree.files[name] = listed
            paths.append(name)
        else:
            tree.trials[name] = listed
            # What stands in a trial's folder is known when its tar is read: that it has anything is enough here.
            paths.append(f"{_TRIALS}{name}/file")
            if fault := part_fault(name):
                raise EvidenceError(fault, document=document, key=name)
    problems = [*path_problems(paths, document)]
    problems += [
        Problem("a run has no such file", document, path)
        for path in tree.files
        if path.split("/")[0] not in TOP or path.startswith(_TRIALS)
    ]
    if problems:
        raise EvidenceError.of(problems)
    if tree.to_bytes() != data:
        raise EvidenceError("its lines aren't sorted, or not canonical", document=document)
    return tree


def last_line_digest(chunks: Iterable[bytes]) -> Digest:
    """The digest of the last line of a ledger, its end included: the head of its chain."""
    ended = current = hashlib.sha256()
    is_open = False
    for chunk in chunks:
        # Whatever length a line has, no more of it is kept than its digest.
        end = chunk.rfind(b"\n") + 1
        if end:
            start = chunk.rfind(b"\n", 0, end - 1) + 1
            ended = hashlib.sha256() if start else current
            ended.update(chunk[start:end])
            current = hashlib.sha256()
        current.update(chunk[end:])
        is_open = end < len(chunk) or (is_open and not end)
    return Digest(f"sha256:{(current if is_open else ended).hexdigest()}")


def harness_pin(lock: bytes) -> HarnessPin:
    """The code that a lock names, whatever else a lock of that version says.

    Raises:
        EvidenceError: it names none.
    """
    value = parse_json(lock, layout.LOCK)
    harness = value.get("harness") if isinstance(value, Mapping) else None
    return validated(HarnessPin, harness, layout.LOCK, EvidenceError)


def _line(kind: str, name: str, listed: Listed) -> dict[str, Json]:
    return {kind: name, "sha256": listed.digest, "size": listed.size}


def _listed(value: Json, place: str) -> tuple[str, str, Listed]:
    match value:
        case {"path": str(name), "sha256": str(digest), "size": int(size), **rest} if not rest and size is not True:
            return "path", name, Listed(parse_digest(digest), size)
        case {"trial": str(name), "sha256": str(digest), "size": int(size), **rest} if not rest and size is not True:
            return "trial", name, Listed(parse_digest(digest), size)
        case _:
            raise EvidenceError("it names neither a file nor a trial with digest and size", document=place)


def _is_stray(path: str) -> bool:
    return path.startswith(_TRIALS) and path.count("/") == 1


def _walked(folder: Path, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below `folder` that is no folder, links among them, by its path."""
    try:
        with os.scandir(folder / below) as entries:
            found = list(entries)
    except OSError as error:
        raise EnvironmentNotReady(error.strerror or str(error), document=str(folder / below)) from error
    for entry in found:
        path = f"{below}/{entry.name}" if below else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walked(folder, path)
        else:
            yield path, entry
