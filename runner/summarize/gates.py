"""Does each frozen threshold hold? Over complete blocks; a figure that doesn't exist is judged by nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.errors import EvidenceError
from runner.core.quantities import Measured, Quantity
from runner.core.summary import GateVerdict
from runner.summarize.retrieval import judge_retrieval

if TYPE_CHECKING:
    from runner.core.gates import Gate
    from runner.core.retrieval.section import RetrievalSection
    from runner.core.summary import Contrast, Estimate, View


def judge(gates: tuple[Gate, ...], view: View, section: RetrievalSection | None = None) -> tuple[GateVerdict, ...]:
    """The verdict of every gate; those on rankings are held against `section`.

    Raises:
        EvidenceError: a gate names an arm that isn't a treatment of the run.
    """
    contrasts = {(contrast.measure, contrast.arm): contrast for contrast in view.contrasts}
    return tuple(judge_retrieval(gate, section) if gate.is_retrieval else _verdict(gate, contrasts) for gate in gates)


def _verdict(gate: Gate, contrasts: dict[tuple[str, str], Contrast]) -> GateVerdict:
    contrast = contrasts.get((gate.measure, gate.arm))
    if contrast is None:
        raise EvidenceError(
            f"{gate.arm!r} is not a treatment of the run", document="lock.json", key=f"gates.{gate.name}"
        )
    found = _found(gate, contrast)
    return GateVerdict(
        name=gate.name,
        measure=gate.measure,
        arm=gate.arm,
        figure=gate.figure,
        end=gate.end,
        comparison="at_least" if gate.at_most is None else "at_most",
        bound_scaled=gate.bound_scaled,
        found_scaled=found,
        verdict=("passed" if _holds(gate, found.value) else "failed") if isinstance(found, Measured) else "not_judged",
    )


def _found(gate: Gate, contrast: Contrast) -> Quantity:
    estimates: dict[str, Estimate] = {
        "ratio": contrast.ratio_ppm,
        "mean_difference": contrast.mean_difference_scaled,
        "median_difference": contrast.median_difference_scaled,
    }
    estimate = estimates[gate.figure]
    ends: dict[str, Quantity] = {"low": estimate.low, "estimate": estimate.value, "high": estimate.high}
    return ends[gate.end]


def _holds(gate: Gate, found: int) -> bool:
    return found >= gate.bound_scaled if gate.at_most is None else found <= gate.bound_scaled
