"""What `make faults` expects: read strictly, complete, and held against records without mercy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.collect.record import make_record
from runner.core.errors import StudyError
from runner.core.findings import FindingKind
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.core.records import AttemptRecord, Finding, Record
from runner.plan.load import load_study
from runner.wiring import make_files
from scripts.faults.expected import Expectation, Injection, Scenario, compare, read_expected
from tests.fakes.orders import planned

if TYPE_CHECKING:
    from collections.abc import Sequence

CORPORA = Path(__file__).resolve().parents[3] / "corpora"
FOLDERS = pytest.mark.parametrize(
    "folder", [CORPORA / "faults", CORPORA / "reconciliation"], ids=lambda path: path.name
)


@FOLDERS
def test_every_task_of_every_study_has_its_expectation(folder: Path) -> None:
    """In each arm of it; and nothing is expected of a task that isn't there."""
    expected = read_expected(folder / "expected.toml")
    for study in expected.studies:
        loaded = load_study(folder / f"{study}.toml", make_files()).study
        scenarios = expected.of_study(study)
        assert scenarios.keys() == {task.id for task in loaded.tasks}, study
        arms = [arm.name for arm in loaded.arms]
        assert [(name, arm) for name in scenarios for arm in arms if scenarios[name].in_arm(arm) is None] == []
        assert {arm for scenario in scenarios.values() for arm in scenario.arms} <= set(arms)


@FOLDERS
def test_no_scenario_expects_more_attempts_than_its_study_allows(folder: Path) -> None:
    """An expectation that can't come true isn't one."""
    expected = read_expected(folder / "expected.toml")
    for study in expected.studies:
        allowed = load_study(folder / f"{study}.toml", make_files()).study.schedule.attempts
        for scenario in expected.of_study(study).values():
            kinds = [*scenario.arms.values(), *([scenario.expected] if scenario.expected else [])]
            assert all(len(kind.attempts) <= allowed for kind in kinds), scenario.task


def test_a_scenario_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Two expectations of one thing are none."""
    scenario = '[[scenarios]]\nstudy = "a"\ntask = "b"\nwhat = "c"\nexpected = { attempts = ["timeout"] }\n'
    head = 'format = "pairbench/expected-faults"\nversion = 1\nstudies = ["a"]\nagain = []\n'
    path = tmp_path / "expected.toml"
    path.write_text(head + scenario + scenario, encoding="utf-8")
    with pytest.raises(StudyError, match="stands twice"):
        read_expected(path)


def test_a_faulty_scenario_is_one_that_breaks_a_block() -> None:
    """What was repeated and completed in the end doesn't."""
    completed = Expectation(attempts=(Outcome.GATEWAY_FAILED, Outcome.COMPLETED))
    timeout = Expectation(attempts=(Outcome.TIMEOUT,))
    assert not Scenario(study="s", task="t", what="", expected=completed).is_faulty()
    assert Scenario(study="s", task="t", what="", expected=completed, arms={"on": timeout}).is_faulty()


def ended(*outcomes: Outcome, reason: str = "", findings: Sequence[Finding] = (), **changes: Any) -> Record:
    """A record of these attempts."""
    attempts = tuple(
        AttemptRecord(number=number, outcome=outcome, reason="", observed=(), evidence={})
        for number, outcome in enumerate(outcomes, 1)
    )
    update = {"outcome": outcomes[-1], "reason": reason, "attempts": attempts, "findings": tuple(findings), **changes}
    return make_record(planned("off", task="t"), []).model_copy(update=update)


def faults(expected: Expectation, got: Record) -> tuple[str, ...]:
    (row,) = compare({"t": Scenario(study="s", task="t", what="", expected=expected)}, [got])
    return row.faults


KILLED = Finding(kind=FindingKind.PROCESSES_KILLED.value, detail="2 outlived the client: sh, sleep")


