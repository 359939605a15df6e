"""The program as a user runs it: in a folder of its own, on the real engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECRET = "sk-ant-this-key-may-appear-nowhere"
"""Stands in the environment of the program, as a person's own key would."""


@dataclass(frozen=True)
class Program:
    """`pairbench` in `folder`."""

    folder: Path
    address: str

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "runner", *map(str, arguments)],
            cwd=self.folder,
            env={
                **os.environ,
                "DOCKER_HOST": self.address,
                "PYTHONPATH": str(ROOT),
                "ANTHROPIC_API_KEY": SECRET,
                "OPENAI_API_KEY": SECRET,
            },
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def json(self, *arguments: str | Path) -> Any:
        """What it prints as JSON; it must have ended well."""
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @property
    def run(self) -> Path:
        """The newest run."""
        return (self.folder / "runs" / "latest").resolve()

    def evidence(self, trial: str, name: str) -> str:
        """A file of the first attempt of a trial."""
        return (self.run / "trials" / trial / "attempt-1" / name).read_text("utf-8")


@pytest.fixture(scope="module")
def pairbench(tmp_path_factory: pytest.TempPathFactory, engine_address: str) -> Program:
    """The program, in a folder that the tests of a module share."""
    return Program(tmp_path_factory.mktemp("work"), engine_address)


@pytest.fixture(scope="module")
def corpora(pairbench: Program) -> str:
    """The path of the project's corpora, as a study in the program's folder names it."""
    return os.path.relpath(ROOT / "corpora", pairbench.folder)
