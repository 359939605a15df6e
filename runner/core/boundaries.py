"""Whose are the passages of a corpus, and when do they hold, as its scopes declare it?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.core.errors import Problem
from runner.core.instants import seconds_of
from runner.core.passages import LIVE
from runner.core.trees import selected

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.core.corpus import GivenPassage, Scope
    from runner.core.passages import Passage


@dataclass(frozen=True)
class Boundaries:
    """What is declared of a passage; None: nothing."""

    workspace: str | None = None
    status: str | None = None
    known_from_s: int | None = None
    expires_s: int | None = None

    @classmethod
    def of(cls, declared: Scope | GivenPassage) -> Boundaries:
        """What a scope, or a given passage, declares."""
        return cls(
            declared.workspace,
            declared.status,
            None if declared.known_from is None else seconds_of(declared.known_from),
            None if declared.expires is None else seconds_of(declared.expires),
        )

    def over(self, other: Boundaries) -> Boundaries:
        """These, and those of `other` for whatever these don't say."""
        return Boundaries(
            other.workspace if self.workspace is None else self.workspace,
            other.status if self.status is None else self.status,
            other.known_from_s if self.known_from_s is None else self.known_from_s,
            other.expires_s if self.expires_s is None else self.expires_s,
        )

    def fault(self) -> str:
        """Why they can't be; "" when they can."""
        if self.known_from_s is None or self.expires_s is None or self.known_from_s < self.expires_s:
            return ""
        return "it expires before it is known"

    def on(self, passage: Passage) -> Passage:
        """The passage, with these boundaries and no others."""
        return replace(
            passage,
            workspace=self.workspace or "",
            status=self.status or LIVE,
            known_from_s=self.known_from_s,
            expires_s=self.expires_s,
        )


NONE = Boundaries()


def scoped(sources: Sequence[str], scopes: Sequence[Scope]) -> dict[str, Boundaries]:
    """Source -> what the scopes say of it, the later before the earlier; no source of which none says anything."""
    found: dict[str, Boundaries] = {}
    for scope in scopes:
        says = Boundaries.of(scope)
        for source in selected(sources, scope.include, ()):
            found[source] = says.over(found.get(source, NONE))
    return found


def scope_problems(sources: Sequence[str], scopes: Sequence[Scope], document: str) -> tuple[Problem, ...]:
    """Every glob of `scopes` that names no source, and every source that would expire before it is known."""
    problems = [
        Problem(f"{glob!r} matches no file", document, f"scopes[{index}].include")
        for index, scope in enumerate(scopes)
        for glob in scope.include
        if not selected(sources, (glob,), ())
    ]
    problems += [
        Problem(fault, document, source) for source, says in scoped(sources, scopes).items() if (fault := says.fault())
    ]
    return tuple(problems)


def bounded(passages: Iterable[Passage], scopes: Mapping[str, Boundaries]) -> tuple[Passage, ...]:
    """The passages with what `scopes` says of their sources."""
    return tuple(scopes[passage.source].on(passage) if passage.source in scopes else passage for passage in passages)