def test_what_ends_as_expected_is_no_fault() -> None:
    """Outcomes, reason, answer, findings and kills."""
    expected = Expectation(
        attempts=(Outcome.GATEWAY_FAILED, Outcome.COMPLETED),
        answer="2 answers",
        findings=(FindingKind.PROCESSES_KILLED,),
        kills=True,
    )
    got = ended(Outcome.GATEWAY_FAILED, Outcome.COMPLETED, answer="2 answers", findings=[KILLED])
    assert faults(expected, got) == ()
    some = expected.model_copy(update={"only": True, "perhaps": (FindingKind.CUT_STREAM,)})
    assert faults(some, got) == ()


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ({"attempts": (Outcome.COMPLETED,)}, "timeout: the deadline passed"),
        ({"attempts": (Outcome.TIMEOUT, Outcome.TIMEOUT)}, "timeout: the deadline passed"),
        ({"reason": "the host ended it"}, "the reason is 'the deadline passed'"),
        ({"answer": "nothing"}, "the answer is ''"),
        ({"findings": (FindingKind.USAGE_MISSING,)}, "without usage_missing"),
        ({"kills": True}, "nothing had to be killed"),
        ({"only": True}, "with cut_stream, cut_stream_counted"),
        ({"only": True, "findings": (FindingKind.CUT_STREAM,)}, "with cut_stream_counted"),
        ({"only": True, "perhaps": (FindingKind.CUT_STREAM,)}, "with cut_stream_counted"),
    ],
)
def test_whatever_differs_is_a_fault(expected: dict[str, Any], fault: str) -> None:
    """And is told in one line."""
    whole = Expectation.model_validate({"attempts": (Outcome.TIMEOUT,), **expected})
    kinds = (FindingKind.CUT_STREAM, FindingKind.CUT_STREAM_COUNTED)
    found = [Finding(kind=kind.value, detail="") for kind in kinds]
    assert faults(whole, ended(Outcome.TIMEOUT, reason="the deadline passed", findings=found)) == (fault,)


def test_nothing_is_passed_over() -> None:
    """A record without a scenario, a scenario without a record, and an arm of which nobody says anything."""
    timeout = Expectation(attempts=(Outcome.TIMEOUT,))
    got = ended(Outcome.TIMEOUT)
    assert [row.faults for row in compare({}, [got])] == [("nobody says what is expected",)]
    known = Scenario(study="s", task="t", what="", arms={"on": timeout})
    assert [row.faults for row in compare({"t": known}, [got])] == [("nobody says what is expected",)]
    missing = Scenario(study="s", task="other", what="", expected=timeout)
    rows = list(compare({"other": missing}, []))
    assert [(row.scenario, row.faults) for row in rows] == [("other", ("it didn't run",))]


def test_a_row_says_how_long_it_took_and_what_was_killed() -> None:
    """By the supervisor's clock, else by the runner's, else not at all."""
    scenario = {"t": Scenario(study="s", task="t", what="", expected=Expectation(attempts=(Outcome.TIMEOUT,)))}
    got = ended(Outcome.TIMEOUT, findings=[KILLED])
    none = Unavailable("gone")
    for wall, pod, shown in (
        (Measured(1234), Measured(9), "1.23 s"),
        (none, Measured(5000), "5.00 s"),
        (none, none, "?"),
    ):
        timed = got.model_copy(update={"timing": got.timing.model_copy(update={"wall_ms": wall, "pod_ms": pod})})
        (row,) = compare(scenario, [timed])
        assert (row.ended_after, row.killed) == (shown, "2: sh, sleep")


def test_an_injection_says_what_it_strikes() -> None:
    """Only containers of a pod, only these signals, in at least one attempt."""
    with pytest.raises(ValueError, match="signal"):
        Injection.model_validate({"role": "trial", "signal": "TERM", "attempts": [1]})
    with pytest.raises(ValueError, match="attempts"):
        Injection.model_validate({"role": "trial", "signal": "KILL", "attempts": []})
