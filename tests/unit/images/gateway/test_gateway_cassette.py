"""Entries of a cassette: each ends with its line, and what was changed isn't played."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway.cassette import CassetteError, entry_digest, read_cassette

KNOWN_DIGEST = "sha256:3afd67d3e9e7e971737cc2f9469e9ed0f3d6f8d0fde99cdea1f95016632e0666"
SEEN = {
    "model_asked": "m",
    "model_resolved": None,
    "stop_reason": None,
    "streamed": False,
    "usage": {"unavailable": "the answer is an error"},
    "details": None,
}
ENTRY: dict[str, Any] = {
    "seq": 7,
    "key": "sha256:00",
    "parts": {},
    "status": 200,
    "headers": [["content-type", "text/plain"]],
    "length_bytes": 12,
    "head_us": 1,
    "piece_bytes": [12],
    "piece_us": [2],
    "ended": "whole",
    "body": "a\u2028b\u2029c\u0085d",
    "seen": SEEN,
}


def line(entry: dict[str, Any], **changed: Any) -> str:
    """The entry with its digest, then changed."""
    return json.dumps({**entry, "entry_sha256": entry_digest(entry), **changed}, ensure_ascii=False) + "\n"


def test_other_ends_of_lines_are_parts_of_a_text() -> None:
    """Only a line feed ends an entry."""
    assert read_cassette(line(ENTRY) + line(ENTRY)).replayed()["entries"] == 2
    assert read_cassette("").replayed()["entries"] == 0


def test_the_digest_is_that_of_canonical_json() -> None:
    """The same as on the host, whose canonical JSON sorts keys by their UTF-16."""
    assert entry_digest({"b": [1, None], "a": "\u00e9\u2028", "entry_sha256": "x"}) == KNOWN_DIGEST
    assert entry_digest({"\uffff": 1, "\U0001f600": 2}) == (
        "sha256:48c5d098713870a7b88be7fc0ffc0a79e912d20f80ea8a4a5604426f49add103"
    )


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"body": "A\u2028b\u2029c\u0085d"}, "exchange 7 isn't what was recorded: its digest is another one"),
        ({"seen": SEEN | {"model_resolved": "x"}}, "exchange 7 isn't what was recorded"),
        ({"status": 500}, "exchange 7 isn't what was recorded"),
        ({"length_bytes": 5}, "the body is longer than its length"),
        ({"entry_sha256": None}, "exchange 7 isn't what was recorded"),
    ],
)
def test_what_was_changed_is_refused(changed: dict[str, Any], told: str) -> None:
    """Naming the line and the exchange."""
    with pytest.raises(CassetteError, match=rf"line 2 is no entry: ValueError: {told}"):
        read_cassette(line(ENTRY) + line(ENTRY, **changed))
