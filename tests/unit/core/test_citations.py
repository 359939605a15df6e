"""Citations in answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.core.citations import ByteRange, Citation, CitedRange, Lines, Resolved, byte_range, parse_citations, resolve

FILES = {"h11/_state.py": b"one\ntwo\nthree", "notes/a.md": b"", "LICENSE": b"text\n"}


@pytest.mark.parametrize(
    ("answer", "path", "place"),
    [
        ("- h11/_state.py:3-9", "h11/_state.py", Lines(3, 9)),
        ("- h11/_state.py:3", "h11/_state.py", Lines(3, 3)),
        ("- h11/_state.py#bytes=0-480", "h11/_state.py", ByteRange(0, 480)),
        ("- /workspace/h11/_state.py:3-9", "h11/_state.py", Lines(3, 9)),
        ("* ./h11/_state.py:3-9", "h11/_state.py", Lines(3, 9)),
        ("as `h11/_state.py:3` says", "h11/_state.py", Lines(3, 3)),
        ("(see h11/_state.py:3-9).", "h11/_state.py", Lines(3, 9)),
        ("[here](h11/_state.py#L3-L9)", "h11/_state.py", Lines(3, 9)),
        ("[here](h11/_state.py#L3)", "h11/_state.py", Lines(3, 3)),
        ("**h11/_state.py:3\u20139**", "h11/_state.py", Lines(3, 9)),
        ('"LICENSE:1", and so on', "LICENSE", Lines(1, 1)),
        ("h11/_state.py:3:7: error", "h11/_state.py", Lines(3, 3)),
    ],
)
def test_every_form_of_a_citation_is_read(answer: str, path: str, place: Lines | ByteRange) -> None:
    """List items, inline mentions, links and compilers' positions all count."""
    assert parse_citations(answer) == (Citation(path, place),)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no citation here: 12",
        "h11/_state.py",
        "h11/_state.py:",
        "h11/_state.py:0",
        "h11/_state.py:9-3",
        "h11/_state.py#bytes=9-9",
        "h11/_state.py#bytes=9-3",
        "h11/_state.py:12abc",
        "h11/_state.py:1234567890",
        ":12",
        "/workspace/:12",
    ],
)
def test_what_is_not_a_place_is_not_a_citation(answer: str) -> None:
    """Lines count from one, ranges hold something, numbers are bounded, and a path is needed."""
    assert parse_citations(answer) == ()


def test_citations_are_in_order_and_each_once() -> None:
    """A place that is named twice is one citation."""
    answer = "b.py:2 and a.py:1-3.\n\n- /workspace/b.py:2\n- a.py:1\n"
    assert parse_citations(answer) == (
        Citation("b.py", Lines(2, 2)),
        Citation("a.py", Lines(1, 3)),
        Citation("a.py", Lines(1, 1)),
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (Lines(1, 1), ByteRange(0, 4)),
        (Lines(2, 3), ByteRange(4, 13)),
        (Lines(3, 3), ByteRange(8, 13)),
        (Lines(2, 999), ByteRange(4, 13)),
        (Lines(4, 4), None),
    ],
)
def test_lines_become_bytes_with_their_line_ends(lines: Lines, expected: ByteRange | None) -> None:
    """The last line may lack its end; a range that goes on after the file's end is cut there."""
    assert byte_range(lines, b"one\ntwo\nthree") == expected


def test_a_line_end_at_the_end_of_a_file_opens_no_further_line() -> None:
    """Editors show two lines for two ends of line."""
    assert byte_range(Lines(2, 2), b"one\ntwo\n") == ByteRange(4, 8)
    assert byte_range(Lines(3, 3), b"one\ntwo\n") is None


def test_an_empty_file_has_no_lines() -> None:
    """Nothing in it can be cited."""
    assert byte_range(Lines(1, 1), b"") is None


def test_only_files_of_the_workspace_are_cited() -> None:
    """Addresses and times have the form of citations and mean none."""
    found = resolve(parse_citations("127.0.0.1:6333 at 10:30, h11/_state.py:2, https://x.org:443"), FILES)
    assert found == Resolved((CitedRange("h11/_state.py", ByteRange(4, 8)),), ())


def test_places_outside_of_a_file_are_told_apart() -> None:
    """An invented line number isn't evidence, and isn't hidden either."""
    found = resolve(parse_citations("h11/_state.py:77 notes/a.md:1 LICENSE#bytes=5-9 LICENSE#bytes=4-9"), FILES)
    assert found.ranges == (CitedRange("LICENSE", ByteRange(4, 5)),)
    assert found.outside == (
        Citation("h11/_state.py", Lines(77, 77)),
        Citation("notes/a.md", Lines(1, 1)),
        Citation("LICENSE", ByteRange(5, 9)),
    )


def test_two_ways_to_name_the_same_bytes_are_one_range() -> None:
    """Repeating a citation in another form doesn't make two of it."""
    assert resolve(parse_citations("LICENSE:1 LICENSE#bytes=0-5 LICENSE:1-4"), FILES).ranges == (
        CitedRange("LICENSE", ByteRange(0, 5)),
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (ByteRange(0, 4), False),
        (ByteRange(0, 5), True),
        (ByteRange(6, 7), True),
        (ByteRange(7, 9), True),
        (ByteRange(8, 9), False),
    ],
)
def test_ranges_overlap_when_they_share_a_byte(other: ByteRange, expected: bool) -> None:  # noqa: FBT001
    """Ends are excluded, so neighbours don't overlap."""
    assert ByteRange(4, 8).overlaps(other) is expected
    assert other.overlaps(ByteRange(4, 8)) is expected


@pytest.mark.parametrize("answer", ["x" * 2_000_000, ":" * 500_000, "a:" * 500_000, "a#bytes=1" * 100_000])
def test_a_flood_without_spaces_is_read_in_linear_time(answer: str) -> None:
    """An answer can be hostile; quadratic search of these would take hours, and the suite would hang."""
    assert parse_citations(answer) == ()


@given(
    path=st.from_regex(r"[A-Za-z0-9_./-]{1,40}", fullmatch=True).filter(
        lambda path: not path.startswith(("./", "/workspace/"))
    ),
    first=st.integers(1, 10**9 - 1),
    more=st.integers(0, 1000),
    around=st.sampled_from(["{}", "- {}\n", "`{}`", "({})", "see {}, and", '"{}"', "**{}**"]),
)
def test_a_citation_that_is_written_is_read_again(path: str, first: int, more: int, around: str) -> None:
    """Reading undoes writing, for lines and for bytes, whatever stands around them."""
    last = min(first + more, 10**9 - 1)
    assert parse_citations(around.format(f"{path}:{first}-{last}")) == (Citation(path, Lines(first, last)),)
    assert parse_citations(around.format(f"{path}#bytes={first - 1}-{last}")) == (
        Citation(path, ByteRange(first - 1, last)),
    )
