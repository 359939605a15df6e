"""What a cassette holds beyond what its trial asked for is told."""

from __future__ import annotations

import json

import pytest

from runner.collect.attempt import collect_attempt
from runner.core.evidence import AttemptEvidence
from tests.fakes.attempts import good_control


def details(document: object) -> list[str]:
    """Of the finding in question, in an attempt with that `replayed.json`."""
    attempt = good_control()
    files = attempt.files() | {"replayed.json": json.dumps(document).encode() + b"\n"}
    result = collect_attempt(AttemptEvidence(files, attempt.expectation))
    return [found.detail for found in result.findings if found.kind == "recording_unasked"]


def replayed(**changes: object) -> dict[str, object]:
    return {"format": "pairbench/replayed", "version": 1, "entries": 30, "unasked": 0, "first_unasked": []} | changes


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (replayed(), []),
        (replayed(unasked=2, first_unasked=[4, 7]), ["2 of 30 recorded exchanges never asked for: 4, 7"]),
        (
            replayed(unasked=21, first_unasked=list(range(1, 21))),
            [f"21 of 30 recorded exchanges never asked for: {', '.join(map(str, range(1, 21)))}, …"],
        ),
        (replayed(entries=1, unasked=1, first_unasked=[1]), ["1 of 1 recorded exchange never asked for: 1"]),
        (replayed(unasked="2"), []),
    ],
    ids=["none", "two", "many", "all", "damaged"],
)
def test_recorded_exchanges_that_nobody_asked_for_are_a_finding(document: object, expected: list[str]) -> None:
    """Their numbers are those of the recording."""
    assert details(document) == expected
