"""A cassette is read whole before anything is built: what a gateway couldn't play is named by line and key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.core.cassette import CassetteHeader, entry_digest, read_cassette
from runner.core.errors import EvidenceError

USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_input_tokens": 0,
    "cache_write_5m_input_tokens": {"unavailable": "the answer doesn't say"},
    "cache_write_1h_input_tokens": 0,
}
SEEN = {
    "model_asked": "m",
    "model_resolved": None,
    "stop_reason": "end_turn",
    "streamed": False,
    "usage": USAGE,
    "details": None,
}
ENTRY: dict[str, Any] = {
    "format": "pairbench/recording",
    "version": 1,
    "task": "t",
    "arm": "a",
    "repetition": 1,
    "seq": 1,
    "key": "sha256:00",
    "parts": {"model": "sha256:11"},
    "status": 200,
    "headers": [["content-type", "application/json"]],
    "length_bytes": 5,
    "head_us": 100,
    "piece_bytes": [2, 3],
    "piece_us": [100, 200],
    "ended": "whole",
    "body": "héo!",
    "seen": SEEN,
}


def signed(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {"entry_sha256": entry_digest(entry)}


def cassette(*entries: dict[str, Any] | str) -> bytes:
    header = CassetteHeader(
        run="r", evidence="measurement", model_shown="m", masks=(), exchanges=len(entries), incomplete=()
    )
    texts = [entry if isinstance(entry, str) else json.dumps(signed(entry)) for entry in entries]
    return header.to_line() + b"".join(text.encode() + b"\n" for text in texts)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"body": {"base64": "aGVsbG8="}},
        {"status": None, "headers": [], "piece_bytes": [], "piece_us": [], "body": "", "ended": "reset"},
        {"seen": {**SEEN, "usage": {"unavailable": "the answer is an error"}, "details": {"speed": "fast"}}},
        {"told_by_a_later_version": 1},
    ],
)
def test_what_a_gateway_can_play_is_read(changed: dict[str, Any]) -> None:
    """Whatever else an entry says is kept as it is."""
    data = cassette({**ENTRY, **changed})
    assert read_cassette(data, "c").lines == {("t", "a", 1): data.split(b"\n", 1)[1]}


KNOWN_DIGEST = "sha256:3afd67d3e9e7e971737cc2f9469e9ed0f3d6f8d0fde99cdea1f95016632e0666"
MAKE_UP = "must have the classes input_tokens, output_tokens, cache_read_input_tokens, cache_write_5m_input_tokens, "


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("{", "c line 2: not an entry of a cassette, which is a line of JSON"),
        ("[" * 100_000, "c line 2: not an entry of a cassette, which is a line of JSON"),
        ("{}", "c line 2: task: missing"),
        ({key: value for key, value in ENTRY.items() if key != "headers"}, "c line 2: headers: missing"),
        (ENTRY | {"seq": "1"}, "c line 2: seq: must be a valid integer"),
        (ENTRY | {"ended": "later"}, "c line 2: ended: must be 'whole', 'closed', 'reset' or 'client_gone'"),
        (ENTRY | {"body": "héllo"}, "c line 2: the pieces have 5 bytes, and the body has 6"),
        (ENTRY | {"body": {"base64": "!"}}, "c line 2: body is no base64"),
        (ENTRY | {"body": None}, 'c line 2: body must be text, or { "base64": … }'),
        (ENTRY | {"length_bytes": 4}, "c line 2: length_bytes says 4, and the body has 5"),
        (ENTRY | {"piece_us": [1]}, "c line 2: each of piece_bytes needs a time in piece_us"),
        (ENTRY | {"seen": SEEN | {"usage": {}}}, f"c line 2: seen.usage: {MAKE_UP}"),
        (
            ENTRY | {"seen": SEEN | {"usage": USAGE | {"output_tokens": "5"}}},
            "c line 2: seen.usage: output_tokens must be a number of tokens, or say why it is unavailable",
        ),
    ],
    ids=range(13),
)
def test_what_it_could_not_play_is_named(entry: dict[str, Any] | str, told: str) -> None:
    """By line and key."""
    with pytest.raises(EvidenceError) as caught:
        read_cassette(cassette(entry), "c")
    assert str(caught.value.problems[0]).startswith(told)


@pytest.mark.parametrize(
    "changed",
    [
        {"body": "hxllo"},
        {"headers": [["content-type", "text/plain"]]},
        {"status": 201},
        {"arm": "b"},
        {"key": "sha256:01"},
        {"seen": SEEN | {"model_resolved": "another"}},
        {"seen": SEEN | {"usage": USAGE | {"output_tokens": 6}}},
        {"added": 1},
    ],
    ids=lambda changed: str(next(iter(changed))),
)
def test_an_entry_that_was_changed_is_named(changed: dict[str, Any]) -> None:
    """Whatever of it: its answer, what was seen, or whose it is."""
    with pytest.raises(EvidenceError, match=r"exchange 1 of t\.r1\.[ab] isn't what was recorded") as caught:
        read_cassette(cassette(ENTRY, json.dumps(signed(ENTRY) | changed)), "c")
    assert str(caught.value.problems[0]).startswith("c line 3: ")


def test_the_digest_of_an_entry_is_that_of_its_canonical_json() -> None:
    """One known value, which the gateway finds too."""
    assert entry_digest({"b": [1, None], "a": "\u00e9\u2028"} | {"entry_sha256": "x"}) == KNOWN_DIGEST
