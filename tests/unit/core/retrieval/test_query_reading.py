"""Queries and labels of our JSONL files, and everything that can be wrong with them."""

from __future__ import annotations

import pytest

from runner.core.retrieval.lines import Complaints
from runner.core.retrieval.queries import Judgement, Query
from runner.core.retrieval.reading import read_labels, read_queries


def _queries(data: bytes) -> tuple[list[tuple[int, Query]], list[str]]:
    complaints = Complaints("q.jsonl")
    found = read_queries(data, complaints)
    return found, [str(problem) for problem in complaints.problems()]


def _labels(data: bytes) -> tuple[list[tuple[int, Judgement]], list[str]]:
    complaints = Complaints("l.jsonl")
    found = read_labels(data, complaints)
    return found, [str(problem) for problem in complaints.problems()]


def test_a_full_and_a_short_query() -> None:
    """Every key, and the defaults of those that may be left out; blank lines and CR LF don't matter."""
    data = (
        b'{"id": "q1", "text": "How?", "workspace": "harbour", "at": "2025-01-09T01:00:00+01:00", "split": "holdout", '
        b'"kind": "paraphrase", "tags": ["x"]}\r\n\n{"id": "q2", "text": "Wo?"}'
    )
    first = Query(
        id="q1",
        text="How?",
        workspace="harbour",
        at_s=1_736_380_800,
        split="holdout",
        kind="paraphrase",
        tags=("x",),
    )
    second = Query(id="q2", text="Wo?", workspace="", at_s=None, split="development", kind="unspecified", tags=())
    assert _queries(data) == ([(1, first), (3, second)], [])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"id": "a", "text": " \\n"}', "q.jsonl: line 1: text: the query is empty"),
        (
            b'{"id": "a", "text": "' + b"x" * 1_000_000 + b'"}',
            "q.jsonl: line 1: text: the query has 1000000 bytes; the limit is 65536",
        ),
        (b'{"id": "", "text": "x"}', "q.jsonl: line 1: id: the id is empty"),
        (
            b'{"id": "a b", "text": "x"}',
            "q.jsonl: line 1: id: the id 'a b' has white space, where columns of TREC files end",
        ),
        (
            b'{"id": "' + b"a" * 101 + b'", "text": "x"}',
            "q.jsonl: line 1: id: the id has 101 characters; the limit is 100",
        ),
        (b'{"id": "a", "text": "x", "extra": 1}', "q.jsonl: line 1: extra: unknown key"),
        (b'{"id": "a"}', "q.jsonl: line 1: text: missing"),
        (
            b'{"id": "a", "text": "x", "kind": "hard"}',
            "q.jsonl: line 1: kind: must be 'literal', 'paraphrase', 'no_answer' or 'unspecified'",
        ),
        (
            b'{"id": "a", "text": "x", "split": "test"}',
            "q.jsonl: line 1: split: must be 'development' or 'holdout'",
        ),
        (
            b'{"id": "a", "text": "x", "at": "yesterday"}',
            "q.jsonl: line 1: at: 'yesterday' is not an instant like 2025-01-09T00:00:00Z",
        ),
        (b'{"id": "a", "id": "b", "text": "x"}', "q.jsonl: line 1: not JSON: key 'id' stands twice"),
        (b"[" * 100_000, "q.jsonl: line 1: not JSON: values are nested too deeply"),
        (
            b'{"id": "a", "text": 1' + b"0" * 5_000 + b"}",
            "q.jsonl: line 1: not JSON: a number has too many digits",
        ),
        (b'["a"]', "q.jsonl: line 1: must be an object"),
        (b'{"id": "a", "text": "\xff"}', "q.jsonl: line 1: not UTF-8 (save the file as UTF-8)"),
        (
            b'\xef\xbb\xbf{"id": "a", "text": "x"}',
            "q.jsonl: line 1: begins with a byte order mark (save it as UTF-8 without one)",
        ),
    ],
)
def test_what_can_be_wrong_with_a_query(data: bytes, problem: str) -> None:
    """Each fault is one sentence, with the line and the key."""
    assert _queries(data)[1] == [problem]


@pytest.mark.parametrize("data", [b"{", b'{"id": "a", "text": "\\ud800"}', b'{"id": "a", "text": NaN}', b"[" * 100_000])
def test_lines_that_are_no_json(data: bytes) -> None:
    """What no JSON reader takes is said to be that, with its line."""
    found, problems = _queries(data)
    assert not found
    assert len(problems) == 1
    assert problems[0].startswith("q.jsonl: line 1: ")


def test_every_fault_is_told_at_once() -> None:
    """A fault of one line doesn't hide another's, and an id that stands twice leads to its first line."""
    data = b'{"id": "a", "text": "x"}\n{\n{"id": "a", "text": "y"}\n{"id": "b", "text": ""}\n'
    problems = _queries(data)[1]
    assert len(problems) == 3
    assert problems[0].startswith("q.jsonl: line 2: not JSON: ")
    assert problems[1:] == [
        "q.jsonl: line 3: id: the id 'a' is taken by line 1",
        "q.jsonl: line 4: text: the query is empty",
    ]


def test_a_file_of_another_kind_is_told_in_short() -> None:
    """Fifty problems, and how many more there are."""
    problems = _queries(b"no json\n" * 60)[1]
    assert len(problems) == 51
    assert problems[50] == "q.jsonl: 10 more problems of this kind of file"


def test_labels() -> None:
    """Grades 0 to 3, each with its line."""
    data = b'{"query": "q", "source": "a b.md", "grade": 3}\n{"query": "q", "source": "c.md", "grade": 0}\n'
    expected = [
        (1, Judgement(query="q", source="a b.md", grade=3)),
        (2, Judgement(query="q", source="c.md", grade=0)),
    ]
    assert _labels(data) == (expected, [])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"query": "q", "source": "a", "grade": 4}', "l.jsonl: line 1: grade: the grade 4 is not one of 0 to 3"),
        (b'{"query": "q", "source": "a", "grade": -1}', "l.jsonl: line 1: grade: the grade -1 is not one of 0 to 3"),
        (b'{"query": "q", "source": "a", "grade": 1.5}', "l.jsonl: line 1: grade: must be a valid integer"),
        (b'{"query": "q", "source": "a", "grade": true}', "l.jsonl: line 1: grade: must be a valid integer"),
        (b'{"query": "q", "grade": 1}', "l.jsonl: line 1: source: missing"),
        (
            b'{"query": "q", "source": "a", "grade": 1}\n{"query": "q", "source": "a", "grade": 2}',
            "l.jsonl: line 2: line 1 judges 'a' for 'q' already",
        ),
    ],
)
def test_what_can_be_wrong_with_a_label(data: bytes, problem: str) -> None:
    """Each fault is one sentence, with the line and the key."""
    assert _labels(data)[1] == [problem]
