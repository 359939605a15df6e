"""A comparison on a terminal: first difference first, within 80 columns, and the exit code that follows."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from runner.cli.comparing import exit_code, render_comparison
from runner.core.comparison import (
    ComparedRun,
    Comparison,
    DocumentFields,
    EstimatePair,
    FieldDifference,
    Kind,
    LeftOut,
    VolatileFields,
)
from runner.core.errors import ExitCode
from runner.core.quantities import Measured, Unavailable

RUN = ComparedRun(
    given="one",
    run="demo-20261130t120000000z",
    study="demo",
    lock_sha256="",
    summary_sha256="",
    evidence="measurement",
    model_shown="a-model",
    mode="live",
    rerun_of="",
)


def comparison(kind: Kind, **more: object) -> Comparison:
    fields: dict[str, object] = {
        "kind": kind,
        "relation": "B is a rerun of A (again)",
        "equal": False,
        "a": RUN,
        "b": RUN.model_copy(update={"given": "two", "run": "demo-20261130t130000000z"}),
        "warnings": (),
        "differences": (),
        "differences_left_out": 0,
        "documents": (),
        "volatile": (),
        "estimates": (),
        "not_compared": (LeftOut(what="ledger.jsonl", reason="moments"),),
    }
    return Comparison.model_validate({**fields, **more})


def shown(found: Comparison) -> str:
    out = io.StringIO()
    render_comparison(found, Console(file=out, width=80, highlight=False))
    assert max(map(len, out.getvalue().splitlines())) <= 80
    return out.getvalue()


def difference(number: int) -> FieldDifference:
    return FieldDifference(
        document="records.jsonl", trial=f"t{number}.r1.off", field="answer", a=f'"{number}"', b="", only_in="A"
    )


def pair(**more: object) -> EstimatePair:
    fields: dict[str, object] = {
        "part": "complete_blocks",
        "measure": "cost_microusd",
        "label": "Cost at list price",
        "unit": "microusd",
        "kind": "amount",
        "scale": 1_000_000,
        "headline": True,
        "figure": "ratio",
        "arm": "memory",
        "control": "off",
        "a": Measured(850_000),
        "a_low": Measured(800_000),
        "a_high": Measured(910_000),
        "b": Measured(920_000),
        "b_low": Measured(840_000),
        "b_high": Measured(990_000),
        "difference": Measured(70_000),
        "a_within_b": "yes",
        "b_within_a": "no",
    }
    return EstimatePair.model_validate({**fields, **more})


def test_two_equal_runs_are_called_equal() -> None:
    """With what differs all the same, how much of it, and why it may."""
    found = comparison(
        "equality",
        equal=True,
        documents=(
            DocumentFields(document="records.jsonl", same=1_200, volatile=7, different=0),
            DocumentFields(document="inputs/prices.json", same=10, volatile=0, different=0),
            DocumentFields(document="inputs/corpora/notes.tar", same=1, volatile=0, different=0),
        ),
        volatile=(VolatileFields(document="records.jsonl", field="timing.wall_ms", reason="clock", why="", fields=7),),
    )
    text = shown(found)
    assert "Equal: 7 fields differ, and each of them is declared to." in text
    assert "1,200" in text
    assert "inputs/ (the others)" in text
    assert "what a clock measured, and what is computed from that" in text.replace("\n", " ")
    assert "`pairbench verify one`, `pairbench verify two`" in " ".join(text.split())
    assert exit_code(found) is ExitCode.DONE


def test_the_first_differences_are_told_with_both_values() -> None:
    """Twenty of them, and how many more there are."""
    found = comparison("equality", differences=tuple(map(difference, range(100))), differences_left_out=900)
    text = shown(found)
    assert "Not equal: 1,000 fields differ that may not." in text
    assert text.index("records.jsonl · t0.r1.off · answer") < text.index("records.jsonl · t1.r1.off · answer")
    assert "nothing" in text
    assert "t20.r1.off" not in text
    assert "980 further differences" in text
    assert exit_code(found) is ExitCode.FINDING


def test_a_run_without_a_model_names_none() -> None:
    """As one of a retrieval study is."""
    run = RUN.model_copy(update={"model_shown": "", "mode": "none"})
    assert "A  demo-20261130t120000000z\n   measurement, no model\n" in shown(comparison("equality", equal=True, a=run))


def test_what_somebody_wrote_stays_text() -> None:
    """An answer of a model moves no cursor and colours nothing."""
    hostile = FieldDifference(
        document="records.jsonl", trial="t", field="x", a='"\x1b[2J[red]"', b='"\n\r"', only_in=""
    )
    text = shown(comparison("equality", differences=(hostile,)))
    assert "\\x1b[2J[red]" in text
    assert "\x1b" not in text
    assert "\r" not in text


def test_measurements_stand_side_by_side() -> None:
    """Both points with their intervals, the difference, and which lies in the other's interval; no verdict."""
    mean = {"figure": "mean", "control": "", "scale": 1_000, "a": Measured(20_000_000), "b": Measured(21_000_000)}
    found = comparison(
        "estimates", estimates=(pair(), pair(**mean, difference=Measured(1_000_000)), pair(part="failures_counted"))
    )
    text = shown(found)
    assert "memory against off, complete blocks" in text
    (line,) = (line for line in text.splitlines() if "0.85" in line)
    assert "0.92" in line
    assert "+0.070" in line
    assert "A yes, B no" in line
    assert "0.80 to 0.91" in text
    assert "$0.0200" in text
    assert "+$0.0010" in text
    assert "no verdict beyond them" in " ".join(text.split())
    assert "failures counted" not in text
    assert exit_code(found) is ExitCode.DONE


