"""The page about outcomes says what the program does."""

from __future__ import annotations

from pathlib import Path

from runner.core.findings import FindingKind
from runner.core.outcomes import CONSEQUENCES, Consequence, Outcome

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "outcomes.md").read_text("utf-8")


def row(outcome: Outcome, follows: Consequence) -> str:
    """The line of the table that belongs to an outcome."""
    marks = ["yes" if mark else "no" for mark in (follows.retried, follows.in_pairs, follows.failure)]
    return f"| `{outcome}` | {' | '.join(marks)} | {follows.meaning} |"


def test_every_outcome_has_its_consequences() -> None:
    """The union is closed."""
    assert set(CONSEQUENCES) == set(Outcome)


def test_the_page_holds_the_table_of_outcomes() -> None:
    """Row by row, in the order of the union, and no other row."""
    head = "| outcome | tried again | in pairs | counts as failure | meaning |\n|---|---|---|---|---|\n"
    table = PAGE.split(head)[1].split("\n\n")[0].splitlines()
    assert table == [row(outcome, CONSEQUENCES[outcome]) for outcome in Outcome]


def test_the_page_holds_every_kind_of_finding() -> None:
    """One row each, by name."""
    table = PAGE.split("| kind | what was found |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    assert [line.split("`")[1] for line in table] == sorted(kind.value for kind in FindingKind)


def test_every_outcome_but_those_of_no_run_is_one_of_a_rule() -> None:
    """Each can be reached from evidence; `not_run` is a trial without an attempt."""
    rules = PAGE.split("## Which outcome it is")[1].split("## Findings")[0]
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in rules] == [Outcome.NOT_RUN]
