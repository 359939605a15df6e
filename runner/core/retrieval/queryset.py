"""Do queries and labels make a set, does the set fit its corpus, and is it what it was frozen as?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.canonical import digest_of
from runner.core.errors import Problem
from runner.core.retrieval.lines import Complaints
from runner.core.retrieval.queries import (
    Judgement,
    Query,
    QuerySet,
    QuerySetFile,
    QuerySetLock,
    ResolvedQuerySet,
)
from runner.core.sources import document_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.core.retrieval.reading import JudgementLines, QueryLines
    from runner.core.sources import SourceIds

_CHANGED = "run `pairbench corpora lock` if the change is meant"


@dataclass(frozen=True)
class ReadFiles:
    """What the files of a set hold, and where."""

    queries_document: str
    queries: QueryLines
    labels_document: str
    labels: JudgementLines
    queries_whole: bool = True
    labels_whole: bool = True
    """Whether every line of the file could be read."""


def assembled(declared: QuerySetFile, document: str, read: ReadFiles) -> tuple[QuerySet, tuple[Problem, ...]]:
    """The set that the files make, and everything that is wrong between them.

    A topic of a foreign file that no label calls relevant to anything is left out, as the field does; of a set of ours,
    whose queries say whether they have an answer, every query has one or says that there is none.
    """
    of_queries, of_labels = Complaints(read.queries_document), Complaints(read.labels_document)
    known = {query.id: query for _, query in read.queries}
    answered = {label.query for _, label in read.labels if label.grade > 0}
    is_foreign = declared.queries.kind != "jsonl"
    left_out: list[str] = []
    for number, query in read.queries:
        if query.kind == "no_answer" or query.id in answered:
            continue
        if not read.labels_whole:
            continue
        if is_foreign:
            left_out.append(query.id)
        else:
            of_queries.add(
                f"no label calls a source relevant to {query.id!r}",
                f"line {number}",
                'label one, or say kind = "no_answer"',
            )
    for number, label in read.labels:
        if label.query not in known:
            if read.queries_whole:
                of_labels.add(f"{label.query[:100]!r} is not the id of a query", f"line {number}: query")
        elif label.grade > 0 and known[label.query].kind == "no_answer":
            message = f"{label.query!r} is said to have no answer, and this source is one"
            of_labels.add(message, f"line {number}: grade")
    if not answered and read.labels_whole:
        of_labels.add("no label has a grade above 0: there is nothing to find")
    _overlapping(read.queries, of_queries)
    skipped = frozenset(left_out)
    labels = [(number, label) for number, label in read.labels if label.query not in skipped]
    found = QuerySet(
        document=document,
        declared=declared,
        queries=tuple(query for _, query in read.queries if query.id not in skipped),
        labels=tuple(label for _, label in labels),
        label_lines=tuple(number for number, _ in labels),
        labels_document=read.labels_document,
        names_paths=declared.labels is not None and declared.labels.kind == "jsonl",
        left_out=tuple(left_out),
    )
    return found, (*of_queries.problems(), *of_labels.problems())


def resolved(queries: QuerySet, corpus: str, sources: SourceIds) -> tuple[ResolvedQuerySet, tuple[Problem, ...]]:
    """The set with its sources named as TREC files name them, and every label whose source isn't in the corpus."""
    complaints = Complaints(queries.labels_document)
    labels: list[Judgement] = []
    for number, label in zip(queries.label_lines, queries.labels, strict=True):
        name = sources.ids.get(label.source) if queries.names_paths else document_name(label.source)
        if name is None or name not in sources.paths:
            message = f"the corpus {corpus!r} has no source {label.source[:200]!r}"
            complaints.add(message, f"line {number}: source", _path_hint(label.source, sources))
            continue
        labels.append(label.model_copy(update={"source": name}))
    made = ResolvedQuerySet(
        name=queries.declared.name,
        corpus=corpus,
        ks=queries.declared.measures.k,
        queries=queries.queries,
        labels=tuple(labels),
    )
    return made, complaints.problems()


def _path_hint(source: str, sources: SourceIds) -> str:
    """What to write where a path is given as a container has it, or from the folder that it lies in."""
    path = source
    for start in ("/workspace/", "./", "/"):
        path = path.removeprefix(start)
    if path == source:
        return ""
    known = f", as {path!r}" if path in sources.ids else ""
    return f"paths are from the corpus's root{known}"


def lock_of(queries: QuerySet, corpus: str, tree_sha256: str) -> QuerySetLock:
    """What the set is frozen to, with the corpus that its labels point into."""
    everyone, labels = queries.queries, sorted(queries.labels, key=lambda label: (label.query, label.source))
    return QuerySetLock(
        name=queries.declared.name,
        corpus=corpus,
        tree_sha256=tree_sha256,
        queries_sha256=digest_of([[query.id, query.text, query.workspace, query.at_s] for query in everyone]),
        labels_sha256=digest_of([[label.query, label.source, label.grade] for label in labels]),
        split_sha256=digest_of([[query.id, query.split, query.kind, list(query.tags)] for query in everyone]),
        queries=len(everyone),
        labels=len(labels),
        left_out=len(queries.left_out),
        by_kind=_counted(query.kind for query in everyone),
        by_split=_counted(query.split for query in everyone),
        by_grade=_counted(str(label.grade) for label in labels),
    )


def lock_problems(now: QuerySetLock, frozen: QuerySetLock, document: str) -> tuple[Problem, ...]:
    """Everything in which a set, as it is, differs from what it was frozen as."""
    return tuple(
        Problem(f"it is {getattr(now, key)}, and was frozen as {getattr(frozen, key)}", document, key, _CHANGED)
        for key in QuerySetLock.model_fields
        if getattr(now, key) != getattr(frozen, key)
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def _overlapping(queries: Sequence[tuple[int, Query]], complaints: Complaints) -> None:
    """Complains of queries that are asked in both splits, but for case and white space."""
    first: dict[tuple[str, str, int | None], tuple[int, Query]] = {}
    for number, query in queries:
        key = (" ".join(query.text.casefold().split()), query.workspace, query.at_s)
        line, other = first.setdefault(key, (number, query))
        if other.split != query.split:
            message = f"line {line} asks the same in the split {other.split}: {other.id!r}"
            complaints.add(message, f"line {number}: split", "ask a query in one split only")
