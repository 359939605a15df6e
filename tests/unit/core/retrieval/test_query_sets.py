"""A query set is put together, held against its corpus, and frozen."""

from __future__ import annotations

import pytest

from runner.core.declared import read_declared
from runner.core.errors import StudyError
from runner.core.retrieval.queries import Judgement, Query, QuerySet, QuerySetFile
from runner.core.retrieval.queryset import ReadFiles, assembled, lock_of, lock_problems, resolved
from runner.core.sources import SourceIds

HEAD = """
format = "pairbench/queryset"
version = 1
name = "h"
description = "d"
licence = "CC0-1.0"
corpus = "corpus.toml"
"""
JSONL = '[queries]\nkind = "jsonl"\npath = "q.jsonl"\n[labels]\nkind = "jsonl"\npath = "l.jsonl"\n'
TREC = '[queries]\nkind = "trec"\ntopics = "t.txt"\n[labels]\nkind = "trec"\nqrels = "r.txt"\n'
BEIR = '[queries]\nkind = "beir"\npath = "beir"\n'
TREE = "sha256:" + "0" * 64


def _declared(tables: str = JSONL) -> QuerySetFile:
    return read_declared(QuerySetFile, (HEAD + tables).encode("utf-8"), "queryset.toml")


def _read(
    queries: list[Query], labels: list[Judgement], *, queries_whole: bool = True, labels_whole: bool = True
) -> ReadFiles:
    return ReadFiles(
        "q.jsonl", list(enumerate(queries, 1)), "l.jsonl", list(enumerate(labels, 1)), queries_whole, labels_whole
    )


def _set(queries: list[Query], labels: list[Judgement], tables: str = JSONL) -> QuerySet:
    found, problems = assembled(_declared(tables), "queryset.toml", _read(queries, labels))
    assert not problems
    return found


def _problems(read: ReadFiles, tables: str = JSONL) -> list[str]:
    return [str(problem) for problem in assembled(_declared(tables), "queryset.toml", read)[1]]


def _label(query: str, source: str = "a.md", grade: int = 1) -> Judgement:
    return Judgement(query=query, source=source, grade=grade)


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ('[queries]\nkind = "jsonl"\npath = "q"\n', "queryset.toml: [labels] is missing"),
        (
            BEIR + '[labels]\nkind = "trec"\nqrels = "r"\n',
            "queryset.toml: a folder of kind beir brings its labels: leave out [labels]",
        ),
        (JSONL + "[measures]\nk = [3, 1]\n", "queryset.toml: measures: the numbers of k must ascend"),
        (JSONL + "[measures]\nk = [0]\n", "queryset.toml: measures.k[0]: must be greater than or equal to 1"),
        (JSONL + "[measures]\nk = [1001]\n", "queryset.toml: measures.k[0]: must be less than or equal to 1000"),
        (
            JSONL.replace('"jsonl"', '"csv"', 1),
            "queryset.toml: queries: its kind must be one of 'jsonl', 'trec', 'beir'",
        ),
    ],
)
def test_declarations_that_are_refused(tables: str, problem: str) -> None:
    """What can't be meant is refused by name."""
    with pytest.raises(StudyError) as caught:
        _declared(tables)
    assert problem in [str(one) for one in caught.value.problems]


def test_everything_between_the_files_at_once() -> None:
    """Unknown queries, answers of what has none, queries without labels, and splits that overlap."""
    queries = [
        Query(id="a", text="Where is it?"),
        Query(id="b", text="where  IS it?", split="holdout"),
        Query(id="n", text="nothing", kind="no_answer"),
        Query(id="c", text="forgotten"),
    ]
    labels = [_label("a"), _label("b"), _label("n", grade=2), _label("x"), _label("c", grade=0)]
    assert _problems(_read(queries, labels)) == [
        "q.jsonl: line 4: no label calls a source relevant to 'c' (label one, or say kind = \"no_answer\")",
        "q.jsonl: line 2: split: line 1 asks the same in the split development: 'a' (ask a query in one split only)",
        "l.jsonl: line 3: grade: 'n' is said to have no answer, and this source is one",
        "l.jsonl: line 4: query: 'x' is not the id of a query",
    ]


def test_one_text_in_two_workspaces_is_two_queries() -> None:
    """The same words may be asked from another place, or at another time, in another split."""
    queries = [Query(id="a", text="x", workspace="one"), Query(id="b", text="x", workspace="two", split="holdout")]
    assert _problems(_read(queries, [_label("a"), _label("b")])) == []


def test_a_set_without_a_relevant_source_is_refused() -> None:
    """Grade 0 alone is nothing to find, and so is no label at all."""
    queries = [Query(id="n", text="x", kind="no_answer")]
    nothing = "l.jsonl: no label has a grade above 0: there is nothing to find"
    assert _problems(_read(queries, [])) == [nothing]
    assert _problems(_read(queries, [_label("n", grade=0)])) == [nothing]


def test_lost_lines_make_no_further_problems() -> None:
    """Where a line of a file couldn't be read, what other files say of it isn't called wrong."""
    assert _problems(_read([], [_label("a")], queries_whole=False)) == []
    assert _problems(_read([Query(id="a", text="x")], [], labels_whole=False)) == []


