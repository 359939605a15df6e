"""Command lines."""

from __future__ import annotations

import pytest
from sidecar.options import Option, read_options, usage, whole
from sidecar.refusal import FatalError

OPTIONS = [Option("from", "where from"), Option("to", "where to", ""), Option("count", "how many", "3")]


def test_options_have_values_or_defaults() -> None:
    """Both ways to give a value are read; what isn't given has its default."""
    assert read_options("x", OPTIONS, ["--from", "a b", "--count=5"]) == {"from": "a b", "to": "", "count": "5"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--from is missing"),
        (["--form", "a"], "unknown argument '--form'"),
        (["a"], "unknown argument 'a'"),
        (["from", "a"], "unknown argument 'from'"),
        (["--from"], "--from needs a value"),
        (["--from", "a", "--from", "b"], "--from is given twice"),
    ],
)
def test_wrong_lines_are_explained(arguments: list[str], message: str) -> None:
    """The refusal names the option."""
    with pytest.raises(FatalError, match=message):
        read_options("x", OPTIONS, arguments)


def test_usage_has_every_option() -> None:
    """Each option has a line with its meaning and default."""
    assert usage("x", OPTIONS).splitlines() == [
        "usage: main.py x [--option value ...]",
        "  --from           where from (required)",
        "  --to             where to (default: none)",
        "  --count          how many (default: 3)",
    ]


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "10", "٣", "9" * 30])
def test_numbers_are_checked(text: str) -> None:
    """A number is whole, and within its limits."""
    with pytest.raises(FatalError, match="--count must be a whole number from 0 to 9"):
        whole("x", "count", text, 0, 9)
    assert whole("x", "count", "9", 0, 9) == 9
