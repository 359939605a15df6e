"""YAML without surprises: values mean what they look like, and what could mean two things is refused."""

from __future__ import annotations

import pytest

from runner.core.errors import StudyError
from runner.core.plain_yaml import parse_yaml


def test_plain_values_are_what_they_look_like() -> None:
    """Texts, whole numbers, truth values, null, lists and tables."""
    text = b'a: {b: [1, -2, 0, true, null, "no", x y, \'1.5\', ~]}\nc: |\n  two\n  lines\n"d e": ""\n'
    assert parse_yaml(text, "x.yaml") == {
        "a": {"b": [1, -2, 0, True, None, "no", "x y", "1.5", None]},
        "c": "two\nlines\n",
        "d e": "",
    }


def test_an_empty_file_is_null() -> None:
    """The reader of the document says what is missing."""
    assert parse_yaml(b"# nothing\n", "x.yaml") is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no", "x.yaml: a.b: line 2: no may be read in two ways (write true or false, or put it in quotes)"),
        ("On", "x.yaml: a.b: line 2: On may be read in two ways (write true or false, or put it in quotes)"),
        ("010", "x.yaml: a.b: line 2: 010 may be read in two ways (put it in quotes, or write a plain number)"),
        ("1:30", "x.yaml: a.b: line 2: 1:30 may be read in two ways (put it in quotes, or write a plain number)"),
        ("0x1f", "x.yaml: a.b: line 2: 0x1f may be read in two ways (put it in quotes, or write a plain number)"),
        ("1_000", "x.yaml: a.b: line 2: 1_000 may be read in two ways (put it in quotes, or write a plain number)"),
        ("-0", "x.yaml: a.b: line 2: -0 may be read in two ways (put it in quotes, or write a plain number)"),
        (
            "2026-01-02",
            "x.yaml: a.b: line 2: 2026-01-02 may be read in two ways (put it in quotes, or write a plain number)",
        ),
        ("1.5", "x.yaml: a.b: line 2: 1.5 is no whole number (put it in quotes, or use a smaller unit)"),
        (".nan", "x.yaml: a.b: line 2: .nan is no whole number (put it in quotes, or use a smaller unit)"),
        ("", "x.yaml: a.b: line 2: a key without a value (leave it out, or write null)"),
        ("!!binary YQ==", "x.yaml: a.b: line 2: a tag binary (leave it out)"),
        ("!mine x", "x.yaml: a.b: line 2: a tag !mine (leave it out)"),
        ("!!set {x}", "x.yaml: a.b: line 2: a tag tag:yaml.org,2002:set (leave it out)"),
        ("{1: x}", "x.yaml: a.b.1: line 2: a key that is no text (put it in quotes)"),
        ("{c: 1, c: 2}", "x.yaml: a.b.c: line 2: a key that stands twice (leave one out)"),
        ("{[c]: 1}", "x.yaml: a.b: line 2: a key that is no text (put it in quotes)"),
    ],
)
def test_what_can_be_misread_is_refused(value: str, message: str) -> None:
    """Document, key and line are named, and what to write instead."""
    with pytest.raises(StudyError) as caught:
        parse_yaml(f"a:\n  b: {value}\n".encode(), "x.yaml")
    assert str(caught.value) == message


def test_aliases_are_refused_before_they_multiply() -> None:
    """Ten lines that stand for a billion values are ten lines."""
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(StudyError) as caught:
        parse_yaml("\n".join(lines).encode(), "x.yaml")
    assert len(caught.value.problems) == 90
    assert str(caught.value.problems[0]) == "x.yaml: a1[0]: line 1: an alias (write it out)"


def test_an_alias_of_itself_is_refused() -> None:
    """A list that holds itself ends nowhere."""
    with pytest.raises(StudyError, match="an alias"):
        parse_yaml(b"a: &a [*a]", "x.yaml")


@pytest.mark.parametrize(
    "data",
    [b"a: [", b"\xff", b"a: \x00", b"--- 1\n--- 2\n", b"[" * 100_000, b"a: b: c", b"<<: {a: 1}"],
    ids=["open", "not-utf8", "control", "two", "deep", "nested", "merge"],
)
def test_what_is_no_plain_yaml_is_refused(data: bytes) -> None:
    """Damage is one error that names the document, never a traceback of the library."""
    with pytest.raises(StudyError, match=r"^x\.yaml: "):
        parse_yaml(data, "x.yaml")


def test_a_large_file_is_refused_unread() -> None:
    """The bound is on bytes, before the parser sees them."""
    assert parse_yaml(b"a" * (1 << 20), "x.yaml") == "a" * (1 << 20)
    with pytest.raises(StudyError, match="longer than 1048576 bytes"):
        parse_yaml(b"a" * ((1 << 20) + 1), "x.yaml")
