"""Another version of this program as a process of its own, with the interpreter and the distributions of this one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.adapters.harness import installed_versions
from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Nothing that the environment says of modules counts, and neither does the working folder; nothing is compiled to disk.
_FLAGS: Final = ("-E", "-P", "-B")
_PROGRAM: Final = """
import sys
sys.path.insert(0, sys.argv.pop(1))
sys.argv[0] = "pairbench"
import runner.cli
runner.cli.main()
"""
# What a terminal, a temporary folder and words need. Keys and addresses of engines stay here.
_PASSED_ON: Final = ("COLUMNS", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "PATH", "TERM", "TMPDIR", "TZ")
_KILLED: Final = 128


class ThisInterpreter:
    """Runs other versions of this program with the interpreter that runs this one."""

    def versions(self) -> Mapping[str, str]:
        """Every distribution that this interpreter finds -> its version."""
        return installed_versions()

    def run(self, installed: Mapping[str, bytes], arguments: Sequence[str]) -> int:
        """The exit code of `pairbench` with these arguments, by the code of `installed`.

        Raises:
            EnvironmentNotReady: the interpreter can't be started, or the files can't be laid out.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        try:
            with tempfile.TemporaryDirectory(prefix="pairbench-code-") as folder:
                _lay_out(installed, Path(folder))
                command = [sys.executable, *_FLAGS, "-c", _PROGRAM, folder, *arguments]
                ended = subprocess.run(command, stdin=subprocess.DEVNULL, env=environment, check=False)
        except OSError as error:
            raise EnvironmentNotReady(
                f"the run's own code can't be started: {error}", document="archived code"
            ) from error
        return ended.returncode if ended.returncode >= 0 else _KILLED - ended.returncode


def _lay_out(installed: Mapping[str, bytes], folder: Path) -> None:
    for name, data in installed.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
