"""Numbers, negations and names are found by the same rules in every text."""

from __future__ import annotations

import pytest

from runner.adjudicate.highlighting import names_in, segments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nine cats, 9 dogs.", [("Nine", "number", "9"), ("9", "number", "9")]),
        ("It starts at 01:30 or 3.11, 50% of 1,200.", [("01:30", "number", "01:30"), ("3.11", "number", "3.11"), ("50%", "number", "50%"), ("1,200", "number", "1,200")]),
        ("It doesn't, can\u2019t and never will.", [("doesn't", "negation", "not"), ("can\u2019t", "negation", "not"), ("never", "negation", "not")]),
        ("The disk of Harrier fills up on Fridays.", [("Harrier", "name", "harrier"), ("Fridays", "name", "fridays")]),
        ("Kestrel's disk is full. Nobody knows.", [("Kestrel's", "name", "kestrel"), ("Nobody", "negation", "not")]),
        ("The nothing is plain.", [("nothing", "negation", "not")]),
        ("twice once", [("twice", "number", "2 times"), ("once", "number", "1 time")]),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_marked(text: str, expected: list[tuple[str, str, str]]) -> None:
    """And how alike two marks are: by their keys."""
    found = segments(text, frozenset({"kestrel"}))
    assert [(part.text, part.kind, part.key) for part in found if part.kind] == expected
    assert "".join(part.text for part in found) == text


def test_names_are_learned_within_sentences() -> None:
    """A capital that only begins a sentence is no name."""
    assert names_in(("The disk of Harrier is full. It is Ben's.", "We ask Ana.")) == {"harrier", "ben's", "ana"}
