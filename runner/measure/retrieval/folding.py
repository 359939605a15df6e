"""Which sources did a ranking of passages find, in which order?

A source counts once, at its best passage. A result that leads to no source of the corpus stays where it is, as a source
that nobody knows: what comes after it doesn't move up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.passages import LIVE
from runner.core.retrieval.rankings import UnmappedResult
from runner.core.sources import UNMAPPED_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.core.passages import Passage
    from runner.core.retrieval.rankings import Ranking, Result
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
    bounded: frozenset[int]
    """Passages that not every query may be given."""

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
            bounded=frozenset(passage.id for passage in listed if _is_bounded(passage)),
        )

    def path_of(self, source: str) -> str | None:
        """The path of what a server called `source`: the path itself, or the name that TREC files have for it."""
        return source if source in self.sources.ids else self.sources.paths.get(source)


@dataclass(frozen=True)
class Folded:
    """What a ranking found."""

    sources: tuple[str, ...]
    """Best first, each once, as TREC files name them."""
    unmapped: int
    """Results that lead to no source of the corpus: each stands among `sources` under a name of its own."""


def fold(ranking: Ranking, passages: Passages) -> Folded:
    """The sources that `ranking` found.

    With passages 1 and 2 of `a.md`, 3 of `b.md` and 4 of `c.md`, the passages 3, 1, 4, 2 fold to `b.md`, `a.md`,
    `c.md`: the second passage of `a.md` changes nothing. Were 1 no passage of the corpus, they would fold to `b.md`,
    `%unmapped-2`, `c.md`, `a.md`.
    """
    named = _named(ranking, passages)
    lost = named.count(None)
    if lost:
        named = [f"{UNMAPPED_PREFIX}{rank}" if name is None else name for rank, name in enumerate(named, 1)]
    sources = tuple(dict.fromkeys(named))
    return Folded(sources, lost)  # type: ignore[arg-type]  # no name is None any more


def unmapped(ranking: Ranking, passages: Passages) -> int:
    """How many results of `ranking` lead to no source of the corpus."""
    return _named(ranking, passages).count(None)


def _named(ranking: Ranking, passages: Passages) -> list[str | None]:
    """Of each result the name of its source; None where it leads to none."""
    return [*map(passages.names.get, ranking.passages), *(_name(result, passages) for result in ranking.found)]


def _is_bounded(passage: Passage) -> bool:
    timed = passage.known_from_s is not None or passage.expires_s is not None
    return timed or bool(passage.workspace) or passage.status != LIVE


def _name(result: Result, passages: Passages) -> str | None:
    if isinstance(result, UnmappedResult):
        return None
    path = passages.path_of(result.source)
    return None if path is None else passages.sources.ids[path]


def overlap(found: Sequence[int], exact: Sequence[int], k: int) -> tuple[int, int]:
    """How many of an exact search's first `k` passages are among the first `k` that were found, and of how many.

    Passages whose score equals the one at the cut count as any other: both searches cut by the tie rule.
    """
    wanted = set(exact[:k])
    return len(wanted & set(found[:k])), len(wanted)
