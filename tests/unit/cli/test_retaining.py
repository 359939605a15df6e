"""What `gc --archives` prints: within the columns of a terminal, and no name of a run is cut."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from runner.cli.retaining import render_survey
from runner.pipeline.retention import Cleaned, Item, RunUse, Survey

RUNS = ("client-messages-20261129t212106648z", "client-messages-20261129t212106649z")
CORPUS = "fixture-20261129t201811z/inputs/files/_up/h11/corpus.toml"
FOUND = Survey(
    runs=tuple(RunUse(run, 123_400_000, 0, 1_234_500_000, 700_000) for run in RUNS),
    items=(
        Item("layers", "a", Path("/cache/a"), 1_851_200_000, (*RUNS, "images/locks")),
        Item("layers", "b", Path("/cache/b"), 111_400_000, ()),
        Item("corpora", "c", Path("/cache/c"), 100_000, (CORPUS,)),
    ),
    unknown=(),
)


def shown(width: int) -> list[str]:
    out = io.StringIO()
    render_survey(FOUND, Cleaned((), ()), Console(file=out, width=width), dry_run=True)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 120])
def test_it_keeps_within_the_terminal(width: int) -> None:
    """Also where nobody watches: a mail or a file has the same columns."""
    lines = shown(width)
    assert max(map(len, lines)) <= width
    for run in RUNS:
        (line,) = (line for line in lines if line.startswith(run))
        assert line.split()[1:] == ["123.4", "MB", "0.0", "MB", "1234.5", "MB", "0.7", "MB"]


def test_a_long_name_is_folded_and_not_cut() -> None:
    """A corpus that somebody looks for is there to its end."""
    text = shown(80)
    assert "…" not in "".join(text)
    folded = "".join(line[57:].strip() for line in text)
    assert CORPUS in folded
    assert "2 runs" in folded
