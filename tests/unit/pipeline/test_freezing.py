"""Corpora are frozen, and held against what they were frozen to."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.corpus import CorpusLock
from runner.core.errors import EvidenceError, StudyError
from runner.pipeline.freezing import freeze_corpus, verify_corpus
from tests.fakes.surroundings import CORPUS, Surroundings

CORPUS_FILE = Path("/studies/notes/corpus.toml")
LOCK = Path("/studies/notes/corpus.lock.json")


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
