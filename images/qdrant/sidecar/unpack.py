"""The command `unpack`: lays an index archive out where `serve` finds it."""

from __future__ import annotations

import os

from sidecar import archive, index
from sidecar.options import Option, read_options, whole
from sidecar.refusal import FatalError
from sidecar.server import say
from sidecar.store import remove_tree

OPTIONS = [
    Option("archive", "index archive to read"),
    Option("into", "directory to fill; missing or empty"),
    Option("bytes-limit", "what the files may have together, holes included", str(8 * 1024**3)),
]


def run(arguments: list[str]) -> int:
    """Lay the archive out and say what is in it; return 0.

    Raises:
        FatalError: when the archive isn't an index of ours or the directory isn't empty; nothing is left in it then.
    """
    options = read_options("unpack", OPTIONS, arguments)
    limit = whole("unpack", "bytes-limit", options["bytes-limit"], 1, 2**50)
    into = options["into"]
    os.makedirs(into, exist_ok=True)
    if os.listdir(into):
        raise FatalError(f"{into}: the directory isn't empty")
    try:
        with open(options["archive"], "rb") as file:
            files, apparent = archive.read_tree(file, into, limit)
        description = index.describe(into) or {}
    except BaseException as error:
        _empty(into)
        if isinstance(error, FatalError):
            raise FatalError(f"{options['archive']}: {error}") from error
        raise
    say({"event": "unpacked", **description, "files": files, "apparent_bytes": apparent})
    return 0


def _empty(directory: str) -> None:
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            remove_tree(entry.path)
        else:
            os.unlink(entry.path)
