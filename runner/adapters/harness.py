"""Which code of ours runs: its version, and one digest over all its files."""

from __future__ import annotations

import platform
from pathlib import Path

import runner
from runner.core.canonical import digest_of, sha256_digest
from runner.core.lock import HarnessPin


def package_sources() -> dict[str, bytes]:
    """Every file of the installed `runner` package, by its path from the folder that holds the package."""
    root = _root()
    return {path.relative_to(root.parent).as_posix(): path.read_bytes() for path in _files(root)}


def this_code() -> HarnessPin:
    """The code of the installed `runner` package, read now."""
    root = _root()
    listed = [[path.relative_to(root).as_posix(), sha256_digest(path.read_bytes())] for path in _files(root)]
    return HarnessPin(version=runner.__version__, source_sha256=digest_of(listed), python=platform.python_version())


def _root() -> Path:
    return Path(runner.__file__).parent


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
