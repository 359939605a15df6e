"""TREC run and qrels files."""

from __future__ import annotations

from runner.core.retrieval.trec import trec_qrels, trec_run


def test_run() -> None:
    """Ranks count up and scores down; a query without results has no line."""
    pieces = list(trec_run([("q1", ["b.md", "a%20b.md"]), ("q2", []), ("q3", ["x"])], "dense"))
    assert pieces == [b"q1 Q0 b.md 1 2 dense\nq1 Q0 a%20b.md 2 1 dense\n", b"", b"q3 Q0 x 1 1 dense\n"]


def test_qrels() -> None:
    """Grade 0 is a judgement too."""
    assert trec_qrels({"q1": {"b": 3, "a": 0}, "q2": {"ä": 1}}) == "q1 0 a 0\nq1 0 b 3\nq2 0 ä 1\n".encode()
