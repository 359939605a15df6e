"""Files on the host: whole reads, writes that are there completely or not at all, and appends that are on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path


class Files(Protocol):
    """A file system. Every method raises `EnvironmentNotReady` when the disk refuses (full, forbidden, damaged)."""

    def read(self, path: Path) -> bytes | None:
        """The bytes of a regular file, or None when there is none."""

    def read_plain(self, path: str) -> bytes | None:
        """The bytes of a regular file, or None when there is none, or a link to one."""

    def read_part(self, path: Path, start: int, size: int) -> bytes:
        """The `size` bytes of a regular file from `start` on; fewer where it ends before."""

    def pieces(self, path: Path) -> Iterator[bytes] | None:
        """The bytes of a regular file, some at a time, or None when there is none."""

    def writing(self, path: Path) -> AbstractContextManager[Callable[[bytes], object]]:
        """At its end the file holds everything that was given to the function; at an error, what it held before."""

    def write(self, path: Path, data: bytes) -> None:
        """The file holds `data`; written to a temporary name, flushed and renamed; folders are made."""

    def append(self, path: Path, data: bytes) -> None:
        """`data` stands at the file's end and was flushed to disk."""

    def claim(self, folder: Path) -> bool:
        """The folder was made by this call; False when something stands there already. Only one of several gets it."""

    def walk(self, folder: Path) -> Iterator[str]:
        """Relative paths of everything below `folder` that isn't a folder, sorted, with `/`."""

    def count(self, folder: Path) -> int:
        """How many paths `walk` gives."""

    def is_regular(self, path: Path) -> bool:
        """Whether a regular file, and no link to one, stands there."""

    def is_folder(self, path: Path) -> bool:
        """Whether a folder, or a link to one, stands there."""

    def real(self, path: Path) -> Path:
        """The absolute path that `path` leads to, every link on it followed; nothing need stand there."""

    def is_executable(self, path: Path) -> bool:
        """Whether the file's owner may execute it."""

    def seclude(self, path: Path) -> None:
        """Nobody but its owner may look into the file or the folder at `path`; a folder is made where nothing is."""

    def remove(self, path: Path) -> None:
        """Nothing stands at `path`, file or folder."""

    def point(self, link: Path, target: str) -> None:
        """The symbolic link `link` leads to `target`, replacing an older one at once."""

    def hold(self, path: Path, holder: str) -> AbstractContextManager[None]:
        """While the context lasts, nobody else holds `path`, a file that says `holder`; the kernel lets go at a crash.

        Raises `EnvironmentNotReady`, which names the holder, when somebody else does.
        """

    def free_bytes(self, folder: Path) -> int:
        """Space that is left to us where `folder` is or will be."""
