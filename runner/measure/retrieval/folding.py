"""Which sources did a ranking of passages find, in which order?

A source counts once, at its best passage. A result that leads to no source of the corpus stays where it is, as a source
that nobody knows: what comes after it doesn't move up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.retrieval.rankings import PassageResult, UnmappedResult
from runner.core.sources import UNMAPPED_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.core.passages import Passage
    from runner.core.retrieval.rankings import Result
    from runner.core.sources import SourceIds


@dataclass(frozen=True)
class Passages:
    """The passages of one corpus, found by what results name."""

    by_id: Mapping[int, Passage]
    by_path: Mapping[str, tuple[Passage, ...]]
    """Of each source, in the order of their beginnings."""
    names: Mapping[int, str]
    """Passage -> its source, as TREC files name it."""
    sources: SourceIds

    @classmethod
    def of(cls, passages: Iterable[Passage], sources: SourceIds) -> Passages:
        """The `passages` of a corpus whose sources are called as `sources` says."""
        listed = tuple(passages)
        by_path: dict[str, list[Passage]] = {}
        for passage in sorted(listed, key=lambda passage: passage.start):
            by_path.setdefault(passage.source, []).append(passage)
        return cls(
            by_id={passage.id: passage for passage in listed},
            by_path={path: tuple(found) for path, found in by_path.items()},
            names={passage.id: sources.ids[passage.source] for passage in listed},
            sources=sources,
        )

    def path_of(self, source: str) -> str | None:
        """The path of what a server called `source`: the path itself, or the name that TREC files have for it."""
        return source if source in self.sources.ids else self.sources.paths.get(source)


def fold(results: Sequence[Result], passages: Passages) -> tuple[str, ...]:
    """The sources of `results`, best first, each once, as TREC files name them.

    Results stand best first: our own systems order by score, descending, then by the passage's id; a server's order is
    its own. With passages 1 and 2 of `a.md`, 3 of `b.md` and 4 of `c.md`, the passages 3, 1, 4, 2 fold to `b.md`,
    `a.md`, `c.md`: the second passage of `a.md` changes nothing. Were 1 no passage of the corpus, they would fold to
    `b.md`, `%unmapped-2`, `c.md`, `a.md`.
    """
    get = passages.names.get
    named = [get(result.id) if type(result) is PassageResult else _name(result, passages) for result in results]
    if None in named:
        named = [f"{UNMAPPED_PREFIX}{rank}" if name is None else name for rank, name in enumerate(named, 1)]
    return tuple(dict.fromkeys(named))  # type: ignore[arg-type]  # None was replaced


def _name(result: Result, passages: Passages) -> str | None:
    if isinstance(result, PassageResult | UnmappedResult):
        return None
    path = passages.path_of(result.source)
    return None if path is None else passages.sources.ids[path]


def overlap(found: Sequence[int], exact: Sequence[int], k: int) -> tuple[int, int]:
    """How many of an exact search's first `k` passages are among the first `k` that were found, and of how many.

    Passages whose score equals the one at the cut count as any other: both searches cut by the tie rule.
    """
    wanted = set(exact[:k])
    return len(wanted & set(found[:k])), len(wanted)
