"""The Makefile as a person meets it. It is asked with `-n`, so that nothing is done."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_help_is_the_default_and_fits_one_screen() -> None:
    """Typing `make` alone changes nothing and shows every target."""
    shown = make()
    assert shown.returncode == 0
    assert shown.stdout == make("help").stdout
    lines = shown.stdout.splitlines()
    assert len(lines) <= 24
    assert max(len(line) for line in lines) <= 100
    assert [line.split()[1] for line in lines][:6] == ["help", "bench", "test", "faults", "lint", "check"]


@pytest.mark.parametrize(
    ("target", "recipe"),
    [
        (
            "bench",
            [
                "scripts/bench.sh corpora/fixture/study.toml corpora/retrieval/study.toml corpora/reconsolidation/study.toml"
            ],
        ),
        ("test", ["scripts/test.sh"]),
        (
            "check",
            ["scripts/setup.sh", "scripts/lint.sh", ".venv/bin/pairbench images check", "scripts/test.sh"],
        ),
        ("images", ["scripts/setup.sh", "scripts/engine.sh start", ".venv/bin/pairbench images build"]),
    ],
)
def test_targets_come_with_what_they_need(target: str, recipe: list[str]) -> None:
    """In a fresh clone each of them works as the first thing that is typed."""
    assert [line.strip() for line in make("-n", target).stdout.splitlines()] == recipe


def test_bench_takes_other_studies() -> None:
    """The studies of `make bench` are a list."""
    assert make("-n", "bench", "STUDIES=a.toml b.toml").stdout.splitlines()[-1] == "scripts/bench.sh a.toml b.toml"


def test_arguments_reach_pytest() -> None:
    """Someone who works on one test can run it with everything set up."""
    assert make("-n", "test", "PYTEST=tests/unit -k plan").stdout.splitlines()[-1] == (
        "scripts/test.sh tests/unit -k plan"
    )


def test_an_unknown_target_fails() -> None:
    """A misspelt target isn't taken for a file that is up to date."""
    assert make("-n", "tset").returncode == 2
