"""Passages that a file gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.core.boundaries import Boundaries
from runner.core.errors import StudyError
from runner.core.given import LONGEST_PASSAGE_BYTES, given_passages
from runner.core.passages import Passage

FILES = {"b.md": "Käse.\nBrot.\n".encode(), "a.md": b"Alpha.", "raw": b"\xff\xfe\x00x", "big": b"x" * 1_000_000}


def lines(*given: Any) -> bytes:
    return b"".join((item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n" for item in given)


def problems(*given: Any) -> list[str]:
    with pytest.raises(StudyError) as caught:
        given_passages(lines(*given), FILES, {}, "p.jsonl")
    return [str(problem) for problem in caught.value.problems]


def span(source: str, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"source": source, "start": start, "end": end, **more}


def test_passages_are_numbered_by_path_and_position() -> None:
    """Whatever the order of the lines; a title is the path where none is given, and always one line."""
    data = lines(span("b.md", 7, 12), span("b.md", 0, 7, title="On\ncheese"), b"", span("a.md", 0, 6))
    assert given_passages(data, FILES, {}, "p.jsonl") == (
        Passage(1, "a.md", 0, 6, "a.md", "Alpha."),
        Passage(2, "b.md", 0, 7, "On cheese", "Käse.\n"),
        Passage(3, "b.md", 7, 12, "b.md", "Brot."),
    )


def test_a_line_goes_before_its_scope() -> None:
    """Key by key."""
    scopes = {"a.md": Boundaries("harbour", "deleted", 5, None)}
    data = lines(span("a.md", 0, 3), span("a.md", 3, 6, workspace="", expires="1970-01-01T00:00:09Z"))
    first, second = given_passages(data, FILES, scopes, "p.jsonl")
    assert (first.workspace, first.status, first.known_from_s, first.expires_s) == ("harbour", "deleted", 5, None)
    assert (second.workspace, second.status, second.known_from_s, second.expires_s) == ("", "deleted", 5, 9)


WRONG: dict[str, tuple[Any, str]] = {
    "unknown source": (span("c.md", 0, 1), "line 2: the corpus has no file c.md"),
    "nothing": (span("a.md", 3, 3), "line 2: start must be below end"),
    "beyond the end": (span("a.md", 3, 7), "line 2: a.md has 6 bytes, and the passage ends at 7"),
    "begins in a character": (span("b.md", 2, 7), "line 2: its range cuts a character of b.md"),
    "ends in a character": (span("b.md", 0, 2), "line 2: its range cuts a character of b.md"),
    "not UTF-8": (span("raw", 0, 1), "line 2: its bytes of raw are not UTF-8 text"),
    "NUL": (span("raw", 2, 4), "line 2: its bytes of raw are not UTF-8 text"),
    "blank": (span("b.md", 6, 7), "line 2: it is blank"),
    "a megabyte": (span("big", 0, 1_000_000), "line 2: it has 1000000 bytes; the limit is 65536"),
    "overlap": (span("a.md", 2, 4), "line 2: it overlaps with the passage of line 1 in a.md"),
    "twice": (span("a.md", 0, 3), "line 2: it overlaps with the passage of line 1 in a.md"),
    "no JSON": (b"{", "line 2: not JSON"),
    "no UTF-8": (b'{"source": "\xff"}', "line 2: not JSON"),
    "no object": ([], "line 2: (the line): Input should be a valid dictionary"),
    "a key too many": (span("a.md", 3, 6, id=4), "line 2: id: Extra inputs are not permitted"),
    "a status": (span("a.md", 3, 6, status="gone"), "line 2: status: Input should be 'live', 'deleted' or 'expired'"),
    "an instant": (span("a.md", 3, 6, expires="soon"), "line 2: expires: 'soon' is not an instant"),
    "over too early": (
        span("a.md", 3, 6, expires="1970-01-01T00:00:01Z", known_from="1970-01-01T00:00:01Z"),
        "line 2: it expires before it is known",
    ),
}


@pytest.mark.parametrize(("wrong", "message"), WRONG.values(), ids=WRONG)
def test_what_can_not_be_a_passage_is_refused(wrong: Any, message: str) -> None:
    """By its line, with one message."""
    (found,) = problems(span("a.md", 0, 3), wrong)
    assert found.startswith(f"p.jsonl: {message}")


def test_everything_that_is_wrong_is_told_in_order() -> None:
    """A fault of one line hides none of another."""
    found = problems(*(wrong for wrong, _ in WRONG.values() if wrong != []))
    assert len(found) >= len(WRONG) - 1
    numbers = [int(line.removeprefix("p.jsonl: line ").partition(":")[0]) for line in found]
    assert numbers == sorted(numbers)


def test_a_passage_of_the_longest_size_is_taken() -> None:
    """The limit itself is allowed."""
    (found,) = given_passages(lines(span("big", 0, LONGEST_PASSAGE_BYTES)), FILES, {}, "p.jsonl")
    assert len(found.text) == 65_536


def test_a_file_that_gives_nothing_is_refused() -> None:
    """A corpus without passages can't be searched."""
    assert problems() == ["p.jsonl: it gives no passage"]
