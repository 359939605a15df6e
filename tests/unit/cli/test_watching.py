"""Whoever watches a run sees each trial once, and everything that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.cli.progress import Watch
from runner.core.outcomes import Outcome
from tests.fakes.orders import planned

if TYPE_CHECKING:
    import pytest


def test_away_from_a_terminal_lines_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error: what begins, how many trials there are, and what failed."""
    with Watch() as watch:
        watch.step("embedding [3] of 5")
        watch.planned(2)
        watch.trial_started(planned("off"), 1)
        watch.trial_ended(planned("off"), 1, Outcome.COMPLETED, "")
        watch.trial_ended(planned("on"), 1, Outcome.TIMEOUT, "the deadline [20 s] passed")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "· embedding [3] of 5",
        "· 2 trials",
        "! first.r1.on attempt 1: timeout: the deadline [20 s] passed",
    ]


def test_on_a_terminal_a_trial_that_is_tried_again_counts_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bar ends at the number of trials, and a success in the second attempt is no failure."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with Watch() as watch:
        watch.planned(2)
        watch.trial_started(planned("off"), 1)
        watch.trial_ended(planned("off"), 1, Outcome.INFRASTRUCTURE, "it broke")
        watch.trial_started(planned("off"), 2)
        watch.trial_ended(planned("off"), 2, Outcome.COMPLETED, "")
        watch.trial_ended(planned("on"), 1, Outcome.COMPLETED, "")
    said = capsys.readouterr().err
    assert "2/2" in said
    assert "3/2" not in said
    assert "first.r1.off attempt 1: infrastructure: it broke" in said
    last = said.rpartition("2/2")[2]
    assert "not completed" not in last
