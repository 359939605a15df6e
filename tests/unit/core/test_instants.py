"""Instants as people write them."""

from __future__ import annotations

import pytest

from runner.core.instants import instant_of, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2025-01-09T00:00:00Z", 1_736_380_800),
        ("2025-01-09T02:00:00+02:00", 1_736_380_800),
        ("2025-01-09 00:00:00z", 1_736_380_800),
        ("1969-12-31T23:59:59Z", -1),
        ("0001-01-01T00:00:00Z", -62_135_596_800),
    ],
)
def test_an_instant_is_a_number_of_seconds(text: str, seconds: int) -> None:
    """Wherever it was written down."""
    assert seconds_of(text) == seconds
    assert seconds_of(instant_of(seconds)) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "2025-01-09", "2025-01-09T00:00:00", "2025-13-09T00:00:00Z", "2025-01-09T00:00:00.5Z", "20250109T000000Z"],
)
def test_what_is_no_instant_is_told(text: str) -> None:
    """A day, an instant without its offset, months that there aren't, parts of seconds."""
    with pytest.raises(ValueError, match="is not an instant"):
        seconds_of(text)
