"""What did a system return that it may not: of another workspace, deleted, expired, or not known yet?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.retrieval.rankings import SpanResult, UnmappedResult
from runner.core.retrieval.scores import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.passages import Passage
    from runner.core.retrieval.queries import Query
    from runner.core.retrieval.rankings import Ranking, Result
    from runner.measure.retrieval.folding import Passages


def violations(query: Query, ranking: Ranking, passages: Passages) -> dict[Violation, int]:
    """How many results break each boundary, of those that were broken; one result may break several.

    A server that names bytes returned every passage that has some of them, and any of these counts. One that names a
    source alone is held to what all of its passages break: more can't be told.
    """
    found: dict[Violation, int] = {}
    bounded = passages.bounded.intersection(ranking.passages)
    ours = (
        (broken(query, passages.by_id[number]) for number in ranking.passages if number in bounded) if bounded else ()
    )
    for kinds in (*ours, *(_broken(query, result, passages) for result in ranking.found)):
        for kind in kinds:
            found[kind] = found.get(kind, 0) + 1
    return dict(sorted(found.items()))


def broken(query: Query, passage: Passage) -> Iterator[Violation]:
    """The boundaries that `passage` breaks when it is returned for `query`.

    A passage of workspace "" is everyone's; a query of workspace "" sees those alone. A passage is valid from
    `known_from_s` until just before `expires_s`; a query that is asked at no time in particular breaks neither, but
    what is marked as expired may never be returned.
    """
    if passage.workspace not in ("", query.workspace):
        yield Violation.FOREIGN_WORKSPACE
    if passage.status == "deleted":
        yield Violation.DELETED
    is_over = query.at_s is not None and passage.expires_s is not None and query.at_s >= passage.expires_s
    if passage.status == "expired" or is_over:
        yield Violation.EXPIRED
    if query.at_s is not None and passage.known_from_s is not None and query.at_s < passage.known_from_s:
        yield Violation.NOT_YET_KNOWN


def _broken(query: Query, result: Result, passages: Passages) -> set[Violation]:
    if isinstance(result, UnmappedResult):
        return set()
    path = passages.path_of(result.source)
    own = () if path is None else passages.by_path.get(path, ())
    if isinstance(result, SpanResult):
        touched = (passage for passage in own if passage.start < result.end and result.start < passage.end)
        return {kind for passage in touched for kind in broken(query, passage)}
    kinds = [set(broken(query, passage)) for passage in own]
    return set.intersection(*kinds) if kinds else set()
