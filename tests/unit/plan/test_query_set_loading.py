"""Query sets are read from their files, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.errors import StudyError
from runner.core.retrieval.queryset import lock_of
from runner.plan.queries import read_query_set, read_query_set_lock
from tests.fakes.files import MemoryFiles

SET = Path("/sets/h/queryset.toml")
HEAD = b'format = "pairbench/queryset"\nversion = 1\nname = "h"\ndescription = "d"\nlicence = "l"\ncorpus = "c.toml"\n'
JSONL = b'[queries]\nkind = "jsonl"\npath = "q.jsonl"\n[labels]\nkind = "jsonl"\npath = "l.jsonl"\n'
TREC = b'[queries]\nkind = "trec"\ntopics = "t.txt"\n[labels]\nkind = "trec"\nqrels = "r.txt"\n'
BEIR = b'[queries]\nkind = "beir"\npath = "beir"\nsplit = "dev"\n'


def _files(toml: bytes, **files: bytes) -> MemoryFiles:
    held = {SET.parent / name.replace("__", "/").replace("_", "."): data for name, data in files.items()}
    return MemoryFiles({SET: HEAD + toml, **held})


def test_jsonl() -> None:
    """Queries and labels of ours."""
    files = _files(JSONL, q_jsonl=b'{"id": "a", "text": "x"}\n', l_jsonl=b'{"query": "a", "source": "s", "grade": 2}\n')
    found = read_query_set(SET, files).sound()
    assert [query.id for query in found.queries] == ["a"]
    assert found.labels_document == "/sets/h/l.jsonl"
    assert found.names_paths
    assert found.declared.measures.k == (1, 3, 5, 10)


def test_trec() -> None:
    """Topics and qrels."""
    found = read_query_set(SET, _files(TREC, t_txt=b"1\twhat?\n", r_txt=b"1 0 FR-1 1\n")).sound()
    assert [(query.id, query.text, query.split) for query in found.queries] == [("1", "what?", "development")]
    assert not found.names_paths


@pytest.mark.parametrize(("split", "ours"), [(b"dev", "development"), (b"train", "development"), (b"test", "holdout")])
def test_beir(split: bytes, ours: str) -> None:
    """A folder; what one may tune on is development."""
    files = MemoryFiles(
        {
            SET: HEAD + BEIR.replace(b"dev", split),
            SET.parent / "beir/queries.jsonl": b'{"_id": "1", "text": "x"}\n{"_id": "2", "text": "of another split"}\n',
            SET.parent / f"beir/qrels/{split.decode()}.tsv": b"query-id\tcorpus-id\tscore\n1\td\t1\n",
        }
    )
    found = read_query_set(SET, files).sound()
    assert [(query.id, query.split) for query in found.queries] == [("1", ours)]
    assert found.left_out == ("2",)


def test_no_set_at_all() -> None:
    """A path that leads nowhere is said to."""
    with pytest.raises(StudyError, match=r"/sets/h/queryset\.toml: there is no such query set"):
        read_query_set(SET, MemoryFiles()).sound()


def test_missing_files_are_both_named() -> None:
    """By the keys that name them."""
    assert [str(problem) for problem in read_query_set(SET, _files(TREC)).problems] == [
        "/sets/h/queryset.toml: queries.topics: there is no file /sets/h/t.txt",
        "/sets/h/queryset.toml: labels: there is no file /sets/h/r.txt",
    ]


def test_faults_of_all_files_come_together() -> None:
    """One list, each with document and line."""
    files = _files(
        JSONL,
        q_jsonl=b'{"id": "a", "text": ""}\n{"id": "b", "text": "y"}\n',
        l_jsonl=b'{"query": "a", "source": "s", "grade": 9}\n{"query": "z", "source": "s", "grade": 1}\n',
    )
    assert [str(problem) for problem in read_query_set(SET, files).problems] == [
        "/sets/h/q.jsonl: line 1: text: the query is empty",
        "/sets/h/l.jsonl: line 1: grade: the grade 9 is not one of 0 to 3",
        "/sets/h/q.jsonl: line 2: no label calls a source relevant to 'b' (label one, or say kind = \"no_answer\")",
        "/sets/h/l.jsonl: line 2: query: 'z' is not the id of a query",
    ]


@pytest.mark.parametrize("empty", [b"", b"\n\n", b"\r\n"])
def test_empty_files_hold_nothing(empty: bytes) -> None:
    """And nothing else is said of them."""
    assert [str(problem) for problem in read_query_set(SET, _files(JSONL, q_jsonl=empty, l_jsonl=empty)).problems] == [
        "/sets/h/q.jsonl: the file holds nothing",
        "/sets/h/l.jsonl: the file holds nothing",
    ]


def test_declarations_are_read_strictly() -> None:
    """An unknown key of the set's own file, and a byte order mark before it."""
    assert "/sets/h/queryset.toml: corpse: unknown key" in [
        str(problem) for problem in read_query_set(SET, _files(b'corpse = "x"\n' + TREC)).problems
    ]
    files = MemoryFiles({SET: b"\xef\xbb\xbf" + HEAD + TREC})
    assert [str(problem) for problem in read_query_set(SET, files).problems] == [
        "/sets/h/queryset.toml: line 1: not TOML: it begins with a byte order mark (save it as UTF-8 without one)"
    ]


def test_faults_of_the_declaration_do_not_hide_those_of_its_files() -> None:
    """A wrong cut, a name that is missing, and a query without a text are told together."""
    files = MemoryFiles(
        {
            SET: HEAD.replace(b'name = "h"\n', b"") + JSONL + b"[measures]\nk = [3, 1]\n",
            SET.parent / "q.jsonl": b'{"id": "a", "text": ""}\n',
            SET.parent / "l.jsonl": b'{"query": "a", "source": "s", "grade": 2}\n',
        }
    )
    read = read_query_set(SET, files)
    assert read.queries is None
    assert [str(problem) for problem in read.problems] == [
        "/sets/h/queryset.toml: name: missing",
        "/sets/h/queryset.toml: measures: the numbers of k must ascend",
        "/sets/h/q.jsonl: line 1: text: the query is empty",
    ]


def test_the_lock_comes_back() -> None:
    """What was frozen is read; a set that wasn't says how to."""
    files = _files(TREC, t_txt=b"1\twhat?\n", r_txt=b"1 0 FR-1 1\n")
    with pytest.raises(StudyError, match=r"freeze it: pairbench corpora lock /sets/h/queryset\.toml"):
        read_query_set_lock(SET, files)
    lock = lock_of(read_query_set(SET, files).sound(), "h", "sha256:" + "0" * 64)
    files.write(SET.parent / "queryset.lock.json", lock.to_bytes())
    assert read_query_set_lock(SET, files) == lock
