"""A query set is read whole, and everything that is wrong with it is said at once.

Knows files and shapes; whether labels fit the corpus is asked where both are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from runner.core.declared import salvage_declared
from runner.core.errors import Problem, StudyError
from runner.core.retrieval.foreign import read_beir_qrels, read_beir_queries, read_trec_qrels, read_trec_topics
from runner.core.retrieval.lines import Complaints
from runner.core.retrieval.queries import BeirFolder, JsonlQueries, QuerySetFile, QuerySetLock, TrecQrels, TrecTopics
from runner.core.retrieval.queryset import ReadFiles, assembled
from runner.core.retrieval.reading import read_labels, read_queries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.core.retrieval.queries import QuerySet
    from runner.core.retrieval.reading import JudgementLines, QueryLines
    from runner.ports.files import Files

L = TypeVar("L")

LOCK_NAME: Final = "queryset.lock.json"
# For what is wrong or missing in a set that isn't going to be used, so that what else is wrong with it is told too.
_STAND_INS: Final = {"format": "pairbench/queryset", "version": 1, "name": "x", "description": "x", "licence": "x"}
_OPTIONAL_TABLES: Final = frozenset({"measures"})
# The splits that tuning may look at, by the names that the field gives them.
_TUNED: Final = frozenset({"train", "dev", "validation"})


@dataclass(frozen=True)
class ReadQuerySet:
    """What could be read of a query set, and everything that is wrong with it."""

    queries: QuerySet | None
    """None where there are problems."""
    problems: tuple[Problem, ...]
    legible: QuerySet | None = None
    """What could be read, whatever is wrong with the rest; None where nothing could."""

    def sound(self) -> QuerySet:
        """The set, which has no faults of its own.

        Raises:
            StudyError: with every problem.
        """
        if self.queries is None:
            raise StudyError.of(self.problems)
        return self.queries


def read_query_set(path: Path, files: Files) -> ReadQuerySet:
    """The query set whose `queryset.toml` is at `path`, and everything that is wrong with it and its files."""
    data = files.read(path)
    if data is None:
        return ReadQuerySet(None, (Problem("there is no such query set", str(path)),))
    declared, faults = salvage_declared(QuerySetFile, data, str(path), _OPTIONAL_TABLES, _STAND_INS)
    if declared is None:
        return ReadQuerySet(None, faults)
    reading = _Reading(files, path.parent, str(path))
    found, problems = assembled(declared, str(path), reading.read(declared))
    problems = (*faults, *reading.problems, *problems)
    return ReadQuerySet(None if problems else found, problems, found)


def read_query_set_lock(path: Path, files: Files) -> QuerySetLock:
    """What the query set at `path` was frozen to.

    Raises:
        StudyError: it was never frozen.
        EvidenceError: the lock is damaged.
    """
    place = path.parent / LOCK_NAME
    data = files.read(place)
    if data is None:
        hint = f"freeze it: pairbench corpora lock {path}"
        raise StudyError(f"there is no file {place}", document=str(path), key=LOCK_NAME, hint=hint)
    return QuerySetLock.from_bytes(data, str(place))


class _Reading:
    """The files of one set, and what is wrong with them."""

    def __init__(self, files: Files, folder: Path, document: str) -> None:
        self._files, self._folder, self._document = files, folder, document
        self.problems: list[Problem] = []

    def read(self, declared: QuerySetFile) -> ReadFiles:
        queries, labels = declared.queries, declared.labels
        if isinstance(queries, BeirFolder):
            asked, judged = f"{queries.path}/queries.jsonl", f"{queries.path}/qrels/{queries.split}.tsv"
            keys = "queries.path", "queries.split"
        else:
            is_ours = isinstance(queries, JsonlQueries)
            asked = queries.path if isinstance(queries, JsonlQueries) else queries.topics
            judged = labels.qrels if isinstance(labels, TrecQrels) else labels.path if labels is not None else ""
            keys = "queries.path" if is_ours else "queries.topics", "labels"
        of_queries, query_lines = self._file(asked, keys[0], lambda *file: _queries(queries, *file))
        of_labels, label_lines = self._file(judged, keys[1], lambda *file: _labels(declared, *file))
        return ReadFiles(
            queries_document=of_queries.document,
            queries=query_lines,
            labels_document=of_labels.document,
            labels=label_lines,
            queries_whole=of_queries.is_whole,
            labels_whole=of_labels.is_whole,
        )

    def _file(self, name: str, key: str, reader: Callable[[bytes, Complaints], list[L]]) -> tuple[Complaints, list[L]]:
        place = self._folder / name
        complaints = Complaints(str(place))
        data = self._files.read(place)
        if data is None:
            self.problems.append(Problem(f"there is no file {place}", self._document, key))
            complaints.is_whole = False
            return complaints, []
        found = reader(data, complaints)
        if not found and complaints.is_whole:
            complaints.lose("the file holds nothing")
        self.problems += complaints.problems()
        return complaints, found


def _queries(declared: JsonlQueries | TrecTopics | BeirFolder, data: bytes, complaints: Complaints) -> QueryLines:
    match declared:
        case JsonlQueries():
            return read_queries(data, complaints)
        case TrecTopics():
            return read_trec_topics(data, declared.field, complaints)
        case BeirFolder():
            is_tuned = declared.split in _TUNED
            return read_beir_queries(data, "development" if is_tuned else "holdout", complaints)


def _labels(declared: QuerySetFile, data: bytes, complaints: Complaints) -> JudgementLines:
    if isinstance(declared.queries, BeirFolder):
        return read_beir_qrels(data, complaints)
    if isinstance(declared.labels, TrecQrels):
        return read_trec_qrels(data, complaints)
    return read_labels(data, complaints)
