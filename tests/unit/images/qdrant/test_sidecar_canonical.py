"""The canonical text of payloads, and the digest over points."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from sidecar.canonical import LogicalDigest, canonical_json

NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
@example({"\U0001f40e": 1, "ﬀ": 2})
@example([1e21, 1e-7, 123456789012345680000.0, 0.000001, -0.0, 5e-324, 1.7976931348623157e308])
def test_text_is_that_of_another_implementation(value: Any) -> None:
    """For every JSON value the text agrees with the reference library for RFC 8785."""
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, b"1"),
        (1e20, b"100000000000000000000"),
        (1e21, b"1e+21"),
        (1.5e-7, b"1.5e-7"),
        (0.000001, b"0.000001"),
        (-0.0, b"0"),
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ("é\n\u2028", '"é\\n\u2028"'.encode()),
    ],
)
def test_text_is_the_one_of_the_standard(value: Any, text: bytes) -> None:
    """Numbers are ECMAScript's, keys are ordered, text isn't escaped more than it must be."""
    assert canonical_json(value) == text


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\ud800": 1}])
def test_what_has_no_canonical_text_is_refused(value: Any) -> None:
    """A number that readers disagree about, or text that isn't Unicode, has none."""
    with pytest.raises(ValueError, match=r"exact|finite|surrogates"):
        canonical_json(value)


def test_digest_is_over_ids_vectors_and_payloads() -> None:
    """Each part is preceded by its length, so that no two lists of points share their bytes."""
    expected = hashlib.sha256(
        bytes([1, 0, 0, 0, 0, 0, 0, 0])
        + bytes([4, 0, 0, 0, 0, 0, 0, 0])
        + b"vvvv"
        + bytes([2, 0, 0, 0, 0, 0, 0, 0])
        + b"{}"
    ).hexdigest()
    digest = LogicalDigest({})
    digest.add(1, b"vvvv", b"{}")
    assert digest.text() == f"sha256:{expected}"


def test_digest_covers_sparse_vectors_and_what_is_declared_of_them() -> None:
    """The declaration first; after each payload the indices and the values, each after its length."""
    expected = hashlib.sha256(
        struct.pack("<Q", 27)
        + b'{"bm25":{"modifier":"idf"}}'
        + struct.pack("<QQ4sQ2sQIQf", 1, 4, b"vvvv", 2, b"{}", 4, 9, 4, 0.5)
    ).hexdigest()
    digest = LogicalDigest({"bm25": {"modifier": "idf"}})
    digest.add(1, b"vvvv", b"{}", struct.pack("<I", 9), struct.pack("<f", 0.5))
    assert digest.text() == f"sha256:{expected}"


def test_digest_of_nothing_is_that_of_no_bytes() -> None:
    """An empty index has a digest too."""
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert LogicalDigest({}).text() == f"sha256:{empty}"
