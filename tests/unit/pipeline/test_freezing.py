"""Corpora are frozen, and held against what they were frozen to."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.corpus import CorpusLock
from runner.core.errors import EvidenceError, StudyError
from runner.pipeline.freezing import freeze_corpus, freeze_queries, is_query_set, verify_corpus, verify_queries
from tests.fakes.surroundings import CORPUS, Surroundings

CORPUS_FILE = Path("/studies/notes/corpus.toml")
LOCK = Path("/studies/notes/corpus.lock.json")
CARD = Path("/studies/notes/CARD.md")
SET = Path("/studies/notes/sets/queryset.toml")
SET_LOCK = Path("/studies/notes/sets/queryset.lock.json")


def test_what_is_frozen_verifies(outside: Surroundings) -> None:
    """The lock stands beside the file, in canonical bytes."""
    outside.study()
    lock = freeze_corpus(outside.world, CORPUS_FILE)
    assert outside.files.held[LOCK] == lock.to_bytes()
    assert CorpusLock.from_bytes(lock.to_bytes(), "x") == lock
    assert (lock.name, lock.files, lock.bytes, lock.passages, lock.skipped) == ("notes", 2, 58, 2, 0)
    assert verify_corpus(outside.world, CORPUS_FILE) == lock


def test_a_file_that_changed_is_told(outside: Surroundings) -> None:
    """Every figure that differs."""
    outside.study()
    outside.files.put(Path("/studies/notes/files/more.md"), "More.\n")
    with pytest.raises(StudyError) as caught:
        verify_corpus(outside.world, CORPUS_FILE)
    assert [problem.key for problem in caught.value.problems] == [
        "tree_sha256",
        "passages_sha256",
        "files",
        "bytes",
        "passages",
    ]


def test_a_declaration_that_changed_is_told(outside: Surroundings) -> None:
    """Also where it would give the same files."""
    outside.study()
    outside.files.put(CORPUS_FILE, CORPUS.replace("Notes.", "Other notes."))
    with pytest.raises(StudyError, match="it changed after it was frozen"):
        verify_corpus(outside.world, CORPUS_FILE)


def test_a_corpus_without_a_lock_is_told(outside: Surroundings) -> None:
    """And a lock that is none."""
    outside.study()
    outside.files.put(LOCK, "{}")
    with pytest.raises(EvidenceError, match=r"corpus\.lock\.json: format"):
        verify_corpus(outside.world, CORPUS_FILE)
    outside.files.remove(LOCK)
    with pytest.raises(StudyError, match="it was never frozen"):
        verify_corpus(outside.world, CORPUS_FILE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file"),
        ("parts = ", "not TOML"),
        (CORPUS + "colour = 1\n", "colour: unknown key"),
        (CORPUS.replace('"files"', '"gone"'), "its kind must be one of"),
    ],
)
def test_a_declaration_that_is_wrong_is_told(outside: Surroundings, text: str | None, message: str) -> None:
    """Missing, no TOML, unknown keys and kinds; nothing is written."""
    outside.study()
    outside.files.remove(LOCK)
    if text is None:
        outside.files.remove(CORPUS_FILE)
    else:
        outside.files.put(CORPUS_FILE, text)
    with pytest.raises(StudyError, match=message):
        freeze_corpus(outside.world, CORPUS_FILE)
    assert LOCK not in outside.files.held


def test_a_card_stands_beside_the_lock_and_is_held_fresh(outside: Surroundings) -> None:
    """One that is missing, or that somebody edited, is told."""
    outside.study()
    freeze_corpus(outside.world, CORPUS_FILE)
    card = outside.files.held[CARD]
    assert card.startswith(b"# Corpus `notes`\n")
    outside.files.write(CARD, card.replace(b"CC0-1.0", b"MIT"))
    with pytest.raises(StudyError, match=r"CARD\.md: it isn't the card of this corpus"):
        verify_corpus(outside.world, CORPUS_FILE)
    outside.files.remove(CARD)
    with pytest.raises(StudyError, match="run `pairbench corpora lock`"):
        verify_corpus(outside.world, CORPUS_FILE)


QUERY_SET = """
format = "pairbench/queryset"
version = 1
name = "asked"
description = "Questions."
licence = "CC0-1.0"
corpus = "../corpus.toml"
queries = { kind = "jsonl", path = "queries.jsonl" }
labels = { kind = "jsonl", path = "labels.jsonl" }
"""
QUERIES = '{"id": "where", "text": "Where to?", "split": "holdout", "kind": "literal"}\n'
LABELS = '{"query": "where", "source": "notes/plan.md", "grade": 3}\n'


def put_set(outside: Surroundings, labels: str = LABELS) -> None:
    outside.study()
    outside.files.put(SET, QUERY_SET)
    outside.files.put(SET.with_name("queries.jsonl"), QUERIES)
    outside.files.put(SET.with_name("labels.jsonl"), labels)


def test_a_query_set_is_frozen_for_its_corpus(outside: Surroundings) -> None:
    """It is told from a corpus by what it says that it is; its lock names the tree that its labels point into."""
    put_set(outside)
    assert is_query_set(outside.world, SET)
    assert not is_query_set(outside.world, CORPUS_FILE)
    lock = freeze_queries(outside.world, SET)
    assert outside.files.held[SET_LOCK] == lock.to_bytes()
    assert (lock.name, lock.corpus, lock.queries, lock.labels) == ("asked", "notes", 1, 1)
    assert lock.tree_sha256 == verify_corpus(outside.world, CORPUS_FILE).tree_sha256
    assert verify_queries(outside.world, SET) == lock


def test_labels_that_name_no_source_are_not_frozen(outside: Surroundings) -> None:
    """Whatever else the set says."""
    put_set(outside, LABELS.replace("plan", "plans"))
    with pytest.raises(StudyError, match=r"labels\.jsonl: line 1: source: the corpus 'notes' has no source"):
        freeze_queries(outside.world, SET)
    assert SET_LOCK not in outside.files.held


def test_all_faults_of_a_set_are_told_at_once(outside: Surroundings) -> None:
    """Also labels of no source, with what they should say, though lines of the set can't be read."""
    put_set(
        outside,
        '{"query": "where", "source": "/workspace/notes/plan.md", "grade": 3}\n'
        '{"query": "where", "source": "./gone.md", "grade": 3}\n'
        '{"query": "nobody", "source": "notes/plan.md", "grade": 9}\n',
    )
    with pytest.raises(StudyError) as caught:
        freeze_queries(outside.world, SET)
    labels = SET.with_name("labels.jsonl")
    assert [str(problem) for problem in caught.value.problems] == [
        f"{labels}: line 3: grade: the grade 9 is not one of 0 to 3",
        f"{labels}: line 3: query: 'nobody' is not the id of a query",
        (
            f"{labels}: line 1: source: the corpus 'notes' has no source '/workspace/notes/plan.md' "
            "(paths are from the corpus's root, as 'notes/plan.md')"
        ),
        f"{labels}: line 2: source: the corpus 'notes' has no source './gone.md' (paths are from the corpus's root)",
    ]


