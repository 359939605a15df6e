"""What can go wrong, as one tree: each error says what happened, where, and what to do.

The command line prints them and maps them to exit codes; nothing below it exits.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from runner.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExitCode(enum.IntEnum):
    """The contract between the program and whoever calls it."""

    DONE = 0
    FINDING = 1
    USAGE = 2
    NOT_READY = 3
    DOES_NOT_VERIFY = 4


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in one place, and what to do about it."""

    message: str
    document: str = ""
    key: str = ""
    hint: str = ""

    def __str__(self) -> str:
        """The problem on one line, place first."""
        place = ": ".join(part for part in (self.document, self.key) if part)
        text = f"{place}: {self.message}" if place else self.message
        return visible(f"{text} ({self.hint})" if self.hint else text)


class PairbenchError(Exception):
    """Something that the user can act on; it may carry several problems at once."""

    exit_code: ExitCode = ExitCode.FINDING

    def __init__(self, message: str, *, document: str = "", key: str = "", hint: str = "") -> None:
        """Carry one problem."""
        self.problems: tuple[Problem, ...] = (Problem(message, document, key, hint),)
        super().__init__(str(self.problems[0]))

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> Self:
        """One error that carries all `problems`, in their order; there must be at least one."""
        found = tuple(problems)
        error = cls(found[0].message)
        error.problems = found
        error.args = ("\n".join(str(problem) for problem in found),)
        return error

    def diagnostics(self) -> str:
        """Every problem on a line of its own, for a person."""
        return "\n".join(str(problem) for problem in self.problems)


class StudyError(PairbenchError):
    """The command, the study or a file that it names is wrong."""

    exit_code = ExitCode.USAGE


class EnvironmentNotReady(PairbenchError):  # noqa: N818 - a state of the machine, not a fault of ours
    """This machine lacks something: an engine, disk, a package, a network."""

    exit_code = ExitCode.NOT_READY


class EngineError(EnvironmentNotReady):
    """The container engine refused or failed; the client of a trial had no part in it."""


class EngineGoneError(EngineError):
    """No engine answers any more: what is tried on it now fails whatever it is, and says nothing of a trial."""


class EvidenceError(PairbenchError):
    """Evidence, or something computed from it, isn't what its digests say."""

    exit_code = ExitCode.DOES_NOT_VERIFY
