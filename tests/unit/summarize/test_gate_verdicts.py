from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.errors import EvidenceError
from runner.core.gates import Gate
from runner.core.outcomes import Outcome
from runner.core.quantities import Measured, Unavailable
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run

if TYPE_CHECKING:
    from runner.core.summary import GateVerdict

SPEC = RunSpec(tasks=("a", "b", "c", "d", "e", "f"), repetitions=2)


def verdict(spec: RunSpec = SPEC, **given: Any) -> GateVerdict:
    gate = Gate(**{"name": "cheaper", "measure": "cost_microusd", "arm": "memory", "end": "estimate", **given})
    run = make_run(spec)
    (found,) = summarize(replace(run.context, gates=(gate,)), run.plan, run.records, run.scores).gates
    return found


def test_a_gate_is_judged_on_the_figure_and_end_that_it_names() -> None:
    """The ratio of cost is 0.7 or so: its estimate is below 0.9, and at its own value both bounds hold."""
    found = verdict(at_most="0.9")
    assert (found.verdict, found.comparison, found.bound_scaled) == ("passed", "at_most", 900_000)
    assert isinstance(found.found_scaled, Measured)
    own = f"0.{found.found_scaled.value:06}"
    assert verdict(at_most=own).verdict == verdict(at_least=own).verdict == "passed"
    assert verdict(at_most="0.1").verdict == "failed"


def test_the_ends_of_an_interval_are_judged() -> None:
    """Low, estimate and high are three figures."""
    low, estimate, high = (verdict(end=end, at_most="0.9").found_scaled for end in ("low", "estimate", "high"))
    assert low.value < estimate.value < high.value
    difference = verdict(figure="mean_difference", end="high", at_most="0")
    assert difference.verdict == "passed"


def test_a_figure_that_does_not_exist_is_not_judged() -> None:
    """Three tasks have no interval; nothing is shown as passing that wasn't looked at."""
    few = RunSpec(tasks=("a", "b", "c"), repetitions=2)
    found = verdict(few, end="high", at_most="9")
    assert found.verdict == "not_judged"
    assert found.found_scaled == Unavailable("3 tasks with complete blocks; an interval needs at least 5")
    none = RunSpec(tasks=("a",), repetitions=1, outcomes={"a.r1.off": Outcome.TIMEOUT})
    assert verdict(none, at_least="0").verdict == "not_judged"


def test_a_gate_on_an_arm_that_the_run_lacks_is_refused() -> None:
    """The lock and the plan belong together."""
    with pytest.raises(EvidenceError, match=r"gates\.cheaper: 'other' is not a treatment of the run"):
        verdict(arm="other", at_most="1")
