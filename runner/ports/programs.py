"""Another version of this program, run by the interpreter that runs this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Programs(Protocol):
    """Runs code of ours with the distributions that are installed here."""

    def versions(self) -> Mapping[str, str]:
        """Every distribution that is installed -> its version; names as indexes compare them."""

    def run(self, installed: Mapping[str, bytes], arguments: Sequence[str]) -> int:
        """The exit code of `pairbench` with these arguments, by the code of `installed`, its files by path.

        What it says goes to where this program's words go. It can do whatever this program's user can. Nothing of its
        files is left. Raises `EnvironmentNotReady` when it can't be started.
        """
