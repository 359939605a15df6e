"""Canonical bytes don't depend on the order of keys, and say everything that a value holds."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from runner.core.canonical import canonical_bytes, canonical_lines, digest_of, exact_bytes, parse_json, parse_lines
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


@given(VALUES)
@example({"\ufb33": 1, "\U0001f600": 2})
@example({"a": "\x7f\x1f\x00\b\f\u2028/\\"})
def test_bytes_are_those_of_the_rules_own_writer(value: Any) -> None:
    """However they are made, fast or slow."""
    assert canonical_bytes(value) == rfc8785.dumps(value)
    assert exact_bytes(value, lambda item: item) in (rfc8785.dumps(value), None)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, -0.0, 2**53, 2**63, -(2**63) - 1, 2**64, 10**19, 10**400])
    | st.floats()
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def by_the_standard_library(data: bytes) -> str:
    """What `json` makes of `data`, types of numbers included, or that it refuses; a key that stands twice is refused."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        return repr(json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse))
    except (ValueError, RecursionError):
        return "refused"


def by_us(data: bytes) -> str:
    """What our reader makes of `data`, or that it refuses."""
    try:
        return repr(parse_json(data, "x"))
    except EvidenceError:
        return "refused"


@given(ANYTHING, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_a_text_means_what_it_means_to_the_standard_library(value: Any, escaped: Any, indent: Any) -> None:
    """Integers of any size, halves of surrogate pairs, NaN, and whatever stands between."""
    data = json.dumps(value, ensure_ascii=escaped, indent=indent).encode("utf-8", "surrogatepass")
    assert by_us(data) == by_the_standard_library(data)


PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"a"',
        '"b"',
        '"a":1',
        '"a:"',
        '"\\u003a"',
        '"\\u0061":2',
        '"a":{"b":3}',
        "1",
        "-0",
    ),
    *(
        "18446744073709551616",
        "-9223372036854775809",
        '"18446744073709551616"',
        "0.18446744073709551616",
        "1e400",
        "1E5",
        " ",
        "\n",
        "NaN",
        "null",
        '"\\ud800"',
        '"\\":"',
        "\ufeff",
    ),
)
TOKENS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(TOKENS | TOKENS.map("{{{}}}".format) | TOKENS.map("[{}]".format))
@example('{"a":1,"a":2}')
@example('{"a":1,"\\u0061":2}')
@example('{"x":{"a":":"},"x":{"\\u003a":1}}')
@example('{"\\u003a":1,"a":2,"a":3}')
@example("[" * 260 + "]" * 260)
@example("[\n18446744073709551616]")
@example("[1,\t-9223372036854775809]")
def test_what_is_no_json_is_refused_as_by_the_standard_library(text: str) -> None:
    """And a key that stands twice is, which others let pass."""
    assert by_us(text.encode()) == by_the_standard_library(text.encode())


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
