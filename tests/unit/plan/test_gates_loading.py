"""Gates are read with the study, and what could never be judged is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.errors import StudyError
from runner.plan.load import load_study
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY, Surroundings

GATE = """
[[gates]]
name = "cheaper"
measure = "cost_microusd"
arm = "memory"
end = "high"
at_most = "0.95"
"""


def test_gates_stand_in_the_resolved_study(outside: Surroundings) -> None:
    """Their digest is the study's, which the lock holds."""
    plain = load_study(outside.study(CLAUDE_STUDY), outside.files).study
    gated = load_study(outside.study(CLAUDE_STUDY + GATE), outside.files).study
    assert [(gate.name, gate.figure, gate.end, gate.bound_scaled) for gate in gated.gates] == [
        ("cheaper", "ratio", "high", 950_000)
    ]
    assert plain.digest() != gated.digest()


def test_gates_that_could_not_be_judged_are_refused_at_once(outside: Surroundings) -> None:
    """The control as treatment, a name twice, a share without labels."""
    wrong = (
        COMMAND_STUDY
        + GATE.replace("memory", "off")
        + GATE.replace("memory", "joined").replace("cost_microusd", "references")
    )
    with pytest.raises(StudyError) as caught:
        load_study(outside.study(wrong), outside.files)
    study = Path("/studies/demo/study.toml")
    assert [str(problem) for problem in caught.value.problems] == [
        f"{study}: gates: the name 'cheaper' stands twice",
        f"{study}: gates.cheaper.arm: 'off' is not a treatment",
        f"{study}: gates.cheaper.measure: a study without labels has no such measure",
    ]
