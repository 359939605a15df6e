"""TREC run and qrels files, from which `trec_eval` and `ir_measures` on the command line give our figures.

Both tools order a run by its score column alone, and those that go by trec_eval's rule break ties by the document's id,
descending; trec_eval reads scores as single-precision floats, in which scores that differ may fall together. The score
column therefore counts down from the number of sources to 1: it gives our order in every tool, and says nothing else. A
system's own scores are in `rankings.jsonl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def trec_run(rankings: Iterable[tuple[str, Sequence[str]]], system: str) -> Iterator[bytes]:
    """The lines of a run: query, `Q0`, source, rank from 1, score, `system`; one piece for each of `rankings`.

    A ranking is a query's id and the sources found for it, best first, each once, all named as TREC files name them.
    Queries without results have no line: `trec_eval -c` counts them, and ir_measures always does.
    """
    for query, sources in rankings:
        size = len(sources)
        lines = [f"{query} Q0 {source} {rank} {size - rank + 1} {system}\n" for rank, source in enumerate(sources, 1)]
        yield "".join(lines).encode("utf-8")


def trec_qrels(grades: Mapping[str, Mapping[str, int]]) -> bytes:
    """The lines of a qrels file: query, 0, source, grade; a query's sources in the order of their names.

    It holds the queries that are averaged and no other, for the tools average over those that they find in it.
    """
    lines = [
        f"{query} 0 {source} {grade}\n" for query, judged in grades.items() for source, grade in sorted(judged.items())
    ]
    return "".join(lines).encode("utf-8")