def test_a_corpus_that_is_wrong_does_not_hide_what_is_wrong_with_the_set(outside: Surroundings) -> None:
    """Both are told."""
    put_set(outside, LABELS.replace("3", "9"))
    outside.files.put(CORPUS_FILE, "format = 1")
    with pytest.raises(StudyError) as caught:
        freeze_queries(outside.world, SET)
    said = str(caught.value)
    assert "the grade 9 is not one of 0 to 3" in said
    assert "corpus.toml: parts: missing" in said


def test_a_query_set_that_changed_is_told(outside: Surroundings) -> None:
    """A grade that somebody raised; a corpus that isn't the frozen one; a set that was never frozen."""
    put_set(outside)
    with pytest.raises(StudyError, match=r"there is no file .*queryset\.lock\.json"):
        verify_queries(outside.world, SET)
    freeze_queries(outside.world, SET)
    outside.files.put(SET.with_name("labels.jsonl"), LABELS.replace("3", "2"))
    with pytest.raises(StudyError) as caught:
        verify_queries(outside.world, SET)
    assert [problem.key for problem in caught.value.problems] == ["labels_sha256", "by_grade"]
    outside.files.put(Path("/studies/notes/files/more.md"), "More.\n")
    with pytest.raises(StudyError, match="it is 3, and was frozen as 2"):
        verify_queries(outside.world, SET)