def test_without_an_interval_it_is_said() -> None:
    """A figure that one run lacks is a dash with its reason."""
    none = Unavailable("too few tasks")
    text = shown(
        comparison(
            "estimates",
            estimates=(
                pair(a_low=none, a_high=none, b_low=none, b_high=none, a_within_b="unknown", b_within_a="unknown"),
                pair(arm="other", b=none, difference=none),
                pair(arm="third", a=none, b=none, difference=none),
            ),
        )
    )
    assert text.count("no interval") == 2
    assert "— too few tasks." in text
    assert "third against off" not in text


def test_what_is_not_controlled_says_so_before_any_figure() -> None:
    """What nobody may overlook first, then what differs, then the figures."""
    warning = "A is a fixture and B is a measurement: a policy plays"
    found = comparison(
        "uncontrolled",
        relation="neither is a rerun of the other",
        warnings=(warning,),
        differences=(
            FieldDifference(document="lock.json", trial="", field="images[trial].tag", a='"x"', b='"y"', only_in=""),
        ),
        estimates=(pair(),),
    )
    text = shown(found)
    places = [
        text.index(part)
        for part in (
            "Beware: A is a fixture",
            "Neither is a rerun of the other.",
            "Not a controlled comparison: 1 difference in what the two were made with.",
            "lock.json · images[trial].tag",
            "memory against off",
        )
    ]
    assert places == sorted(places)
    assert exit_code(found) is ExitCode.FINDING


@pytest.mark.parametrize(
    ("measure", "kind", "scale", "shown_as"),
    [("nDCG@10", "share", 10**9, "0.850"), ("references", "share", 10**6, "+85.0")],
)
def test_shares_are_told_as_such(measure: str, kind: str, scale: int, shown_as: str) -> None:
    """Measures of rankings as numbers, shares of references in percentage points."""
    value = Measured(85 * scale // 100)
    found = pair(
        measure=measure, label=measure, unit="", kind=kind, scale=scale, figure="mean_difference", a=value, b=value
    )
    assert shown_as in shown(comparison("estimates", estimates=(found,)))
