"""Copies files without copying their holes: what is zero stays unwritten.

An index of a few megabytes has files of 32 MiB and more. On a tmpfs, whose pages count against a container's memory
limit, each zero that is written costs as much as any other byte, so blocks of zeros are left out even where the source
has them on disk.
"""

from __future__ import annotations

import errno
import os

from sidecar.refusal import FatalError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 4096
CHUNK = 256 * BLOCK
_ZEROS = bytes(CHUNK)


def data_extents(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of everything in a file that isn't zero, block by block joined, in order."""
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        end = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        # Blocks count from the start of the file, so that the result doesn't depend on where holes happen to begin.
        position = start - start % BLOCK
        while position < end:
            chunk = os.pread(descriptor, min(CHUNK, end - position), position)
            if not chunk:
                return
            yield from _non_zero(chunk, position)
            position += len(chunk)


def _non_zero(chunk: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    if chunk == _ZEROS[: len(chunk)]:
        return
    begin = -1
    for start in range(0, len(chunk), BLOCK):
        block = chunk[start : start + BLOCK]
        is_zero = block == _ZEROS[: len(block)]
        if begin < 0 and not is_zero:
            begin = start
        elif begin >= 0 and is_zero:
            yield offset + begin, chunk[begin:start]
            begin = -1
    if begin >= 0:
        yield offset + begin, chunk[begin:]


def copy_file(source: str, target: str) -> int:
    """Copy the content of a file, holes left as holes; return the number of bytes that were written.

    Raises:
        OSError: when it can't be read or written, or `target` exists.
    """
    written = 0
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        size = os.fstat(reader).st_size
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            for offset, data in data_extents(reader, size):
                write_all(writer, offset, data)
                written += len(data)
            os.ftruncate(writer, size)
        finally:
            os.close(writer)
    finally:
        os.close(reader)
    return written


def write_all(descriptor: int, offset: int, data: bytes) -> None:
    """Write all of `data` at `offset`."""
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        offset += count
        view = view[count:]


def copy_tree(source: str, target: str) -> tuple[int, int]:
    """Copy the directories and files below `source` into `target`; return how many files, and bytes written.

    Raises:
        FatalError: when something else than a directory or a file is there.
    """
    files = written = 0
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        inner = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            os.makedirs(inner, exist_ok=True)
            more_files, more_written = copy_tree(entry.path, inner)
            files, written = files + more_files, written + more_written
        elif entry.is_file(follow_symlinks=False):
            written += copy_file(entry.path, inner)
            files += 1
        else:
            raise FatalError(f"{entry.path}: neither a directory nor a file")
    return files, written
