"""Ids, vectors and payloads are checked before the engine sees them."""

from __future__ import annotations

from typing import Any

import pytest
from sidecar import vectors
from sidecar.reading import Node
from sidecar.refusal import Refused
from sidecar.vectors import Schema, VectorSpec

SCHEMA = Schema(
    {
        "": VectorSpec(2, "Dot", is_multi=False),
        "rows": VectorSpec(2, "Dot", is_multi=True),
    },
    {"words"},
)
UUID = "550e8400-e29b-41d4-a716-446655440000"


@pytest.mark.parametrize("text", [UUID, UUID.upper(), UUID.replace("-", ""), f"urn:uuid:{UUID}", "{" + UUID + "}"])
def test_uuid_has_one_form(text: str) -> None:
    """Every way to write a UUID is read as the hyphenated one."""
    assert vectors.point_id(Node(text, "id")) == UUID


@pytest.mark.parametrize("value", [0, 2**64 - 1])
def test_unsigned_integers_are_ids(value: int) -> None:
    """All of 64 bits can be used."""
    assert vectors.point_id(Node(value, "id")) == value


@pytest.mark.parametrize("value", [-1, 2**64, 1.0, True, "", "1", "x" * 36, UUID + "0", UUID[:-1], None, [1]])
def test_anything_else_is_no_id(value: Any) -> None:
    """A refusal says what an id is."""
    with pytest.raises(Refused, match="not a valid point ID"):
        vectors.point_id(Node(value, "id"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("", [1.0], "expected dim: 2, got 1"),
        ("", [1.0, 2.0, 3.0], "expected dim: 2, got 3"),
        ("", [], "non-empty list of numbers"),
        ("", [True, 1.0], "non-empty list of numbers"),
        ("", ["1", 1.0], "non-empty list of numbers"),
        ("", [None, 1.0], "non-empty list of numbers"),
        ("", [1e39, 1.0], "too large for float32"),
        ("", [1e19, 1.0], "too large for float32"),
        ("", [10**400, 1.0], "too large for float32"),
        ("", [float("inf"), 1.0], "too large for float32"),
        ("", [[1.0, 2.0]], "holds one vector a point"),
        ("", {"indices": [1], "values": [1.0]}, "is dense"),
        ("rows", [[1.0, 2.0], [1.0]], "expected dim: 2, got 1"),
        ("rows", [[1.0, 2.0], 3.0], "non-empty list of numbers"),
        ("rows", [[]], "non-empty list of numbers"),
        ("words", [1.0, 2.0], "needs indices and values"),
        ("words", {"indices": [1, 1], "values": [1.0, 2.0]}, "must be unique"),
        ("words", {"indices": [1], "values": [1.0, 2.0]}, "1 indices, but 2 values"),
        ("words", {"indices": [2**32], "values": [1.0]}, "must be from 0 to 4294967295"),
        ("words", {"indices": [1], "values": [1e39]}, "too large for float32"),
        ("nobody", [1.0, 2.0], "Not existing vector name error: nobody"),
    ],
)
def test_vector_that_does_not_fit_is_refused(name: str, value: Any, message: str) -> None:
    """Size, kind, name and range are checked."""
    with pytest.raises(Refused, match=message):
        vectors.named_vector(Node(value, "vector"), name, SCHEMA)


def test_one_row_stands_for_several() -> None:
    """A single vector is a multivector of one row."""
    assert vectors.named_vector(Node([1.0, 2.0], "vector"), "rows", SCHEMA) == [[1.0, 2.0]]


def test_documents_are_not_embedded() -> None:
    """Inference is named as what isn't served."""
    with pytest.raises(Refused, match="inference") as caught:
        vectors.point_vectors(Node({"text": "hello", "model": "bm25"}, "vector"), SCHEMA)
    assert caught.value.status == 501


def deep(levels: int) -> dict[str, Any]:
    payload: dict[str, Any] = {"x": 1}
    for _ in range(levels - 1):
        payload = {"a": [payload]} if levels % 2 else {"a": payload}
    return payload


def test_payload_may_have_64_levels() -> None:
    """As deep as allowed is returned unchanged; one more is refused."""
    assert vectors.payload(Node(deep(64), "payload")) == deep(64)
    with pytest.raises(Refused, match="more than 64 levels"):
        vectors.payload(Node(deep(66), "payload"))
    with pytest.raises(Refused, match="more than 64 levels"):
        vectors.payload(Node({"a": deep(64)}, "payload"))


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, float("inf"), float("nan"), "\udfff"])
def test_payload_values_that_would_change_are_refused(value: Any) -> None:
    """What the engine can't store as it is, anywhere in a payload, isn't stored."""
    contents: list[Any] = [{"a": value}, {"a": [1, {"b": value}]}]
    for content in contents:
        with pytest.raises(Refused):
            vectors.payload(Node(content, "payload"))


def test_integers_of_64_bits_are_kept() -> None:
    """Both signed and unsigned extremes are stored exactly."""
    content: Any = {"low": -(2**63), "high": 2**64 - 1, "none": None, "yes": True}
    assert vectors.payload(Node(content, "payload")) == content
