"""Canonical bytes: one value, one text, on every machine; what has no such text is refused."""

from __future__ import annotations

import pytest

from runner.core.canonical import (
    Json,
    canonical_bytes,
    canonical_lines,
    digest_of,
    parse_digest,
    parse_json,
    parse_lines,
    sha256_digest,
)
from runner.core.errors import EvidenceError


def test_keys_are_sorted_by_utf_16_and_nothing_is_spaced() -> None:
    """The example of RFC 8785, section 3.2.3, but for its numbers."""
    value: Json = {
        "\u20ac": "Euro",
        "\r": "CR",
        "\ufb33": "Dalet",
        "1": "One",
        "\U0001f600": "Smile",
        "\u0080": "C1",
        "\u00f6": "o",
    }
    assert (
        canonical_bytes(value)
        == (
            '{"\\r":"CR","1":"One","\u0080":"C1","\u00f6":"o","\u20ac":"Euro","\U0001f600":"Smile","\ufb33":"Dalet"}'
        ).encode()
    )


def test_literals() -> None:
    """Strings keep their characters; only what JSON must escape is escaped."""
    assert canonical_bytes([None, True, False, 0, -1, 2**53 - 1, 'ä"\\\n\u001f/']) == (
        '[null,true,false,0,-1,9007199254740991,"ä\\"\\\\\\n\\u001f/"]'.encode()
    )


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (1.5, "(root)"),
        ({"a": [1, 2.0]}, "a[1]"),
        ({"a": {"b": float("nan")}}, "a.b"),
        ([float("inf")], "[0]"),
        ({"a": 2**53}, "a"),
        ([-(2**53)], "[0]"),
    ],
)
def test_numbers_that_readers_round_are_refused(value: Json, key: str) -> None:
    """A hashed figure is an integer that every reader of JSON can hold."""
    with pytest.raises(EvidenceError) as caught:
        canonical_bytes(value)
    assert caught.value.problems[0].key == key


@pytest.mark.parametrize("value", ["\ud800", {"\udc00": 1}, {1: 2}, b"bytes"])
def test_what_is_no_json_is_refused(value: Json) -> None:
    """Half of a surrogate pair, a key that is no text, a value of another type."""
    with pytest.raises(EvidenceError, match="it has no canonical form"):
        canonical_bytes(value)


def test_what_is_nested_too_deeply_is_refused() -> None:
    """A value that no recursion reaches the bottom of."""
    value: Json = 0
    for _ in range(100_000):
        value = [value]
    with pytest.raises(EvidenceError, match="it has no canonical form"):
        canonical_bytes(value)


def test_digests_are_labelled_and_whole() -> None:
    """Literal."""
    assert sha256_digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest_of({"b": 1, "a": 2}) == sha256_digest(b'{"a":2,"b":1}')
    assert parse_digest("sha256:" + "a" * 64) == "sha256:" + "a" * 64


@pytest.mark.parametrize(
    "text", ["", "a" * 64, "sha256:" + "a" * 63, "sha256:" + "A" * 64, "md5:" + "a" * 64, f"sha256:{'a' * 64}\n"]
)
def test_what_is_no_digest_is_refused(text: str) -> None:
    """Cut, unlabelled, in capitals, of another algorithm, with a line end."""
    with pytest.raises(EvidenceError, match="is not a digest"):
        parse_digest(text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1, "a": 2}', "key 'a' stands twice"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[Infinity]", "Infinity is not JSON"),
        (b"\xff", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"", "not JSON"),
        (b"1" * 5000, "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b"{} {}", "not JSON"),
    ],
)
def test_json_that_two_readers_take_differently_is_refused(data: bytes, message: str) -> None:
    """A key that stands twice, constants of JavaScript, a mark before the text, numbers and brackets without end."""
    with pytest.raises(EvidenceError, match=message) as caught:
        parse_json(data, "some.json")
    assert caught.value.problems[0].document == "some.json"


def test_lines_are_whole() -> None:
    """Each line is a value; the last one has an end."""
    data = canonical_lines([{"a": 1}, {"a": 2}])
    assert data == b'{"a":1}\n{"a":2}\n'
    assert list(parse_lines(data, "some.jsonl")) == [{"a": 1}, {"a": 2}]
    assert list(parse_lines(b"", "some.jsonl")) == []
    with pytest.raises(EvidenceError, match=r"some\.jsonl: the last line is torn"):
        list(parse_lines(data[:-1], "some.jsonl"))
    with pytest.raises(EvidenceError, match=r"some\.jsonl line 2: not JSON"):
        list(parse_lines(b"{}\n\n{}\n", "some.jsonl"))
