"""Archives that nobody will finish: what a process left beside its archive when it was killed.

They stand in folders of the user's, so a name alone says too little: they must begin as archives do, and the kernel
must say that nobody has them open.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.archives.reading import begins_as_archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# As `runner.archives.split` names them: `mkstemp` puts eight of these letters in the middle.
_NAME: Final = re.compile(r"\.(?P<archive>.+)\.[a-z0-9_]{8}\.partial", re.DOTALL)


def unfinished_archives(folders: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Every unfinished archive, or part of one, in one of `folders`, and whether anybody may write it still."""
    for folder in dict.fromkeys(Path(os.path.realpath(folder)) for folder in folders):
        together: defaultdict[str, list[Path]] = defaultdict(list)
        for path in _files(folder):
            match = _NAME.fullmatch(path.name)
            if match is not None:
                together[match["archive"]].append(path)
        for paths in together.values():
            # Of an archive in parts, only the first begins as one; what is empty holds nothing of anybody's.
            if any(begins_as_archive(path) for path in paths):
                yield from ((path, _is_open(path)) for path in paths)
            else:
                yield from ((path, _is_open(path)) for path in paths if path.stat().st_size == 0)


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError:
        return []


def _is_open(path: Path) -> bool:
    """Whether some process has the file open, as far as can be told: where it can't, one may have."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        # Whoever opens the file meanwhile would end this process by the usual signal.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        # The kernel grants a lease for writing to whoever alone has the file open, whichever container others are in.
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(handle)
