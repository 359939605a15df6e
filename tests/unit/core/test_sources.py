"""What TREC files call a source, and the way back."""

from __future__ import annotations

import pytest

from runner.core.sources import (
    SourceIds,
    document_id,
    document_id_fault,
    document_path,
    source_id_problems,
    trec_id,
)


@pytest.mark.parametrize(
    ("into", "name", "path"),
    [
        ("docs", "MED-10", "docs/MED-10.txt"),
        (".", "4983", "4983.txt"),
        ("docs/", "a/b c", "docs/a%2Fb%20c.txt"),
        ("docs", "<dbpedia:Ö>", "docs/%3Cdbpedia%3A%C3%96%3E.txt"),
        ("docs", "..", "docs/...txt"),
        ("docs", "100%", "docs/100%25.txt"),
    ],
)
def test_document_path_and_back(into: str, name: str, path: str) -> None:
    """A document is one file named after its percent-encoded id, and the id comes back from the path."""
    assert document_path(into, name) == path
    assert document_id(into, path) == name


@pytest.mark.parametrize(
    "path", ["docs/sub/x.txt", "other/x.txt", "docs/x.md", "docs/.txt", "docs/%3cx.txt", "docs/%FF.txt", "docs/%2.txt"]
)
def test_paths_of_no_document(path: str) -> None:
    """What `document_path` never gives is no document: nested, elsewhere, another end, another spelling."""
    assert document_id("docs", path) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/app.py", "src/app.py"),
        ("my notes/50%.md", "my%20notes/50%25.md"),
        ("a\u00a0b\u2028c.md", "a%C2%A0b%E2%80%A8c.md"),
        ("docs/MED-10.txt", "MED-10"),
        ("docs/100%25.txt", "100%"),
        ("docs/a%20b%25.txt", "a%20b%25"),
    ],
)
def test_trec_ids(path: str, expected: str) -> None:
    """A document keeps its id where it is one word; paths, and ids with white space, are encoded."""
    assert trec_id(path, ["docs"]) == expected


def test_ids_lead_back_to_paths() -> None:
    """Both directions of one corpus."""
    found = SourceIds.of(["docs/7.txt", "src/a b.py"], ["docs"])
    assert found.ids == {"docs/7.txt": "7", "src/a b.py": "src/a%20b.py"}
    assert found.paths == {"7": "docs/7.txt", "src/a%20b.py": "src/a b.py"}


def test_two_sources_of_one_id_are_refused() -> None:
    """Ids of two collections, or an id and a path, that fall together are named."""
    problems = source_id_problems(["a/7.txt", "b/7.txt", "7"], ["a", "b"], "corpus.toml")
    assert [str(problem) for problem in problems] == [
        "corpus.toml: b/7.txt: TREC files would call it '7', as they call a/7.txt (leave one of them out with exclude)",
        "corpus.toml: 7: TREC files would call it '7', as they call a/7.txt (leave one of them out with exclude)",
    ]


def test_reserved_ids_are_refused() -> None:
    """No source may be called like a result that is no source."""
    problems = source_id_problems(["docs/%25unmapped-1.txt"], ["docs"], "corpus.toml")
    assert [str(problem) for problem in problems] == [
        "corpus.toml: docs/%25unmapped-1.txt: no id may begin with %unmapped-"
    ]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("MED-10", ""),
        ("", "the id is empty"),
        ("\ud800", "the id isn't UTF-8"),
        ("é" * 34, "the id takes 204 bytes as a file name; the limit is 200"),
        ("%unmapped-1", "no id may begin with %unmapped-"),
    ],
)
def test_ids_that_no_file_can_have(name: str, fault: str) -> None:
    """An empty, a broken, a very long and a reserved id each have their own sentence."""
    assert document_id_fault(name) == fault
