"""Documents: what is written reads back, and a reader refuses whatever it doesn't know, all of it at once."""

from __future__ import annotations

from typing import ClassVar, Literal

import pytest
from pydantic import ValidationError

from runner.core.declared import parse_toml, read_declared, salvage_declared
from runner.core.documents import Document, Part, QuantityField
from runner.core.errors import EvidenceError, StudyError
from runner.core.quantities import Measured, Unavailable


class Inner(Part):
    """A part."""

    kind: Literal["inner"] = "inner"
    count: int


class Sheet(Document):
    """A document."""

    FORMAT: ClassVar[str] = "test/sheet"
    VERSION: ClassVar[int] = 3

    name: str
    tokens: QuantityField
    inner: tuple[Inner, ...] = ()


GOOD = b'{"format":"test/sheet","inner":[],"name":"n","tokens":5,"version":3}\n'


def faults(data: bytes) -> list[str]:
    with pytest.raises(EvidenceError) as caught:
        Sheet.from_bytes(data, "sheet.json")
    return [str(problem) for problem in caught.value.problems]


def test_a_document_reads_back() -> None:
    """Canonical, with its format and version, ending in a line feed."""
    sheet = Sheet(name="n", tokens=Measured(5))
    assert sheet.to_bytes() == GOOD
    assert Sheet.from_bytes(GOOD, "sheet.json") == sheet
    assert sheet.to_line() == GOOD
    assert list(Sheet.from_lines(GOOD + GOOD, "sheets.jsonl")) == [sheet, sheet]


def test_what_is_missing_keeps_its_reason() -> None:
    """It is neither zero nor nothing."""
    sheet = Sheet(name="n", tokens=Unavailable("the provider sent none"))
    data = (
        b'{"format":"test/sheet","inner":[],"name":"n","tokens":{"unavailable":"the provider sent none"},"version":3}\n'
    )
    assert sheet.to_bytes() == data
    assert Sheet.from_bytes(data, "sheet.json").tokens == Unavailable("the provider sent none")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b'"test/sheet"', b'"test/sheets"', ["sheet.json: format: format is 'test/sheets', not 'test/sheet'"]),
        (b'"format":"test/sheet",', b"", ["sheet.json: format: format is None, not 'test/sheet'"]),
        (
            b'"version":3',
            b'"version":4',
            [
                (
                    "sheet.json: version: version 4 is not known here, only 3 "
                    "(read it with the version of pairbench that wrote it)"
                )
            ],
        ),
        (
            b'"name":"n"',
            b'"name":5,"more":1',
            ["sheet.json: name: must be a valid string", "sheet.json: more: unknown key"],
        ),
        (b'"name":"n",', b"", ["sheet.json: name: missing"]),
        (b'"tokens":5', b'"tokens":5.0', ["sheet.json: tokens: 5.0 is neither an integer nor unavailable"]),
        (b'"tokens":5', b'"tokens":true', ["sheet.json: tokens: True is neither an integer nor unavailable"]),
        (b'"tokens":5', b'"tokens":null', ["sheet.json: tokens: None is neither an integer nor unavailable"]),
        (
            b'"inner":[]',
            b'"inner":[{"kind":"inner","count":1},{"kind":"inner","count":"1","x":0}]',
            ["sheet.json: inner[1].count: must be a valid integer", "sheet.json: inner[1].x: unknown key"],
        ),
        (b'"version":3', b'"version":3.0', ["sheet.json: version: must be a valid integer"]),
    ],
)
def test_what_is_not_known_is_refused(old: bytes, new: bytes, expected: list[str]) -> None:
    """Another format or version, unknown and missing keys, other types: each by its key."""
    assert old in GOOD
    assert sorted(faults(GOOD.replace(old, new))) == sorted(expected)


@pytest.mark.parametrize("data", [b"[]", b"5", b'"text"', b"null"])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    """JSON of another shape."""
    assert faults(data) == ["sheet.json: not a JSON object"]


def test_a_line_is_named() -> None:
    """Of a file of many."""
    with pytest.raises(EvidenceError, match=r"sheets.jsonl line 2: name: missing"):
        list(Sheet.from_lines(GOOD + GOOD.replace(b'"name":"n",', b""), "sheets.jsonl"))


def test_half_of_a_surrogate_pair_is_refused() -> None:
    """It can be written in JSON, and has no bytes."""
    assert len(faults(GOOD.replace(b'"n"', b'"\\ud800"'))) == 1


def test_documents_do_not_change() -> None:
    """What was sealed stays as it was."""
    sheet = Sheet(name="n", tokens=Measured(5))
    with pytest.raises(ValidationError):
        sheet.name = "m"  # type: ignore[misc]


def test_toml_is_read_strictly() -> None:
    """All faults at once, and dates where no date can stand."""
    with pytest.raises(StudyError) as caught:
        read_declared(Inner, b"count = 2020-01-01\nmore = 12:00:00\n", "inner.toml")
    assert [str(problem) for problem in caught.value.problems] == [
        "inner.toml: count: must be a valid integer",
        "inner.toml: more: unknown key",
    ]
    assert read_declared(Inner, b"count = 1\n", "inner.toml") == Inner(count=1)


@pytest.mark.parametrize(
    "data", [b"count = ", b"\xff", b"count = 1\ncount = 2\n", b"count = [" * 9000, b"count = 1" + b"0" * 5000]
)
def test_what_is_no_toml_is_told(data: bytes) -> None:
    """Cut, not UTF-8, a key twice, brackets and digits without end."""
    with pytest.raises(StudyError, match=r"inner\.toml: not TOML: "):
        parse_toml(data, "inner.toml")


def test_what_is_left_of_a_declaration_with_unknown_keys() -> None:
    """Whoever reads on finds what else is wrong; a wrong type isn't guessed at."""
    found, problems = salvage_declared(Inner, b"count = 1\nmore = 2\n", "inner.toml")
    assert (found, [problem.key for problem in problems]) == (Inner(count=1), ["more"])
    found, problems = salvage_declared(Inner, b'count = "1"\nmore = 2\n', "inner.toml")
    assert (found, [problem.key for problem in problems]) == (None, ["count", "more"])
    found, problems = salvage_declared(Inner, b"count", "inner.toml")
    assert (found, len(problems)) == (None, 1)
