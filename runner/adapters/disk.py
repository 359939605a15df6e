"""The host's file system behind the files port."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO

# Also a name that no file can have, and a link that leads to itself.
_NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})
_PIECE_BYTES = 1 << 20


class Disk:
    """Real files."""

    def read(self, path: Path) -> bytes | None:
        """The bytes of a regular file, or None when there is none."""
        with _translated(path):
            try:
                # A pipe would block for ever, a device may never end: neither is opened.
                return path.read_bytes() if stat.S_ISREG(path.stat().st_mode) else None
            except OSError as error:
                if error.errno in _NOTHING_THERE:
                    return None
                raise

    def read_plain(self, path: str) -> bytes | None:
        """The bytes of a regular file, or None when there is none, or a link to one."""
        try:
            facts = os.lstat(path)
            if not stat.S_ISREG(facts.st_mode):
                return None
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                return _read_all(handle, facts.st_size)
            finally:
                os.close(handle)
        except OSError as error:
            if error.errno in _NOTHING_THERE:
                return None
            raise _refused(error, path) from error

    def read_part(self, path: Path, start: int, size: int) -> bytes:
        """The `size` bytes of a regular file from `start` on; fewer where it ends before."""
        with _translated(path):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return os.pread(handle, size, start)
            finally:
                os.close(handle)

    def pieces(self, path: Path) -> Iterator[bytes] | None:
        """The bytes of a regular file, some at a time, or None when there is none."""
        with _translated(path):
            try:
                regular = stat.S_ISREG(path.stat().st_mode)
            except OSError as error:
                if error.errno in _NOTHING_THERE:
                    return None
                raise
        return _pieces(path) if regular else None

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        """At its end the file holds everything that was given to the function; at an error, what it held before."""
        with _translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield _translating(stream.write, path)
                with _translated(path):
                    stream.flush()
                    os.fsync(stream.fileno())
            with _translated(path):
                # mkstemp makes private files; documents are as readable as the user's mask allows.
                Path(name).chmod(0o666 & ~_umask())
                Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        with _translated(path):
            _flush_folder(path.parent)

    def write(self, path: Path, data: bytes) -> None:
        """The file holds `data`; written to a temporary name, flushed and renamed; folders are made."""
        with self.writing(path) as put:
            put(data)

    def append(self, path: Path, data: bytes) -> None:
        """`data` stands at the file's end and was flushed to disk."""
        with _translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            # Without a buffer: what the disk refuses is known here, and taken back, so that no torn line stays.
            with path.open("ab", buffering=0) as stream:
                before = stream.tell()
                try:
                    _write_all(stream, data)
                    os.fsync(stream.fileno())
                except OSError:
                    stream.truncate(before)
                    raise
            if is_new:
                _flush_folder(path.parent)

    def claim(self, folder: Path) -> bool:
        """The folder was made by this call; False when something stands there already. Only one of several gets it."""
        with _translated(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                folder.mkdir()
            except FileExistsError:
                return False
            _flush_folder(folder.parent)
            return True

    def walk(self, folder: Path) -> Iterator[str]:
        """Relative paths of everything below `folder` that isn't a folder, sorted, with `/`."""
        found: list[str] = []
        with _translated(folder):
            for here, folders, names in os.walk(folder, onerror=_unless_absent(folder), followlinks=False):
                links = [name for name in folders if (Path(here) / name).is_symlink()]
                found += [(Path(here) / name).relative_to(folder).as_posix() for name in (*names, *links)]
        yield from sorted(found)

    def count(self, folder: Path) -> int:
        """How many paths `walk` gives."""
        found = 0
        with _translated(folder):
            for here, folders, names in os.walk(folder, onerror=_unless_absent(folder), followlinks=False):
                found += len(names) + sum(os.path.islink(f"{here}/{name}") for name in folders)  # noqa: PTH114 - hot
        return found

    def is_regular(self, path: Path) -> bool:
        """Whether a regular file, and no link to one, stands there."""
        with _translated(path):
            try:
                return stat.S_ISREG(path.lstat().st_mode)
            except OSError as error:
                if error.errno in _NOTHING_THERE:
                    return False
                raise

    def is_folder(self, path: Path) -> bool:
        """Whether a folder, or a link to one, stands there."""
        with _translated(path):
            try:
                return stat.S_ISDIR(path.stat().st_mode)
            except OSError as error:
                if error.errno in _NOTHING_THERE:
                    return False
                raise

    def real(self, path: Path) -> Path:
        """The absolute path that `path` leads to, every link on it followed; nothing need stand there."""
        # `Path.resolve` raises where links lead to one another.
        return Path(os.path.realpath(path))

    def is_executable(self, path: Path) -> bool:
        """Whether the file's owner may execute it."""
        with _translated(path):
            return bool(path.stat().st_mode & stat.S_IXUSR)

    def seclude(self, path: Path) -> None:
        """Nobody but its owner may look into the file or the folder at `path`; a folder is made where nothing is."""
        with _translated(path):
            if not path.exists():
                path.mkdir(parents=True, mode=0o700)
            path.chmod(0o700 if path.is_dir() else 0o600)

    def remove(self, path: Path) -> None:
        """Nothing stands at `path`, file or folder."""
        with _translated(path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def point(self, link: Path, target: str) -> None:
        """The symbolic link `link` leads to `target`, replacing an older one at once."""
        with _translated(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            fresh = link.with_name(f".{link.name}.{os.getpid()}")
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(target)
            fresh.replace(link)

    @contextlib.contextmanager
    def hold(self, path: Path, holder: str) -> Iterator[None]:
        """While the context lasts, nobody else holds `path`; the kernel lets go at a crash."""
        with _translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = path.open("a+", encoding="utf-8")
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                stream.seek(0)
                raise EnvironmentNotReady(
                    f"it is held by {stream.read().strip() or 'somebody else'}",
                    document=str(path),
                    hint="wait for that runner to end, or stop it",
                ) from error
            with _translated(path):
                stream.truncate(0)
                stream.write(f"{holder}\n")
                stream.flush()
            yield

    def free_bytes(self, folder: Path) -> int:
        """Space that is left to us where `folder` is or will be."""
        with _translated(folder):
            here = folder.absolute()
            while not here.exists():
                here = here.parent
            return shutil.disk_usage(here).free


def _read_all(handle: int, expected: int) -> bytes:
    data = os.read(handle, expected + 1)
    if len(data) == expected:
        return data
    # It grew or shrank meanwhile, or is larger than one call reads.
    parts = [data]
    while parts[-1]:
        parts.append(os.read(handle, _PIECE_BYTES))
    return b"".join(parts)


def _pieces(path: Path) -> Iterator[bytes]:
    with _translated(path), path.open("rb") as stream:
        while data := stream.read(_PIECE_BYTES):
            yield data


def _translating(write: Callable[[bytes], int], path: Path) -> Callable[[bytes], object]:
    def put(data: bytes) -> None:
        try:
            write(data)
        except OSError as error:
            raise _refused(error, path) from error

    return put


def _write_all(stream: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]


def _unless_absent(root: Path) -> Callable[[OSError], None]:
    """A folder that can't be read is an error, and not an empty one; only a root that is no folder has no files."""

    def refuse(error: OSError) -> None:
        # Unlike the method of a path, it has an answer for a name that no file can have.
        if error.errno not in _NOTHING_THERE or os.path.isdir(root):  # noqa: PTH112
            raise error

    return refuse


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _refused(error, path) from error


def _refused(error: OSError, path: Path | str) -> EnvironmentNotReady:
    hint = "make room and go on" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return EnvironmentNotReady(error.strerror or str(error), document=str(path), hint=hint)
