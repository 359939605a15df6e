"""The lines of two documents find each other, however far they are apart, and few of them are held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core.canonical import canonical_line
from runner.core.errors import EvidenceError
from runner.core.field_comparison import MISSING
from runner.pipeline.pairing import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def lines(*names: str) -> Iterator[bytes]:
    return (canonical_line({"trial": name}) for name in names)


def paired(a: Iterable[bytes], b: Iterable[bytes]) -> tuple[list[tuple[str, int, str]], tuple[int, int] | None]:
    pairs = Pairs(("trial",), "records.jsonl")
    found = [
        (pair.name, pair.place, "B" if pair.a is MISSING else "A" if pair.b is MISSING else "")
        for pair in pairs.of(a, b)
    ]
    return found, pairs.misplaced


def test_equal_documents_go_in_step() -> None:
    """Line by line."""
    assert paired(lines("x", "y"), lines("x", "y")) == ([("x", 1, ""), ("y", 2, "")], None)


def test_a_line_that_one_lacks_moves_no_other() -> None:
    """It comes at the end, with its number in the run that has it."""
    found = [("x", 1, ""), ("z", 3, ""), ("y", 2, "A")]
    assert paired(lines("x", "y", "z"), lines("x", "z")) == (found, None)
    found = [("x", 1, ""), ("z", 2, ""), ("y", 2, "B")]
    assert paired(lines("x", "z"), lines("x", "y", "z")) == (found, None)


def test_a_line_that_stands_twice_has_one_partner() -> None:
    """The first."""
    assert paired(lines("x", "x"), lines("x")) == ([("x", 1, ""), ("x", 2, "A")], None)


def test_where_the_order_parts_is_told() -> None:
    """The first line of A whose partner comes too early, and where that stands."""
    found, misplaced = paired(lines("x", "y", "z"), lines("y", "x", "z"))
    assert {name for name, _, only_in in found if not only_in} == {"x", "y", "z"}
    assert misplaced == (2, 1)
    assert paired(lines("lost", "x", "y"), lines("x", "more", "y"))[1] is None


def test_no_more_lines_are_read_ahead_than_the_two_are_apart() -> None:
    """Of any number of lines, two."""
    read = [0, 0]

    def counted(side: int) -> Iterator[bytes]:
        for number in range(1000):
            read[side] += 1
            yield canonical_line({"trial": str(number)})

    pairs = Pairs(("trial",), "records.jsonl").of(counted(0), counted(1))
    for done, _ in enumerate(pairs, 1):
        assert max(read) <= done + 1


@pytest.mark.parametrize("torn", [b'{"trial":"x"}', b"{\n", b'{"a":1,"a":2}\n'])
def test_a_line_that_is_none_is_an_error(torn: bytes) -> None:
    """A torn one, one that is no JSON, and one that names a key twice."""
    with pytest.raises(EvidenceError, match=r"records\.jsonl"):
        paired([torn], lines("x"))
