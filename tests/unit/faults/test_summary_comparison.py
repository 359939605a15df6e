"""Which differences between an interrupted run and an uninterrupted one are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scripts.faults.summaries import OF_THE_INTERRUPTION, OF_THE_OCCASION, summaries_differ

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = (Path(__file__).resolve().parents[2] / "golden" / "summary" / "summary.json").read_bytes()


def changed(change: Callable[[dict[str, Any]], None]) -> list[str]:
    """What the golden summary and a changed copy of it are said to differ in."""
    copy = json.loads(GOLDEN)
    change(copy)
    return list(summaries_differ(GOLDEN, json.dumps(copy).encode()))


def test_a_summary_is_like_itself() -> None:
    """Nothing differs."""
    assert list(summaries_differ(GOLDEN, GOLDEN)) == []


def test_what_an_interruption_adds_is_no_difference() -> None:
    """Attempts, their spend, digests of what holds moments, and what clocks say."""

    def interrupt(summary: dict[str, Any]) -> None:
        summary["inputs"]["ledger_head"] = summary["inputs"]["records"] = "sha256:other"
        for row in summary["census"]["rows"]:
            row["attempts"] += 1
        for arm in summary["spend"]:
            arm["attempts"] += 7
            arm["repeated"] += 7
        for row in summary["cold_starts"]:
            row["median_startup_us"] = 1

    assert changed(interrupt) == []


def test_every_field_that_may_differ_is_there() -> None:
    """A list that names what a summary hasn't got would hide that it no longer fits."""
    for path in (*OF_THE_OCCASION, *OF_THE_INTERRUPTION):
        copy = json.loads(GOLDEN)
        top = path.split(".")[0].removesuffix("[]")
        del copy[top]
        with pytest.raises(KeyError):
            list(summaries_differ(GOLDEN, json.dumps(copy).encode()))


def figures(summary: dict[str, Any], *, clocked: bool) -> list[dict[str, Any]]:
    """Totals of the first view, of measures that are read off a clock or of the others."""
    units = {measure["name"]: measure["unit"] in {"ms", "bytes"} for measure in summary["measures"]}
    return [row for row in summary["views"][0]["totals"] if units[row["measure"]] is clocked]


def test_a_clock_may_say_something_else() -> None:
    """Every figure of its measures, but not which blocks and arms there are, nor what is no figure."""

    def later(summary: dict[str, Any]) -> None:
        for row in figures(summary, clocked=True):
            for arm in row["arms"]:
                arm["total"] = 1

    def fewer(summary: dict[str, Any]) -> None:
        figures(summary, clocked=True)[0]["n_blocks"] += 1

    def otherwise(summary: dict[str, Any]) -> None:
        figures(summary, clocked=True)[0]["arms"][0]["total"] = "soon"

    assert changed(later) == []
    assert len(changed(fewer)) == 1
    assert len(changed(otherwise)) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda summary: figures(summary, clocked=False)[0]["arms"][0].update(total=-1),
        lambda summary: summary["census"]["rows"][0].update(outcome="timeout"),
        lambda summary: summary["census"]["rows"].pop(),
        lambda summary: summary["study"].update(seed="another"),
        lambda summary: summary["pins"][0].update(digest="sha256:another"),
        lambda summary: summary["checks"][0].update(passed=not summary["checks"][0]["passed"]),
    ],
)
def test_everything_else_is_a_difference(change: Callable[[dict[str, Any]], None]) -> None:
    """Figures, outcomes, trials, the study, what it was made of, and what was checked."""
    assert len(changed(change)) == 1
