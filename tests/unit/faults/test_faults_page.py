"""The page about fault scenarios lists every one of them, and how it ends."""

from __future__ import annotations

from pathlib import Path

from scripts.faults.expected import Expectation, Scenario, read_expected
from scripts.faults.summaries import OF_THE_INTERRUPTION, OF_THE_OCCASION

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "explanation" / "faults.md").read_text(encoding="utf-8")


def ends(expected: Expectation) -> str:
    return ", ".join(f"`{outcome.value}`" for outcome in expected.attempts)


def row(scenario: Scenario) -> str:
    everywhere = [ends(scenario.expected)] if scenario.expected else []
    arms = [f"{arm}: {ends(expected)}" for arm, expected in scenario.arms.items()]
    return f"| `{scenario.task}` | {scenario.what} | {'; '.join([*everywhere, *arms])} |"


def test_every_scenario_has_its_row_in_the_table_of_its_study() -> None:
    """In the order of the file, and no row more."""
    expected = read_expected(ROOT / "corpora" / "faults" / "expected.toml")
    for study in expected.studies:
        table = PAGE.split(f"### `{study}`\n", 1)[1].split("\n#", 1)[0]
        rows = [line for line in table.splitlines() if line.startswith("| `")]
        assert rows == [row(scenario) for scenario in expected.of_study(study).values()], study


def findings(expected: Expectation) -> str:
    always = [f"`{kind.value}`" for kind in expected.findings]
    perhaps = [f"perhaps `{kind.value}`" for kind in expected.perhaps]
    return ", ".join([*always, *perhaps]) or "none"


def test_every_reconciliation_scenario_has_its_row_with_its_findings() -> None:
    """Each table names the kinds, arm by arm where they differ."""
    expected = read_expected(ROOT / "corpora" / "reconciliation" / "expected.toml")
    for study in expected.studies:
        table = PAGE.split(f"### `{study}`, reconciled\n", 1)[1].split("\n#", 1)[0]
        rows = [line for line in table.splitlines() if line.startswith("| `")]
        wanted = []
        for scenario in expected.of_study(study).values():
            assert scenario.expected is not None
            arms = [f"{arm}: {findings(in_arm)}" for arm, in_arm in scenario.arms.items()]
            says = "; ".join([findings(scenario.expected), *arms])
            wanted.append(f"| `{scenario.task}` | {scenario.what} | {ends(scenario.expected)} | {says} |")
        assert rows == wanted, study


def test_every_field_that_may_differ_is_named() -> None:
    """A reader knows what isn't compared."""
    for path in (*OF_THE_OCCASION, *OF_THE_INTERRUPTION):
        assert f"`{path}`" in PAGE or f"`.{path.rpartition('.')[2]}`" in PAGE, path
