"""Reading lines of a stream, and figures that a client prints."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.events import Corrupt, count, json_objects, microusd, plain_text
from runner.core.quantities import Measured, Quantity, Unavailable


def test_lines_keep_their_numbers() -> None:
    """Blank lines say nothing and are counted; a list gives its objects under its own number."""
    stream = b'{"a":1}\n\n  \n[{"b":2},3]\n{"c":4}'
    assert list(json_objects(stream)) == [
        (1, {"a": 1}),
        (4, {"b": 2}),
        (4, Corrupt(4, "not a JSON object")),
        (5, {"c": 4}),
    ]


def test_an_empty_stream_holds_nothing() -> None:
    """No event and no damage."""
    assert list(json_objects(b"")) == []


def test_a_torn_last_line_says_so() -> None:
    """A client that was killed stops in the middle of a line."""
    assert list(json_objects(b'{"a":1}\n{"b')) == [(1, {"a": 1}), (2, Corrupt(2, "the stream ends within it"))]


@pytest.mark.parametrize(
    ("value", "quantity"),
    [
        (0, Measured(0)),
        (2**53 - 1, Measured(2**53 - 1)),
        (2**53, Unavailable("n is out of range")),
        (-1, Unavailable("n is out of range")),
        (None, Unavailable("n is missing")),
        (True, Unavailable("n is not an integer")),
        (1.0, Unavailable("n is not an integer")),
        ("1", Unavailable("n is not an integer")),
    ],
)
def test_a_count_is_an_integer_that_can_be_hashed(value: Any, quantity: Quantity) -> None:
    """Anything else is unavailable, with what is wrong with it."""
    assert count(value, "n") == quantity


@pytest.mark.parametrize(
    ("value", "quantity"),
    [
        (0, Measured(0)),
        (0.034155000000000005, Measured(34155)),
        (0.017077500000000002, Measured(17078)),
        (0.0000005, Measured(0)),
        (0.0000015, Measured(2)),
        (4.96, Measured(4_960_000)),
        (3, Measured(3_000_000)),
        (1e300, Unavailable("c is out of range")),
        (float("inf"), Unavailable("c is out of range")),
        (float("nan"), Unavailable("c is out of range")),
        (-0.5, Unavailable("c is out of range")),
        (None, Unavailable("c is missing")),
        (True, Unavailable("c is not a number")),
        ("0.5", Unavailable("c is not a number")),
    ],
)
def test_dollars_become_whole_micro_dollars(value: Any, quantity: Quantity) -> None:
    """The number that was printed is rounded once, ties to even."""
    assert microusd(value, "c") == quantity


def test_text_can_always_be_encoded() -> None:
    """Lone surrogates are replaced, all else is left alone."""
    assert plain_text("a·b\U0001f600") == "a·b\U0001f600"
    assert plain_text("\ud800").encode() == "\ufffd\ufffd\ufffd".encode()
