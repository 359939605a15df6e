"""Repositories on disk, made with the `git` program for tests: bare, with whatever their maker puts into them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NOBODY = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Nobody",
    "GIT_AUTHOR_EMAIL": "nobody@example.invalid",
    "GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Nobody",
    "GIT_COMMITTER_EMAIL": "nobody@example.invalid",
    "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class GitSource:
    """A bare repository at `place`."""

    place: Path

    @property
    def url(self) -> str:
        """Where it can be fetched from."""
        return f"file://{self.place}"

    def git(self, *arguments: str, data: bytes = b"") -> str:
        """What Git says to `arguments`."""
        command = ["git", f"--git-dir={self.place}", *arguments]
        environment = {"PATH": os.environ["PATH"], **_NOBODY}
        done = subprocess.run(command, input=data, env=environment, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self, paths: dict[str, tuple[str, bytes]], *parents: str) -> str:
        """The name of a new commit of (mode, bytes) by path; of a submodule the bytes are the commit's name."""
        self.git("read-tree", "--empty")
        lines = []
        for path, (mode, data) in paths.items():
            name = data.decode() if mode == "160000" else self.git("hash-object", "-w", "--stdin", data=data)
            lines.append(f"{mode} {name}\t{path}")
        self.git("update-index", "--index-info", data="".join(f"{line}\n" for line in lines).encode())
        flags = [flag for parent in parents for flag in ("-p", parent)]
        return self.git("commit-tree", self.git("write-tree"), *flags, data=b"A commit.\n")


def git_source(place: Path) -> GitSource:
    """An empty repository at `place`."""
    made = GitSource(place)
    made.git("init", "--quiet", "--bare", "--initial-branch=main", "--template=", str(place))
    return made
