"""An assessment in words, for a terminal: its first line says who made it, and every gate has a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.quantities import Measured
from runner.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.reconsolidation.assessment import Assessment, GateResult

_PPM_TO_PERCENT = 10_000


def told(assessment: Assessment) -> str:
    """The assessment in lines."""
    return "\n".join(visible(line) for line in _lines(assessment)) + "\n"


def _lines(found: Assessment) -> Iterator[str]:
    yield found.about
    yield found.activation
    passed = sum(gate.verdict == "passed" for gate in found.gates)
    yield f"{'passed' if found.passed else 'not passed'}: {passed} of {len(found.gates)} gates"
    yield f"run {found.run.name}: lock {found.run.lock_sha256}, register {found.register_sha256}"
    if found.earlier:
        first = found.earlier[0]
        told = f"assessment {len(found.earlier) + 1} of this run: whoever decided may have known the ones before"
        yield f"{told}, the first of them {first.assessment_sha256} of {first.date}"
    yield f"holdout: claimed {found.holdout_claim}, inspected {found.holdout_inspected}"
    for review in found.reviews:
        right = review.positives_right + review.negatives_right
        known = review.positives + review.negatives
        who = f"reviewer {review.reviewer} ({review.kind})"
        yield f"{who}: signature {review.signature}, {right} of {known} known answers"
    agreement = found.agreement
    yield (
        f"agreement: {_counted(agreement.reviewers, 'reviewer')}, "
        f"{agreement.disagreed} of {agreement.entries} outputs disagreed, "
        f"Krippendorff's alpha {_thousandths(agreement.alpha_ppm)}"
    )
    for arm in found.arms:
        yield (
            f"{arm.arm}, {arm.split}: matched {arm.matched} of {arm.produced} outputs, of {arm.labels} labels; "
            f"repeated {arm.repeated}, uncertain {arm.uncertain}, not equivalent {arm.not_equivalent}, "
            f"disagreed {arm.disagreed}; precision {_percent(arm.precision_ppm)}, recall {_percent(arm.recall_ppm)}"
        )
    for score in found.v1:
        verdict = "passed" if score.passed else f"not passed ({', '.join(score.not_met)})"
        yield f"v1 verdict, {score.arm}, {score.split}: {verdict}"
    yield from _gates(found.gates)
    for line in found.not_checked:
        yield f"not checked: {line}"


def _gates(gates: Sequence[GateResult]) -> Iterator[str]:
    """A line for all that are met of one gate, and one for each that isn't, with its reasons."""
    met: dict[tuple[str, str], list[str]] = {}
    for gate in gates:
        if gate.verdict in ("passed", "fixture"):
            met.setdefault((gate.gate, gate.verdict), []).append(gate.figure)
    for (name, verdict), figures in met.items():
        words = "passed" if verdict == "passed" else "met, by a fixture, which passes nothing"
        yield f"gate {name}: {words}, {_counted(len(figures), 'time')} ({', '.join(figures)})"
    for gate in gates:
        if gate.verdict not in ("passed", "fixture"):
            place = "".join(f", {part}" for part in (gate.arm, gate.split) if part)
            yield f"gate {gate.gate}{place}: {gate.verdict} ({gate.figure}; {gate.threshold})"
            yield from (f"  {reason}" for reason in gate.reasons)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _percent(quantity: object) -> str:
    if not isinstance(quantity, Measured):
        return "undefined"
    return f"{quantity.value // _PPM_TO_PERCENT}.{quantity.value % _PPM_TO_PERCENT // 1000} %"


def _thousandths(quantity: object) -> str:
    if not isinstance(quantity, Measured):
        return "undefined"
    sign = "-" if quantity.value < 0 else ""
    return f"{sign}{abs(quantity.value) // 1_000_000}.{abs(quantity.value) % 1_000_000 // 1000:03}"
