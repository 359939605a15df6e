"""Which code of ours runs: its version, and one digest over all its files."""

from __future__ import annotations

import platform
from pathlib import Path

import runner
from runner.core.canonical import digest_of, sha256_digest
from runner.core.lock import HarnessPin


def this_code() -> HarnessPin:
    """The code of the installed `runner` package, read now."""
    root = Path(runner.__file__).parent
    sources = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    listed = [[path.relative_to(root).as_posix(), sha256_digest(path.read_bytes())] for path in sources]
    return HarnessPin(version=runner.__version__, source_sha256=digest_of(listed), python=platform.python_version())
