"""A file system in memory, which can be full or refuse on demand."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class MemoryFiles:
    """The files port; `refuse` is asked before every write and says why it can't be done, or ""."""

    held: dict[Path, bytes] = field(default_factory=dict)
    links: dict[Path, str] = field(default_factory=dict)
    holders: dict[Path, str] = field(default_factory=dict)
    executable: set[Path] = field(default_factory=set)
    secluded: set[Path] = field(default_factory=set)
    free: int = 1 << 40
    refuse: Callable[[str, Path], str] = lambda _call, _path: ""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def read(self, path: Path) -> bytes | None:
        with self._lock:
            return self.held.get(self._found(path))

    def read_plain(self, path: str) -> bytes | None:
        return self.read(Path(path)) if self.is_regular(Path(path)) else None

    def read_part(self, path: Path, start: int, size: int) -> bytes:
        return (self.read(path) or b"")[start : start + size]

    def pieces(self, path: Path) -> Iterator[bytes] | None:
        data = self.read(path)
        # Pieces that end anywhere, as a disk's do.
        return None if data is None else (data[start : start + 1000] for start in range(0, len(data), 1000))

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        parts: list[bytes] = []
        yield parts.append
        self.write(path, b"".join(parts))

    def count(self, folder: Path) -> int:
        return len(list(self.walk(folder)))

    def write(self, path: Path, data: bytes) -> None:
        with self._lock:
            self._ask("write", path)
            self.held[self._found(path.parent) / path.name] = data

    def append(self, path: Path, data: bytes) -> None:
        with self._lock:
            self._ask("append", path)
            place = self._found(path)
            self.held[place] = self.held.get(place, b"") + data

    def claim(self, folder: Path) -> bool:
        with self._lock:
            self._ask("claim", folder)
            place = self._found(folder) / ".folder"
            if place in self.held or any(path.is_relative_to(place.parent) for path in self.held):
                return False
            self.held[place] = b""
            return True

    def walk(self, folder: Path) -> Iterator[str]:
        with self._lock:
            root = self._found(folder)
            paths = [path for path in (*self.held, *self.links) if root in path.parents and path.name != ".folder"]
        yield from sorted(path.relative_to(root).as_posix() for path in paths)

    def is_regular(self, path: Path) -> bool:
        with self._lock:
            return self._found(path.parent) / path.name in self.held

    def is_folder(self, path: Path) -> bool:
        with self._lock:
            root = self._found(path)
            return any(root in held.parents for held in (*self.held, *self.links))

    def real(self, path: Path) -> Path:
        return self._found(path)

    def is_executable(self, path: Path) -> bool:
        return self._found(path) in self.executable

    def seclude(self, path: Path) -> None:
        with self._lock:
            self._ask("seclude", path)
            self.secluded.add(self._found(path))

    def remove(self, path: Path) -> None:
        with self._lock:
            place = self._found(path.parent) / path.name
            for held in [held for held in self.held if held.is_relative_to(place)]:
                del self.held[held]
            self.links.pop(place, None)

    def point(self, link: Path, target: str) -> None:
        with self._lock:
            self._ask("point", link)
            self.links[_plain(link)] = target

    @contextlib.contextmanager
    def hold(self, path: Path, holder: str) -> Iterator[None]:
        place = _plain(path)
        with self._lock:
            self._ask("hold", path)
            if place in self.holders:
                raise EnvironmentNotReady(f"it is held by {self.holders[place]}", document=str(path))
            self.held[place] = f"{holder}\n".encode()
            self.holders[place] = holder
        try:
            yield
        finally:
            del self.holders[place]

    def free_bytes(self, folder: Path) -> int:
        self._ask("free_bytes", folder)
        return self.free

    def put(self, path: Path, text: str) -> None:
        """For tests that lay out a tree."""
        self.held[_plain(path)] = text.encode()

    def _ask(self, call: str, path: Path) -> None:
        why = self.refuse(call, path)
        if why:
            raise EnvironmentNotReady(why, document=str(path))

    def _found(self, path: Path) -> Path:
        """The path with every link on it followed."""
        plain = _plain(path)
        for link, target in self.links.items():
            if plain.is_relative_to(link):
                return self._found(_plain(link.parent / target) / plain.relative_to(link))
        return plain


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(Path("/") / path))
