"""Are the gates of the contract met? Each is held by counts; a share of nothing is undefined, and no success."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from runner.core.quantities import Measured, Unavailable
from runner.core.reconsolidation.assessment import GateResult
from runner.core.rounding import PPM

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from runner.adjudicate.facts import RunFacts
    from runner.core.reconsolidation.assessment import ArmReview, ReviewedDecisions
    from runner.core.reconsolidation.contract import Contract, ContractArm, Terms
    from runner.core.reconsolidation.floors import FloorFigures

Verdict: TypeAlias = Literal["passed", "failed", "undefined"]
_FAULTS: Final = ("false_merge_pairs", "lost_facts", "boundary_violations", "invalid_observations")
_MOST_REASONS: Final = 20


def gate_results(
    contract: Contract,
    facts: RunFacts,
    reviews: Sequence[ReviewedDecisions],
    arms: Sequence[ArmReview],
    *,
    fixture: bool,
) -> tuple[GateResult, ...]:
    """Every gate of `contract`; where a fixture decided, those that are met say so instead of passing."""
    found = _gates(contract, facts, reviews, arms)
    if not fixture:
        return tuple(found)
    return tuple(gate.model_copy(update={"verdict": "fixture"}) if gate.verdict == "passed" else gate for gate in found)


def _gates(
    contract: Contract, facts: RunFacts, reviews: Sequence[ReviewedDecisions], arms: Sequence[ArmReview]
) -> Iterator[GateResult]:
    terms = contract.terms
    reviewed = {(one.arm, one.split): one for one in arms}
    for arm in terms.arms:
        for place in (key for key in reviewed if key[0] == arm.name):
            yield from _of_every_arm(terms, facts, place)
            if arm.mode == "original_only":
                yield _of_the_control(terms, facts, place)
            else:
                yield from _of_treatments(terms, facts, place)
            if arm.mode == "connections":
                yield from _of_connections(terms, arm, facts, reviewed[place])
    yield _none_of("measured_rows", facts.unmeasured)
    yield _none_of("known_usage", facts.unknown_usage)
    yield from _of_reviewers(terms, reviews)
    yield from _floors(terms, facts.floors)
    claim = "the contract claims a fresh holdout, and {run} was scored over it before"
    is_false = not terms.holdout_seen_before and bool(facts.holdout_run)
    yield _none_of("holdout_claim", (claim.format(run=facts.holdout_run),) if is_false else ())


def _of_every_arm(terms: Terms, facts: RunFacts, place: tuple[str, str]) -> Iterator[GateResult]:
    complete = facts.repeats.get(place, 0)
    yield _gate("complete_repeats", place, _verdict(complete == terms.repeats), (str(complete), str(terms.repeats)))
    counts = facts.scores[place].counts
    for name in _FAULTS:
        yield _gate(name, place, _verdict(counts[name] == 0), (str(counts[name]), "0"))


def _of_the_control(terms: Terms, facts: RunFacts, place: tuple[str, str]) -> GateResult:
    """A control that answers less than it could would lift whatever is held against it."""
    wanted = facts.references[place[1]]
    lost = _lost(wanted, facts.covered.get(place, {}), terms)
    gate = _share_gate("control_references", place, (len(wanted) - len(lost), len(wanted)), terms)
    return gate if gate.verdict != "failed" else gate.model_copy(update={"reasons": tuple(lost[:_MOST_REASONS])})


def _lost(
    wanted: Collection[tuple[str, str]], held: Mapping[tuple[str, str], frozenset[int]], terms: Terms
) -> list[str]:
    """Those of the `wanted` probes that aren't covered in every repeat."""
    return [
        f"{case} {probe}: covered in {len(held.get((case, probe), ()))} of {terms.repeats} repeats"
        for case, probe in sorted(wanted)
        if len(held.get((case, probe), ())) < terms.repeats
    ]


def _of_treatments(terms: Terms, facts: RunFacts, place: tuple[str, str]) -> Iterator[GateResult]:
    counts = facts.scores[place].counts
    part, whole = counts["duplicate_classes_covered"], counts["duplicate_classes"]
    yield _share_gate("duplicate_coverage", place, (part, whole), terms)
    control = facts.covered.get((terms.control, place[1]), {})
    lost = _lost(control, facts.covered.get(place, {}), terms)
    yield _gate("no_probe_lost", place, _verdict(not lost), (str(len(lost)), "0"), lost)


def _of_connections(terms: Terms, arm: ContractArm, facts: RunFacts, review: ArmReview) -> Iterator[GateResult]:
    place = arm.name, review.split
    yield _share_gate("precision", place, (review.matched, review.produced), terms)
    yield _share_gate("recall", place, (review.matched, review.labels), terms)
    counts, control = facts.scores[place].counts, facts.scores[terms.control, review.split].counts
    same = counts["probes"] == control["probes"]
    gained = counts["probes_covered"] - control["probes_covered"]
    gate = _share_gate("answer_lift", place, (gained, counts["probes"] if same else 0), terms)
    unequal = f"the control was asked {control['probes']} probes, and {arm.name} {counts['probes']}"
    yield gate if same else gate.model_copy(update={"reasons": (unequal,)})


def _of_reviewers(terms: Terms, reviews: Sequence[ReviewedDecisions]) -> Iterator[GateResult]:
    for review in reviews:
        known = review.positives + review.negatives
        right = review.positives_right + review.negatives_right
        if terms.asks_attention:
            yield _share_gate("attention", (review.reviewer, ""), (right, known), terms)


def _floors(terms: Terms, figures: Mapping[str, FloorFigures]) -> Iterator[GateResult]:
    for floor in terms.floors:
        gate, bound = f"floor {floor.name}", "at least" if floor.better == "higher" else "at most"
        match figures[floor.name].pinned, figures[floor.name].found:
            case Measured(pinned), Measured(found):
                kept = found >= pinned if floor.better == "higher" else found <= pinned
                yield _gate(gate, ("", ""), _verdict(kept), (str(found), f"{bound} {pinned}"))
            case pinned, found:
                reasons = [one.reason for one in (pinned, found) if isinstance(one, Unavailable)]
                yield _gate(gate, ("", ""), "failed", ("unavailable", f"{bound} what it was"), reasons)


def _none_of(gate: str, reasons: Sequence[str]) -> GateResult:
    return _gate(gate, ("", ""), _verdict(not reasons), (str(len(reasons)), "0"), reasons)


def _share_gate(gate: str, place: tuple[str, str], share: tuple[int, int], terms: Terms) -> GateResult:
    part, whole = share
    told = f"{part} of {whole}", f"at least {getattr(terms.thresholds, gate)}"
    if whole == 0:
        return _gate(gate, place, "undefined", told, ("a share of nothing is undefined, and no success",))
    return _gate(gate, place, _verdict(part * PPM >= terms.thresholds.ppm(gate) * whole), told)


def _verdict(is_met: bool) -> Verdict:  # noqa: FBT001 - a name for a truth value
    return "passed" if is_met else "failed"


def _gate(
    gate: str, place: tuple[str, str], verdict: Verdict, told: tuple[str, str], reasons: Sequence[str] = ()
) -> GateResult:
    """`told` is the figure and its threshold."""
    shown = list(reasons[:_MOST_REASONS])
    if len(reasons) > _MOST_REASONS:
        shown.append(f"and {len(reasons) - _MOST_REASONS} more")
    return GateResult(
        gate=gate,
        arm=place[0],
        split=place[1],
        verdict=verdict,
        figure=told[0],
        threshold=told[1],
        reasons=tuple(shown),
    )
