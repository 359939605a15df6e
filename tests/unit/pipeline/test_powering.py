"""What a study can see, from a finished run or from what the user states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.core import layout
from runner.core.errors import EvidenceError, StudyError
from runner.core.quantities import Measured, Unavailable
from runner.core.rounding import rounded_quotient
from runner.pipeline.concluding import conclude
from runner.pipeline.executing import run_study
from runner.pipeline.locking import plan_study
from runner.pipeline.powering import Spreads, pilot_basis, power_of, stated_basis
from tests.fakes.pods import asking_client
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.resolved import ResolvedStudy
    from runner.core.summary import Summary
    from tests.fakes.surroundings import Surroundings

SPREADS = Spreads(task_milli=300, effect_milli=100, repetition_milli=300)


def study(outside: Surroundings, text: str = CLAUDE_STUDY) -> ResolvedStudy:
    return plan_study(outside.world, outside.study(text)).study


@pytest.fixture
def pilot(outside: Surroundings) -> tuple[Path, Summary]:
    outside.pods.roles["trial"] = asking_client
    folder = run_study(outside.world, outside.study(CLAUDE_STUDY)).folder
    return folder, conclude(outside.files, folder)


def test_a_pilot_says_what_trials_cost_and_take(outside: Surroundings, pilot: tuple[Path, Summary]) -> None:
    """Two tasks once more in both arms cost twice the sum of the arms' means; the study's own size stands among others."""
    folder, summary = pilot
    declared = study(outside)
    power = power_of(declared, pilot_basis(outside.files, folder, declared, "cost_microusd"), "cost_microusd", 500_000)
    costs = next(row for row in summary.views[0].totals if row.measure == "cost_microusd")
    block = sum(rounded_quotient(arm.total.value, costs.n_blocks) for arm in costs.arms)
    assert block > 0
    one = next(row for row in power.sizes if row.repetitions == 1)
    assert (one.trials, one.cost_microusd) == (4, Measured(2 * block))
    assert isinstance(one.time_ms, Measured)
    assert [row.repetitions for row in power.sizes] == [1, 2, 3, 5, 10, 20]
    assert power.basis == f"pilot {folder.name}, evidence: fixture"


def test_more_repetitions_see_smaller_effects(outside: Surroundings) -> None:
    """Both sides close in on 1, money stays unknown, and time is counted at the limits: 140 s a trial."""
    power = power_of(study(outside), stated_basis(study(outside), SPREADS), "cost_microusd")
    lows, highs = ([getattr(row, end).value for row in power.sizes] for end in ("low_ppm", "high_ppm"))
    assert lows == sorted(set(lows))
    assert highs == sorted(set(highs), reverse=True)
    assert power.sizes[0].cost_microusd == Unavailable("only a pilot says what a trial costs")
    assert [row.time_ms.value for row in power.sizes[:2]] == [560_000, 1_120_000]


def test_a_wanted_effect_asks_for_repetitions_or_tasks(outside: Surroundings) -> None:
    """Two tasks can't show a tenth, however often they are repeated; some twenty times as many can."""
    (wanted,) = power_of(study(outside), stated_basis(study(outside), SPREADS), "cost_microusd", 900_000).wanted
    assert wanted.repetitions == Unavailable("more than 1000 repetitions of 2 tasks would be needed: add tasks instead")
    assert isinstance(wanted.tasks, Measured)
    assert 40 < wanted.tasks.value < 100


def test_a_pilot_of_another_study_is_refused(outside: Surroundings, pilot: tuple[Path, Summary]) -> None:
    """Its arms say nothing of these."""
    with pytest.raises(StudyError, match="a pilot of this study has control off and one of joined"):
        pilot_basis(outside.files, pilot[0], study(outside, COMMAND_STUDY), "cost_microusd")


def test_a_pilot_that_does_not_match_its_summary_is_refused(outside: Surroundings, pilot: tuple[Path, Summary]) -> None:
    """Records that were changed after the seal are nobody's pilot."""
    folder, _ = pilot
    records = outside.files.read(folder / layout.RECORDS) or b""
    outside.files.write(folder / layout.RECORDS, records.splitlines(keepends=True)[0])
    with pytest.raises(EvidenceError, match="records and scores aren't those of its summary"):
        pilot_basis(outside.files, folder, study(outside), "cost_microusd")
