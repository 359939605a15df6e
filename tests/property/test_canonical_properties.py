"""Canonical bytes don't depend on the order of keys, and say everything that a value holds."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runner.core.canonical import canonical_bytes, canonical_lines, digest_of, parse_json, parse_lines
from runner.core.errors import EvidenceError
from runner.core.tars import TreeFile, tar_of, tree_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXTS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5), max_leaves=20
)


def turned(value: Any) -> Any:
    """The same value with the keys of every object the other way round."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_the_order_of_keys_does_not_matter(value: Any) -> None:
    """One value, one digest."""
    assert canonical_bytes(turned(value)) == canonical_bytes(value)


@given(VALUES)
def test_a_value_reads_back(value: Any) -> None:
    """By our reader, and by any other."""
    data = canonical_bytes(value)
    assert parse_json(data, "x") == value
    assert json.loads(data) == value


@given(VALUES, VALUES)
def test_two_values_have_two_digests(one: Any, other: Any) -> None:
    """As JSON tells them apart: true is not 1."""
    assert (digest_of(one) == digest_of(other)) == (
        json.dumps(turned(one), sort_keys=True) == json.dumps(other, sort_keys=True)
    )


@given(st.lists(VALUES, max_size=5))
def test_lines_hold_one_value_each(values: list[Any]) -> None:
    """No value has a line end of its own."""
    data = canonical_lines(values)
    assert data.count(b"\n") == len(values)
    assert list(parse_lines(data, "x")) == values


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_an_error_of_ours(data: bytes) -> None:
    """Nothing else is raised, whatever a file holds."""
    with contextlib.suppress(EvidenceError):
        assert parse_json(canonical_bytes(parse_json(data, "x")), "x") == parse_json(data, "x")


PARTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=60
).filter(lambda name: name not in {".", ".."})
TREES = st.dictionaries(
    PARTS | st.tuples(st.just("folder"), PARTS).map("/".join),
    st.builds(TreeFile, st.binary(max_size=2000), st.booleans()),
    max_size=5,
).filter(lambda tree: "folder" not in tree)


@given(TREES)
def test_a_tree_reads_back_from_its_tar(tree: dict[str, TreeFile]) -> None:
    """Names of any length and script, bytes and modes; the order of the files doesn't matter."""
    assert tree_of(tar_of(tree), "x.tar") == tree
    assert tar_of(dict(reversed(tree.items()))) == tar_of(tree)


@given(TREES, st.data())
def test_a_damaged_tar_is_told_or_is_another_tree(tree: dict[str, TreeFile], data: st.DataObject) -> None:
    """No damage raises anything but an error of ours."""
    whole = bytearray(tar_of(tree))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(EvidenceError):
        assert all(isinstance(file, TreeFile) for file in tree_of(bytes(whole), "x.tar").values())
