"""Requests' JSON: asked for by type, refused by place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sidecar.reading import Node, parse
from sidecar.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable


def test_complaint_names_the_place() -> None:
    """The path of a value is part of what is said about it."""
    body = parse(b'{"points": [{"id": 1}, {"id": "x", "extra": 2}]}')
    second = body.need("points").items()[1]
    with pytest.raises(Refused, match=r"points\[1\].id: an integer is expected") as caught:
        second.need("id").integer()
    assert caught.value.status == 400


def test_unknown_field_is_refused_with_what_is_known() -> None:
    """A misspelt key can't be ignored."""
    with pytest.raises(Refused, match="unknown field `limti`, expected one of: limit, offset"):
        parse(b'{"limti": 1}').object("limit", "offset")


def test_null_is_absent() -> None:
    """A null member isn't there."""
    body = parse(b'{"limit": null}').object("limit")
    assert (body.get("limit"), body.has("limit")) == (None, False)
    with pytest.raises(Refused, match="missing field `limit`"):
        body.need("limit")


def test_one_stands_for_a_list_of_one() -> None:
    """Where Qdrant allows either, both are read alike."""
    assert [node.value for node in Node([1, 2], "x").one_or_many()] == [1, 2]
    assert [node.value for node in Node(1, "x").one_or_many()] == [1]


def test_number_out_of_range_is_another_refusal() -> None:
    """A well-formed number beyond its limits is 422, with the limits."""
    with pytest.raises(Refused, match="value 0 invalid, must be from 1 to 9") as caught:
        Node(0, "limit").integer(1, 9)
    assert caught.value.status == 422


WRONG: dict[str, tuple[object, Callable[[Node], object]]] = {
    "boolean as integer": (True, lambda node: node.integer()),
    "float as integer": (1.0, lambda node: node.integer()),
    "boolean as number": (False, lambda node: node.number()),
    "text as number": ("1", lambda node: node.number()),
    "enormous integer as number": (10**400, lambda node: node.number()),
    "infinity as number": (float("inf"), lambda node: node.number()),
    "number as text": (1, lambda node: node.text()),
    "surrogate as text": ("\ud800", lambda node: node.text()),
    "number as flag": (1, lambda node: node.flag()),
    "object as list": ({}, lambda node: node.items()),
    "list as object": ([], lambda node: node.object()),
    "list as members": ([], lambda node: node.members()),
    "list asked for a member": ([], lambda node: node.get("x")),
    "unknown choice": ("c", lambda node: node.choice({"a": 1, "b": 2})),
    "texts with a number": (["a", 1], lambda node: node.texts()),
}


@pytest.mark.parametrize("case", WRONG)
def test_other_type_is_refused(case: str) -> None:
    """No value is taken for one of another type."""
    value, read = WRONG[case]
    with pytest.raises(Refused) as caught:
        read(Node(value, "x"))  # type: ignore[arg-type]
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b"-Infinity", b"\xff", b"\xef\xbb\xbf{}", b"[" * 100_000, b"1" * 5000]
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    """Python's extensions of JSON aren't JSON, and depth isn't a crash."""
    with pytest.raises(Refused, match="Format error in JSON body") as caught:
        parse(body)
    assert caught.value.status == 400
