"""Compiled Python beside its sources: images are read-only, so what isn't compiled here is compiled in every trial."""

from __future__ import annotations

import posixpath
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.images.tree import FileEntry, FolderEntry, Held, LinkEntry, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.canonical import Digest
    from runner.images.inputs import Build

# What an interpreter needs to start: its binary, the loader, libraries, and the standard library.
_NEEDED = ("/usr/bin/python3", "/usr/lib/", "/usr/local/", "/usr/lib64/", "/lib/", "/opt/")
_LINKS = ("/lib", "/lib64", "/bin")


@dataclass(frozen=True)
class Interpreter:
    """The Python of a base, unpacked; `key` names the base that it is of."""

    root: Path
    python: str
    key: Digest


def unpacked(tree: Tree, python: str, key: Digest, build: Build) -> Interpreter:
    """The interpreter of the base `tree`, unpacked in the cache, as it is needed for compiling."""
    root = build.store.interpreter_folder(key)
    if not root.exists():
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as temporary:
            made = Path(temporary) / "root"
            _lay_out(tree, made)
            if not root.exists():
                made.rename(root)
    return Interpreter(root, python, key)


def with_compiled(tree: Tree, below: Sequence[str], interpreter: Interpreter, build: Build) -> Tree:
    """`tree` and the compiled form of each Python source beneath the folders `below`."""
    sources = tree.python_sources(below)
    if not sources:
        return tree
    result = Tree(dict(tree.entries))
    compiled = build.tools.bytecode.compile(interpreter.root, interpreter.python, sources, arch=build.arch)
    for path, data in compiled.items():
        source = tree.file_at(_source_of(path))
        result.put(path, FileEntry(Held(data), origin=None if source is None else source.origin, compiled=True))
    return result


def _source_of(compiled: str) -> str:
    """Where the source of a compiled file stands (PEP 3147)."""
    folder, name = posixpath.split(compiled)
    return f"{posixpath.dirname(folder)}/{name.partition('.')[0]}.py"


def _lay_out(tree: Tree, folder: Path) -> None:
    folder.mkdir()
    for path, entry in tree.with_parents():
        place = folder / path[1:]
        match entry:
            case FolderEntry():
                place.mkdir(parents=True, exist_ok=True)
            case LinkEntry(target) if path in _LINKS or path.startswith(_NEEDED):
                place.symlink_to(target)
            case FileEntry() if path.startswith(_NEEDED) and "/__pycache__/" not in path:
                place.write_bytes(entry.data())
                place.chmod(0o755)
            case _:
                pass
