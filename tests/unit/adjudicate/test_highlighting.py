"""Numbers, negations and names are found by the same rules in every text."""

from __future__ import annotations

import pytest

from runner.adjudicate.highlighting import Names, names_of, segments

NAMES = names_of(
    ("We ask Kestrel in March.", "The queue may go to the Harrier, and will.", "It is Ben's."),
    ("The Queue of Merlin is full.", "Osprey stores it."),
    ("ana", "will", "the release bot"),
)


def marks(text: str, names: Names = NAMES) -> list[tuple[str, str, str]]:
    found = segments(text, names)
    assert "".join(part.text for part in found) == text
    return [(part.text, part.kind, part.key) for part in found if part.kind]


def marked(text: str, kind: str, names: Names = NAMES) -> list[str]:
    return [part for part, found, _ in marks(text, names) if found == kind]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nine cats, 9 dogs.", [("Nine", "number", "9"), ("9", "number", "9")]),
        ("It starts at 01:30 or 3.11, 50% of 1,200.", [("01:30", "number", "01:30"), ("3.11", "number", "3.11"), ("50%", "number", "50%"), ("1,200", "number", "1200")]),
        ("1200 is 1,200, and -5 is \u22125.", [("1200", "number", "1200"), ("1,200", "number", "1200"), ("-5", "number", "-5"), ("\u22125", "number", "-5")]),
        ("on 2026-01-02, \u0663 or \u00bd", [("2026-01-02", "number", "2026-01-02"), ("\u0663", "number", "3"), ("\u00bd", "number", "1/2")]),
        ("Twenty-five is 25, sixty is 60.", [("Twenty-five", "number", "25"), ("25", "number", "25"), ("sixty", "number", "60"), ("60", "number", "60")]),
        ("It doesn't, can\u2019t and never will.", [("doesn't", "negation", "not"), ("can\u2019t", "negation", "not"), ("never", "negation", "not")]),
        ("No one knows, no-one asks.", [("No one", "negation", "not"), ("no-one", "negation", "not")]),
        ("The disk of Harrier fills up on Fridays.", [("Harrier", "name", "harrier"), ("Fridays", "name", "friday")]),
        ("Kestrel's disk is full. Nobody knows.", [("Kestrel's", "name", "kestrel"), ("Nobody", "negation", "not")]),
        ("The nothing is plain.", [("nothing", "negation", "not")]),
        ("twice once", [("twice", "number", "2 times"), ("once", "number", "1 time")]),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_marked(text: str, expected: list[tuple[str, str, str]]) -> None:
    """And how alike two marks are: by their keys."""
    assert marks(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana turns down the change.", ["Ana"]),
        ("Harrier stores it. Kestrel doesn't.", ["Harrier", "Kestrel"]),
        ("Merlin's queue is full.", ["Merlin's"]),
        ("the mails of kestrel and ana", ["kestrel", "ana"]),
        ("Mondays are slow, and so is February.", ["Mondays", "February"]),
        ("On GitHub. DNS fails. NumPy is old.", ["GitHub", "DNS", "NumPy"]),
        ("Will turns it down.", ["Will"]),
    ],
)
def test_a_name_is_marked_wherever_it_stands(text: str, expected: list[str]) -> None:
    """At the beginning of a sentence as well, with a capital or without one."""
    assert marked(text, "name") == expected


@pytest.mark.parametrize(
    "text",
    [
        "The queue is full. A test ran. I waited, as I said.",
        "The Queue Of Somebody Go.",
        "It will go.",
        "Deployments wait. Releases too. Queue and go.",
        "The bot of a release. Release it.",
    ],
)
def test_other_words_are_no_names(text: str) -> None:
    """A capital that begins a sentence, or one that a system gives to a word that everybody else writes small."""
    assert marked(text, "name", names_of((*GIVEN, "the queue of somebody may go to a release"), (), PEOPLE)) == []


GIVEN = ("We ask Kestrel in March.", "A queue may go to Harrier.")
PEOPLE = ("ana", "the release bot")


def test_a_word_is_marked_alike_in_every_text() -> None:
    """A name that a single candidate has is one in the other candidates and in what they are held against."""
    names = names_of(("The queue is full.",), ("It is of Osprey.", "Osprey stores it."), ())
    assert marked("Osprey stores it.", "name", names) == ["Osprey"]
    assert marked("The queue is of Osprey.", "name", names) == ["Osprey"]


def test_a_name_that_only_begins_sentences_stays_unmarked() -> None:
    """It can't be told from another word; better none than every second first word."""
    assert marked("Zoltan turns it down.", "name") == []
    assert marked("It is turned down by Zoltan.", "name") == ["Zoltan"]


def test_what_was_spelled_out_is_no_word() -> None:
    """A line's end and a character that can't be seen join nothing to the word after them."""
    assert marks(r"full.\nQueue \u200b9 \x1b[31m \u202eAna") == [
        ("9", "number", "9"),
        ("31", "number", "31"),
        ("Ana", "name", "ana"),
    ]


def test_letters_with_marks_are_one_word() -> None:
    """However they are composed."""
    assert marks("We ask Zoe\u0308.") == [("Zoe\u0308", "name", "zo\u00eb")]
    assert marks("We ask Zo\u00eb.") == [("Zo\u00eb", "name", "zo\u00eb")]


def test_a_word_that_systems_write_small_is_a_name_only_with_a_capital() -> None:
    """`Go` is a language, and `go` is none."""
    names = names_of(("It is written in Go.",), ("They go there.",), ())
    assert marked("Go is old. It is in Go. We go.", "name", names) == ["Go", "Go"]