def test_topics_without_a_relevant_document_are_left_out() -> None:
    """As the field does: such a topic isn't asked, and its judgements are gone; the lock says how many."""
    queries = [Query(id="1", text="x"), Query(id="2", text="y"), Query(id="3", text="z")]
    found = _set(queries, [_label("1"), _label("2", grade=0)], TREC)
    assert [query.id for query in found.queries] == ["1"]
    assert found.labels == (_label("1"),)
    assert found.left_out == ("2", "3")
    assert lock_of(found, "h", TREE).left_out == 2


def test_labels_are_resolved_to_the_names_of_trec_files() -> None:
    """Ours name paths, foreign ones documents."""
    sources = SourceIds.of(["a b.md", "docs/MED-1.txt", "docs/x%20y.txt"], ["docs"])
    ours, problems = resolved(
        _set([Query(id="q", text="x")], [_label("q", "a b.md"), _label("q", "docs/MED-1.txt")]), "h", sources
    )
    assert problems == ()
    assert [label.source for label in ours.labels] == ["a%20b.md", "MED-1"]
    foreign, problems = resolved(
        _set([Query(id="q", text="x")], [_label("q", "MED-1"), _label("q", "x y")], BEIR), "h", sources
    )
    assert problems == ()
    assert [label.source for label in foreign.labels] == ["MED-1", "x%20y"]


def test_labels_of_unknown_sources_are_named() -> None:
    """Each with its line; a document's id is no path, nor a path an id."""
    sources = SourceIds.of(["a.md", "docs/MED-1.txt"], ["docs"])
    queries = _set([Query(id="q", text="x")], [_label("q"), _label("q", "gone.md"), _label("q", "MED-1")])
    assert [str(problem) for problem in resolved(queries, "h", sources)[1]] == [
        "l.jsonl: line 2: source: the corpus 'h' has no source 'gone.md'",
        "l.jsonl: line 3: source: the corpus 'h' has no source 'MED-1'",
    ]


def test_grades_are_those_of_queries_with_an_answer() -> None:
    """A query that nothing answers isn't averaged, whatever was judged for it."""
    queries = [Query(id="q", text="x"), Query(id="n", text="y", kind="no_answer")]
    labels = [_label("q", grade=3), _label("q", "b.md", 0), _label("n", "b.md", 0)]
    made, _ = resolved(_set(queries, labels), "h", SourceIds.of(["a.md", "b.md"]))
    assert made.grades() == {"q": {"a.md": 3, "b.md": 0}}


def test_the_lock_counts() -> None:
    """Queries by kind and split, labels by grade."""
    queries = [
        Query(id="a", text="x", kind="literal"),
        Query(id="b", text="y", kind="paraphrase", split="holdout"),
        Query(id="n", text="z", kind="no_answer"),
    ]
    lock = lock_of(_set(queries, [_label("a"), _label("b", grade=3), _label("a", "b.md", 0)]), "h", TREE)
    assert (lock.queries, lock.labels, lock.left_out) == (3, 3, 0)
    assert lock.by_kind == {"literal": 1, "no_answer": 1, "paraphrase": 1}
    assert lock.by_split == {"development": 2, "holdout": 1}
    assert lock.by_grade == {"0": 1, "1": 1, "3": 1}


@pytest.mark.parametrize(
    ("queries", "labels", "keys"),
    [
        ([Query(id="a", text="other"), Query(id="b", text="y")], [_label("a"), _label("b")], ["queries_sha256"]),
        (
            [Query(id="b", text="y"), Query(id="a", text="x")],
            [_label("a"), _label("b")],
            ["queries_sha256", "split_sha256"],
        ),
        ([Query(id="a", text="x", at_s=1), Query(id="b", text="y")], [_label("a"), _label("b")], ["queries_sha256"]),
        ([Query(id="a", text="x", tags=("t",)), Query(id="b", text="y")], [_label("a"), _label("b")], ["split_sha256"]),
        (
            [Query(id="a", text="x", split="holdout"), Query(id="b", text="y")],
            [_label("a"), _label("b")],
            ["split_sha256", "by_split"],
        ),
        (
            [Query(id="a", text="x"), Query(id="b", text="y")],
            [_label("a"), _label("b", grade=2)],
            ["labels_sha256", "by_grade"],
        ),
        ([Query(id="a", text="x"), Query(id="b", text="y")], [_label("b"), _label("a")], []),
    ],
)
def test_what_changes_a_lock(queries: list[Query], labels: list[Judgement], keys: list[str]) -> None:
    """Texts, times, order and splits of queries, and grades, but not the order of labels."""
    frozen = lock_of(_set([Query(id="a", text="x"), Query(id="b", text="y")], [_label("a"), _label("b")]), "h", TREE)
    now = lock_of(_set(queries, labels), "h", TREE)
    assert [problem.key for problem in lock_problems(now, frozen, "queryset.toml")] == keys


def test_another_tree_is_another_lock() -> None:
    """Labels point into the corpus that they were made for."""
    queries = _set([Query(id="a", text="x")], [_label("a")])
    problems = lock_problems(lock_of(queries, "h", "sha256:" + "1" * 64), lock_of(queries, "h", TREE), "queryset.toml")
    assert [str(problem) for problem in problems] == [
        "queryset.toml: tree_sha256: it is sha256:"
        + "1" * 64
        + ", and was frozen as sha256:"
        + "0" * 64
        + " (run `pairbench corpora lock` if the change is meant)"
    ]
