"""Who made a container or a volume: labels that tell a living runner's from a dead one's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.canonical import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

RUN: Final = "pairbench.run"
TRIAL: Final = "pairbench.trial"
ATTEMPT: Final = "pairbench.attempt"
ROLE: Final = "pairbench.role"
_HOST: Final = "pairbench.host"
_BOOT: Final = "pairbench.boot"
_PROCESS: Final = "pairbench.process"
_STARTED: Final = "pairbench.process-started"


@dataclass(frozen=True)
class Owner:
    """A process, told apart from any other that ever had its number."""

    host: str
    boot: str
    """Id of the host's current boot."""
    process: int
    started: str
    """The process's start, in the kernel's own count."""

    def __str__(self) -> str:
        """The owner for a person."""
        return f"process {self.process} on {self.host} (boot {self.boot}, started {self.started})"

    def labels(self, run: str) -> dict[str, str]:
        """The labels of everything that this process makes for `run`."""
        return {
            RUN: run,
            _HOST: self.host,
            _BOOT: self.boot,
            _PROCESS: str(self.process),
            _STARTED: self.started,
        }


def pod_name(run: str, sequence: int, attempt: int) -> str:
    """What the names of one attempt's containers begin with; no other attempt has the same."""
    return f"pairbench-{run}-{sequence}-{attempt}"


def volume_name(*parts: str) -> str:
    """A name that `parts` decide and that says nothing of them.

    A container reads the names of its volumes in `/proc/self/mountinfo`: they may not tell a client which study, arm or
    attempt it is part of. Labels say it to people.
    """
    return f"pairbench-{digest_of(list(parts)).removeprefix('sha256:')[:32]}"


def owner_of(labels: Mapping[str, str]) -> Owner | None:
    """The owner that `labels` name, or None when they name none completely."""
    try:
        return Owner(labels[_HOST], labels[_BOOT], int(labels[_PROCESS]), labels[_STARTED])
    except (KeyError, ValueError):
        return None
