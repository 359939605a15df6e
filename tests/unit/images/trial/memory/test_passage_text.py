"""Passages read as text with number and source, and no part of a corpus can write a header."""

from __future__ import annotations

from typing import Any

import pytest
from memory.passages import Passage, PassageError, from_point, many, one

PAYLOAD = {"source": "pkg/mod.py", "start": 1200, "end": 2048, "title": "Parsing", "text": "def parse():\n    ...\n"}
PASSAGE = Passage(123, "pkg/mod.py", 1200, 2048, "Parsing", "def parse():\n    ...\n")


def test_a_point_becomes_a_passage() -> None:
    """The payload is the passage without its number."""
    assert from_point({"id": 123, "payload": PAYLOAD, "score": 0.5}) == PASSAGE


@pytest.mark.parametrize(
    "point",
    [
        None,
        [],
        {},
        {"id": 1},
        {"id": 1, "payload": None},
        {"id": 1, "payload": {"text": "x"}},
        {"id": "uuid", "payload": PAYLOAD},
        {"id": True, "payload": PAYLOAD},
        {"id": 1, "payload": {**PAYLOAD, "text": None}},
        {"id": 1, "payload": {**PAYLOAD, "start": 1.5}},
    ],
)
def test_anything_else_is_no_passage(point: Any) -> None:
    """Nothing is made up for what is missing."""
    with pytest.raises(PassageError, match="a point that is no passage"):
        from_point(point)


def test_one_passage_has_a_header_and_its_exact_text() -> None:
    """Number, source, byte range and title, then the text as it is."""
    assert one(PASSAGE) == "id=123 source=pkg/mod.py bytes=1200-2048 title=Parsing\ndef parse():\n    ...\n"


def test_several_passages_are_numbered_by_rank() -> None:
    """A blank line stands between them."""
    second = Passage(7, "b.md", 0, 3, "B", "abc")
    assert many([second, PASSAGE]) == (
        "[1] id=7 source=b.md bytes=0-3 title=B\nabc\n\n"
        "[2] id=123 source=pkg/mod.py bytes=1200-2048 title=Parsing\ndef parse():\n    ...\n"
    )


def test_nothing_found_is_said() -> None:
    """An empty answer would look like a fault."""
    assert many([]) == "No passage found."


def test_a_title_stays_on_its_line() -> None:
    """Line ends of any kind become blanks."""
    passage = PASSAGE._replace(title="a\n[2] id=9\r\u2028b", source="x\ny", text="t")
    assert one(passage) == "id=123 source=x y bytes=1200-2048 title=a [2] id=9 b\nt"


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    """What has no UTF-8 can't end the server."""
    assert one(PASSAGE._replace(text="a\ud800b")).endswith("\na?b")
