"""An archive as one file, or as parts `FILE.part001`, `FILE.part002`, …: written whole or not at all, read as one."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from runner.core.errors import EnvironmentNotReady, EvidenceError, StudyError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PART: Final = re.compile(r"\.part(\d{3})$")
_MOST_PARTS: Final = 999
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


def part_path(path: Path, number: int) -> Path:
    """The part `number`, from 1, of the archive `path`."""
    # Unlike `with_name`, this has an answer for a path without a name, as `.` or `/`.
    return path.parent / f"{path.name}.part{number:03}"


def whole_path(path: Path) -> Path:
    """The archive that `path` is, or is a part of."""
    is_part = _PART.search(path.name) is not None and not os.path.lexists(part_path(path, 1))
    return path.with_name(_PART.sub("", path.name)) if is_part else path


def parts_of(path: Path) -> tuple[Path, ...]:
    """The files that the archive `path` consists of: itself, or its parts in their order.

    Raises:
        StudyError: there is neither.
        EvidenceError: a part between others is missing.
    """
    path = whole_path(path)
    if os.path.isfile(path):  # noqa: PTH113 - a name may be too long for a file
        return (path,)
    numbers = _numbers(path)
    if not numbers:
        raise StudyError("there is no such archive, nor a first part of one", document=str(path))
    missing = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
    if missing:
        raise EvidenceError("this part is missing", document=str(part_path(path, missing[0])))
    if numbers[0] != 1:
        raise EvidenceError("there are no parts of this number", document=str(part_path(path, numbers[0])))
    return tuple(part_path(path, number) for number in numbers)


def _numbers(path: Path) -> list[int]:
    """The numbers of the parts that stand beside `path`."""
    try:
        beside = os.listdir(path.parent)  # noqa: PTH208 - names only
    except OSError:
        return []
    found = (_PART.search(name) for name in beside if name.startswith(path.name))
    numbers = (int(match[1]) for match in found if match is not None)
    return sorted(number for number in numbers if part_path(path, number).name in beside)


def refuse_taken(path: Path) -> None:
    """An archive can be written to `path`, whole or in parts, as far as can be told before anything is.

    Raises:
        StudyError: something stands there already: an archive is never overwritten. Or there is no folder for it.
        EnvironmentNotReady: nothing may be written to that folder.
    """
    if os.path.isdir(path):  # noqa: PTH112 - a name may be too long for a file
        raise StudyError("it is a folder", document=str(path), hint="name a file in it")
    for taken in (path, *(part_path(path, number) for number in _numbers(path))):
        if os.path.lexists(taken):
            raise StudyError("it is there already", document=str(taken), hint="name another file, or remove it")
    if not path.parent.is_dir():
        raise StudyError("there is no such folder for the archive", document=str(path.parent), hint="make it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise EnvironmentNotReady("nothing may be written to this folder", document=str(path.parent))


class JoinedFile:
    """The bytes of an archive by position, from whichever part holds them; several threads may read at once."""

    def __init__(self, path: Path) -> None:
        """Open the archive `path`; raises `EnvironmentNotReady` when a part can't be read, and as `parts_of` does."""
        self._parts = parts_of(path)
        self._handles: list[int] = []
        self._sizes: list[int] = []
        try:
            for part in self._parts:
                handle = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
                self._handles.append(handle)
                self._sizes.append(os.fstat(handle).st_size)
        except OSError as error:
            self.close()
            raise EnvironmentNotReady(error.strerror or str(error), document=str(part)) from error

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing stays open."""
        self.close()

    def close(self) -> None:
        """Nothing stays open."""
        while self._handles:
            os.close(self._handles.pop())

    @property
    def size(self) -> int:
        """How long all parts are together."""
        return sum(self._sizes)

    def read(self, start: int, size: int) -> bytes:
        """The `size` bytes from `start` on, fewer where the archive ends before."""
        found: list[bytes] = []
        for part, handle, length in zip(self._parts, self._handles, self._sizes, strict=True):
            while size and start < length:
                try:
                    piece = os.pread(handle, min(size, length - start), start)
                except OSError as error:
                    raise EnvironmentNotReady(error.strerror or str(error), document=str(part)) from error
                if not piece:
                    # It became shorter since it was opened.
                    return b"".join(found)
                found.append(piece)
                start += len(piece)
                size -= len(piece)
            start -= length
        return found[0] if len(found) == 1 else b"".join(found)

    def check_size(self, expected: int, entry: str) -> None:
        """The archive is as long as its index says; `entry` is where one that is too short ends.

        Raises:
            EvidenceError: it is shorter or longer; a part that misses, is cut, or is too many is named.
        """
        self._check_parts(expected)
        if self.size > expected:
            raise EvidenceError(f"{self.size - expected} bytes follow the archive's end", document=str(self._parts[-1]))
        if self.size < expected:
            lacking = f"the archive ends here, {expected - self.size} bytes too early"
            hint = "copy it again"
            if _PART.search(self._parts[-1].name):
                hint = f"part {part_path(whole_path(self._parts[-1]), len(self._parts) + 1).name} may be missing"
            raise EvidenceError(lacking, document=entry, hint=hint)

    def _check_parts(self, expected: int) -> None:
        start, first, last = 0, self._sizes[0], self._parts[-1]
        for part, size in zip(self._parts, self._sizes, strict=True):
            if start >= expected:
                raise EvidenceError("this part is one too many", document=str(part))
            if size != first and part != last and start + size < expected:
                raise EvidenceError(f"this part has {size} bytes, and the first has {first}", document=str(part))
            start += size


class WholeFiles:
    """New files that appear under their names only when all that belongs in them was written."""

    def __init__(self, path: Path, split_bytes: int | None) -> None:
        """Nothing is written yet; with `split_bytes`, files of so many bytes.

        Raises:
            StudyError: something stands there already: an archive is never overwritten.
            EnvironmentNotReady: nothing can be written there.
        """
        self._path = path
        self._split = split_bytes
        self._written: list[tuple[str, IO[bytes]]] = []
        self._room = 0
        refuse_taken(path)

    def write(self, data: bytes) -> None:
        """`data` follows what was written before; raises `EnvironmentNotReady` when the disk refuses."""
        view = memoryview(data)
        with translated(self._path):
            while view:
                if not self._written or (self._split is not None and not self._room):
                    self._open_next()
                taken = view if self._split is None else view[: self._room]
                self._written[-1][1].write(taken)
                self._room -= len(taken)
                view = view[len(taken) :]

    def finish(self) -> tuple[Path, ...]:
        """The files, which stand under their names."""
        made: list[Path] = []
        try:
            with translated(self._path):
                for number, (name, stream) in enumerate(self._written, 1):
                    stream.flush()
                    os.fsync(stream.fileno())
                    final = self._path if self._split is None else part_path(self._path, number)
                    _appear(Path(name), final)
                    made.append(final)
        except BaseException:
            for path in made:
                path.unlink(missing_ok=True)
            raise
        return tuple(made)

    def drop(self) -> None:
        """Whatever has no final name yet is gone."""
        while self._written:
            name, stream = self._written.pop()
            # A full disk can refuse to take what is still buffered.
            with contextlib.suppress(OSError):
                stream.close()
            with contextlib.suppress(OSError):
                Path(name).unlink(missing_ok=True)

    def _open_next(self) -> None:
        if len(self._written) == _MOST_PARTS:
            raise StudyError(f"it takes more than {_MOST_PARTS} parts", document=str(self._path), hint="larger parts")
        if self._written:
            self._written[-1][1].flush()
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", suffix=".partial", dir=self._path.parent)
        self._written.append((name, os.fdopen(handle, "wb")))
        self._room = self._split or 0


def _appear(written: Path, final: Path) -> None:
    """`written` has the name `final`, which nothing had."""
    # mkstemp makes private files; an archive is as readable as the user's mask allows.
    mask = os.umask(0o022)
    os.umask(mask)
    written.chmod(0o666 & ~mask)
    try:
        # Unlike a rename, a link refuses to replace what came there meanwhile.
        os.link(written, final)
    except FileExistsError as error:
        raise StudyError("it is there already", document=str(final), hint="name another file") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        written.rename(final)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """What the disk refuses becomes one of our errors."""
    try:
        yield
    except OSError as error:
        hint = "make room and go on" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise EnvironmentNotReady(error.strerror or str(error), document=str(path), hint=hint) from error
