"""Counts of what an answer shows of its labels."""

from __future__ import annotations

import pytest

from runner.core.study import CheckLabel, Label, SourceLabel
from runner.measure.checks import AnswerCounts, Count, count, folded, held_checks

FILES = {"a.py": b"0123456789\n" * 10, "notes/b.md": b"0123456789\n" * 10, "c.py": b"x\n"}

LABEL = Label(
    task="one",
    sources=(
        SourceLabel(path="a.py", start=0, end=22, grade=2, anchor="01234567"),
        SourceLabel(path="a.py", start=55, end=66, grade=1, anchor="01234567"),
        SourceLabel(path="notes/b.md", start=11, end=22, grade=2, anchor="01234567"),
    ),
    checks=(
        CheckLabel(id="names-the-error", any=("LocalProtocolError", "local protocol error")),
        CheckLabel(id="says-130", any=("130 seconds",)),
    ),
)


def test_a_full_answer_shows_everything() -> None:
    """Each source is cited, each check's words are there."""
    answer = "After 130\n  seconds, a LOCALPROTOCOLERROR.\n- a.py:1-2\n- a.py:6\n- /workspace/notes/b.md#bytes=21-22\n"
    assert count(answer, LABEL, FILES) == AnswerCounts(
        sources=Count(3, 3),
        grade_2_sources=Count(2, 2),
        files=Count(2, 2),
        cited_ranges=Count(3, 3),
        outside=0,
        coverage=Count(2, 2),
        missed_sources=(),
        missed_checks=(),
    )


def test_a_partial_answer_says_what_is_missed() -> None:
    """The right file at the wrong place finds the file and not the source."""
    answer = "130 seconds. See a.py:5-6, notes/b.md:9, c.py:1 and c.py:50, at 10:30."
    assert count(answer, LABEL, FILES) == AnswerCounts(
        sources=Count(1, 3),
        grade_2_sources=Count(0, 2),
        files=Count(2, 2),
        cited_ranges=Count(1, 3),
        outside=1,
        coverage=Count(1, 2),
        missed_sources=("a.py#bytes=0-22", "notes/b.md#bytes=11-22"),
        missed_checks=("names-the-error",),
    )


def test_an_empty_answer_keeps_every_denominator() -> None:
    """Nothing found is zero of what there is."""
    assert count("", LABEL, FILES) == AnswerCounts(
        sources=Count(0, 3),
        grade_2_sources=Count(0, 2),
        files=Count(0, 2),
        cited_ranges=Count(0, 0),
        outside=0,
        coverage=Count(0, 2),
        missed_sources=("a.py#bytes=0-22", "a.py#bytes=55-66", "notes/b.md#bytes=11-22"),
        missed_checks=("names-the-error", "says-130"),
    )


def test_one_wide_citation_finds_every_source_that_it_overlaps() -> None:
    """Recall alone rewards citing a whole file; the number of cited ranges stands beside it."""
    found = count("- a.py:1-10", LABEL, FILES)
    assert found.sources == Count(2, 3)
    assert found.cited_ranges == Count(1, 1)


def test_neighbouring_bytes_are_not_found() -> None:
    """A source ends before its end."""
    assert count("a.py#bytes=22-55", LABEL, FILES).sources == Count(0, 3)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("it raises local\n\tprotocol   error", ("names-the-error",)),
        ("LocalProtocolErrors", ("names-the-error",)),
        ("Local-Protocol-Error", ()),
        ("130\u00a0seconds", ("says-130",)),
        ("130seconds", ()),
    ],
)
def test_checks_fold_case_and_white_space_and_nothing_else(answer: str, expected: tuple[str, ...]) -> None:
    """A check is a substring, not a judgement."""
    assert held_checks(answer, LABEL.checks) == expected


def test_case_folding_goes_beyond_lower_case() -> None:
    """Folding is Unicode's, so that a sharp s meets two."""
    assert folded("  STRASSE \r\n Straße ") == "strasse strasse"
