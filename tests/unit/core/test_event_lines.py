"""Lines are read together where that says the same as reading each by itself."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from runner.core.events import Corrupt, json_lines

GOOD = [b'{"a":1}', b'{"b":{"c":[1,2]}}', b'[{"a":1},{"a":2}]', b"", b"  ", b"7", b'{"text":"a: b"}']
ODD = [
    *(b'{"a":1,"a":2}', b'{"n":18446744073709551616}', b"18446744073709551616", b'{"a', b"}", b"1],[2", b"nul"),
    *(b'{"\\u003a":1}', b'{"x":"\\ud800"}', b'{"a":NaN}', b"[1", b"2]"),
]


@given(st.lists(st.sampled_from(GOOD + ODD), max_size=130), st.booleans())
def test_a_line_means_the_same_whatever_stands_beside_it(lines: list[bytes], ended: bool) -> None:  # noqa: FBT001
    """Its number, its object, the bytes that hold it, and what is wrong with it; of the last line, that it is torn."""
    stream = b"\n".join(lines) + (b"\n" if ended else b"")
    expected = []
    for number, line in enumerate(stream.split(b"\n"), 1):
        last = number == stream.count(b"\n") + 1
        for _, written, item in json_lines(line if last else line + b"\n"):
            told = Corrupt(number, item.reason) if isinstance(item, Corrupt) else item
            expected.append((number, written, told))
    assert list(json_lines(stream)) == expected


def test_lines_that_only_together_are_json() -> None:
    """Each of them is damaged."""
    found = list(json_lines(b"[1\n2]\n1],[2\n"))
    assert [(number, type(item)) for number, _, item in found] == [(1, Corrupt), (2, Corrupt), (3, Corrupt)]


def test_an_integer_beyond_64_bits_stays_one() -> None:
    """In the first line of several, and at the beginning of a later one."""
    stream = b'{"n":18446744073709551616}\n' + json.dumps({"n": -(2**64)}).encode() + b"\n"
    assert [item for _, _, item in json_lines(stream)] == [{"n": 2**64}, {"n": -(2**64)}]
