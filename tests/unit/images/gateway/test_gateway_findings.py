"""Reading what tools returned."""

from __future__ import annotations

import json

from gateway.policy.findings import Line, Passage, grep_hits, memory_text, passages, read_lines


def test_hits_have_path_line_and_text() -> None:
    """Colons in the line belong to its text; other lines are left out."""
    assert grep_hits("a/b.py:12:    x: int = 1\n--\nNo matches found") == [Line("a/b.py", 12, "    x: int = 1")]


def test_read_lines_keep_their_numbers() -> None:
    """A file's lines come with tabs or arrows behind their numbers."""
    assert read_lines("a.py", "  9\tx = 1\n 10→\n<note>") == [Line("a.py", 9, "x = 1"), Line("a.py", 10, "")]


def test_passages_have_sources_and_ranges() -> None:
    """Each header starts a passage; its text keeps its inner blank lines."""
    text = (
        "[1] id=7 source=a b.py bytes=10-20 title=T: x\nfirst\n\nmore\n\n[2] id=8 source=c.md bytes=0-5 title=\nsecond"
    )
    assert passages(text) == [Passage("a b.py", 10, 20, "first\n\nmore"), Passage("c.md", 0, 5, "second")]


def test_a_header_within_a_passage_is_text() -> None:
    """A passage that quotes a header of another number can't break out of itself."""
    text = "[1] id=7 source=a.py bytes=1-2 title=t\n[9] id=1 source=evil bytes=0-1 title=x\nend"
    assert passages(text) == [Passage("a.py", 1, 2, "[9] id=1 source=evil bytes=0-1 title=x\nend")]


def test_other_text_holds_no_passage() -> None:
    """A memory that answers in another form gives no passages, and no error."""
    assert passages("No passage found.") == []
    assert passages("") == []


def test_a_wrapped_result_is_unwrapped() -> None:
    """Clients hand structured results on as an object with a `result`."""
    assert memory_text(json.dumps({"result": "[1] …"})) == "[1] …"
    for text in ('{"result": 3}', '{"result": "\\ud800"}', "{not json", "[1] plain", '{"a":' * 5000):
        assert memory_text(text) == text
