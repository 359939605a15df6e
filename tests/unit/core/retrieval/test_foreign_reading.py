"""TREC topics and qrels, and the files of BEIR folders."""

from __future__ import annotations

from typing import Literal

import pytest

from runner.core.retrieval.foreign import read_beir_qrels, read_beir_queries, read_trec_qrels, read_trec_topics
from runner.core.retrieval.lines import Complaints

TOPICS = b"""<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in
international criminal activity.

<narr> Narrative:
A relevant document must as a minimum identify the organization.
</top>

<TOP>
<num>302</num>
<title>Poliomyelitis and Post-Polio</title><desc>Is it under control?</desc>
</TOP>
"""


def _topics(
    data: bytes, field: Literal["title", "description"] = "title"
) -> tuple[list[tuple[int, str, str]], list[str]]:
    complaints = Complaints("topics")
    found = read_trec_topics(data, field, complaints)
    return [(line, query.id, query.text) for line, query in found], [str(one) for one in complaints.problems()]


def test_topics_in_blocks() -> None:
    """Titles, with and without closing tags and the words before the value; lines are those of the blocks."""
    expected = [(1, "301", "International Organized Crime"), (13, "302", "Poliomyelitis and Post-Polio")]
    assert _topics(TOPICS) == (expected, [])
    assert _topics(TOPICS.replace(b"\n", b"\r\n")) == (expected, [])


def test_descriptions_of_topics() -> None:
    """The description may be what is asked, its lines joined."""
    found, _ = _topics(TOPICS, "description")
    assert [text for _, _, text in found] == [
        "Identify organizations that participate in international criminal activity.",
        "Is it under control?",
    ]


def test_topics_a_line() -> None:
    """An id, a tab, a text; further tabs belong to the text."""
    assert _topics(b"1\twhat is a\tb\n2\tc\n") == ([(1, "1", "what is a\tb"), (2, "2", "c")], [])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"<top>\n<title> x\n</top>", "topics: line 1: the topic has no <num>"),
        (b"\n<top>\n<num> 1\n<desc> x\n</top>", "topics: line 2: the topic has no <title>"),
        (b"<top>\n<num> 1\n<title> x\n<top>\n<num> 1\n<title> y", "topics: line 4: id: the id '1' is taken by line 1"),
        (b"1 x", "topics: line 1: neither a <top> block nor an id, a tab and a text"),
        (b"1\t ", "topics: line 1: text: the query is empty"),
        (b"<top>\n<num> 1\n<title> caf\xe9\n</top>", "topics: line 3: not UTF-8 (save the file as UTF-8)"),
    ],
)
def test_what_can_be_wrong_with_topics(data: bytes, problem: str) -> None:
    """Each fault has the line on which its topic begins."""
    assert problem in _topics(data)[1]


def test_qrels() -> None:
    """Four columns, whatever white space is between; a grade below 0 is worth nothing."""
    complaints = Complaints("qrels")
    found = read_trec_qrels(b"301 0 FBIS3-1 1\n301\tQ0\tFBIS3-2  -2\r\n\n302 0 x 4\n", complaints)
    assert [(line, label.query, label.source, label.grade) for line, label in found] == [
        (1, "301", "FBIS3-1", 1),
        (2, "301", "FBIS3-2", 0),
        (4, "302", "x", 4),
    ]
    assert complaints.problems() == ()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"301 FBIS3-1 1", "qrels: line 1: 3 columns, not 4: query, iteration, document and grade"),
        (b"301 0 a b.md 1", "qrels: line 1: 5 columns, not 4: query, iteration, document and grade"),
        (b"301 0 a 1.0", "qrels: line 1: grade: the grade '1.0' is not a whole number"),
        (b"301 0 a 101", "qrels: line 1: grade: the grade 101 is not one of 0 to 100"),
        (b"301 0 a 1\n301 0 a 0", "qrels: line 2: line 1 judges 'a' for '301' already"),
    ],
)
def test_what_can_be_wrong_with_qrels(data: bytes, problem: str) -> None:
    """Each fault has its line."""
    complaints = Complaints("qrels")
    read_trec_qrels(data, complaints)
    assert [str(one) for one in complaints.problems()] == [problem]


def test_beir_files() -> None:
    """Foreign keys of a query are passed over; the header of the qrels is no judgement, and ids may have spaces."""
    complaints = Complaints("beir")
    queries = read_beir_queries(b'{"_id": "PLAIN-2", "text": "x", "metadata": {"url": 1}}\n', "holdout", complaints)
    assert [(line, query.id, query.text, query.split) for line, query in queries] == [(1, "PLAIN-2", "x", "holdout")]
    labels = read_beir_qrels(b"query-id\tcorpus-id\tscore\nPLAIN-2\tMED 10\t2\n", complaints)
    assert [(line, label.query, label.source, label.grade) for line, label in labels] == [(2, "PLAIN-2", "MED 10", 2)]
    assert complaints.problems() == ()


def test_what_can_be_wrong_with_a_beir_folder() -> None:
    """A query without an id and a judgement without a grade have their lines."""
    complaints = Complaints("beir")
    read_beir_queries(b'{"id": "1", "text": "x"}\n', "holdout", complaints)
    read_beir_qrels(b"1\ta\n", complaints)
    assert [str(one) for one in complaints.problems()] == [
        "beir: line 1: _id: missing",
        "beir: line 1: 2 columns, not 3: query-id, corpus-id and score",
    ]
