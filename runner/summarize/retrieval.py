"""What the rankings of a run say beyond their figures: checks, findings, verdicts, and what wasn't looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.findings import FindingKind
from runner.core.gates import ABSTENTION, RETRIEVAL_LATENCIES
from runner.core.quantities import Measured, Unavailable
from runner.core.retrieval.section import Scope
from runner.core.rounding import PPM, scaled_ratio
from runner.core.summary import Check, FindingGroup, GateVerdict, NotChecked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.core.gates import Gate
    from runner.core.quantities import Quantity
    from runner.core.retrieval.scores import RetrievalTotals
    from runner.core.retrieval.section import RetrievalSection

_NO_SUCH: Final = Unavailable("no query of this scope was asked of it, in a trial that counts")
_MOST_NAMED: Final = 20


@dataclass(frozen=True)
class Seen:
    """What one attempt's program said of itself, and a digest of each of its rankings."""

    trial: str
    task: str
    arm: str
    attempt: int
    rankings: Mapping[str, str]
    """Query -> digest; empty where its output isn't whole."""
    failed: tuple[str, ...]
    """Queries."""
    unmapped: int
    depth: int | None
    threads: int | None
    """None where it didn't say."""


@dataclass(frozen=True)
class RetrievalFacts:
    """What a summary takes of the rankings of a run."""

    section: RetrievalSection
    seen: tuple[Seen, ...]
    depth: int
    threads: int
    """What the study declares."""


def asked_by_gates(gates: tuple[Gate, ...]) -> tuple[tuple[Scope, str], ...]:
    """Scopes and measures in which gates want systems compared."""
    return tuple(
        (_scope(gate), gate.measure) for gate in gates if gate.is_retrieval and gate.figure == "mean_difference"
    )


def retrieval_checks(facts: RetrievalFacts) -> tuple[Check, ...]:
    """Boundaries, repetition, and whether the programs did what the study declares."""
    differing = _differing(facts.seen)
    compared = len({(seen.task, seen.arm) for seen in facts.seen if _told_again(facts.seen, seen)})
    checks = [
        Check(
            name="boundaries kept",
            claim="No system returned a passage that whoever asked may not be given: of a foreign workspace, deleted, "
            "expired, or not yet known.",
            passed=not (broken := tuple(_broken(facts.section))),
            checked=sum(item.totals.results for item in facts.section.totals if item.scope == Scope()),
            failed=broken,
        ),
        Check(
            name="every query answered",
            claim="No query failed.",
            passed=not (failed := tuple(_failed(facts.section))),
            checked=sum(_asked(item.totals) for item in facts.section.totals if item.scope == Scope()),
            failed=failed,
        ),
        Check(
            name="searched as declared",
            claim="Every program that began to search did so with the study's depth and threads.",
            passed=not (others := tuple(_undeclared(facts))),
            checked=sum(seen.depth is not None for seen in facts.seen),
            failed=others,
        ),
    ]
    if compared:
        checks.append(
            Check(
                name="rankings repeat",
                claim="A system's rankings of a query set are the same in every repetition and attempt.",
                passed=not differing,
                checked=compared,
                failed=tuple(f"{trial}: {query}" for trial, query in differing[:_MOST_NAMED]),
            )
        )
    return tuple(checks)


def retrieval_omissions(facts: RetrievalFacts) -> tuple[NotChecked, ...]:
    """What this run couldn't check of its rankings, and what no retrieval study does."""
    found = [
        NotChecked(
            name="tokens, cost, turns and answers",
            reason="A retrieval study has no model: nothing is generated, billed or answered.",
        )
    ]
    if not any(_told_again(facts.seen, seen) for seen in facts.seen):
        reason = "No system was asked a query set twice."
        found.append(NotChecked(name="rankings repeat", reason=reason))
    found += [
        NotChecked(name=f"rankings of {item.task}", reason="In no repetition did every system have its say.")
        for item in facts.section.sets
        if not item.block
    ]
    return tuple(found)


def retrieval_findings(facts: RetrievalFacts) -> tuple[FindingGroup, ...]:
    """Rankings that differ, results that lead nowhere, queries that failed."""
    differing = _differing(facts.seen)
    failed = [(seen.trial, query) for seen in facts.seen for query in seen.failed]
    unmapped = [(seen.trial, seen.unmapped) for seen in facts.seen if seen.unmapped]
    groups = (
        (FindingKind.RANKINGS_DIFFER, len(differing), [trial for trial, _ in differing], differing),
        (FindingKind.QUERIES_FAILED, len(failed), [trial for trial, _ in failed], failed),
        (FindingKind.RESULTS_UNMAPPED, sum(count for _, count in unmapped), [trial for trial, _ in unmapped], unmapped),
    )
    return tuple(
        FindingGroup(
            kind=kind,
            count=count,
            trials=tuple(dict.fromkeys(trials)),
            example=_example(kind, examples[0][1]),
        )
        for kind, count, trials, examples in groups
        if count
    )


def judge_retrieval(gate: Gate, section: RetrievalSection | None) -> GateVerdict:
    """The verdict of a gate on rankings."""
    found = _NO_SUCH if section is None else _figure(gate, section)
    holds = isinstance(found, Measured) and (
        found.value >= gate.bound_scaled if gate.at_most is None else found.value <= gate.bound_scaled
    )
    return GateVerdict(
        name=gate.name,
        measure=gate.measure,
        arm=gate.arm,
        figure=gate.figure,
        end=gate.end,
        set=gate.set,
        split=gate.split,
        kind=gate.kind,
        comparison="at_least" if gate.at_most is None else "at_most",
        bound_scaled=gate.bound_scaled,
        found_scaled=found,
        verdict=("passed" if holds else "failed") if isinstance(found, Measured) else "not_judged",
    )


def _scope(gate: Gate) -> Scope:
    return Scope(task=gate.set, split=gate.split, kind=gate.kind)


def _figure(gate: Gate, section: RetrievalSection) -> Quantity:
    if gate.figure == "mean_difference":
        compared = section.contrast_of(_scope(gate), gate.arm, gate.measure)
        if compared is None:
            return _NO_SUCH
        ends: dict[str, Quantity] = {
            "low": compared.contrast.low_e9,
            "estimate": compared.contrast.difference_e9,
            "high": compared.contrast.high_e9,
        }
        return ends[gate.end]
    if gate.measure in RETRIEVAL_LATENCIES:
        spreads = [item.total for item in section.latencies if (item.task, item.arm) == (gate.set, gate.arm)]
        quantities: list[Quantity] = [
            item.p50_us if gate.measure == RETRIEVAL_LATENCIES[0] else item.p95_us for item in spreads
        ]
        return next(iter(quantities), _NO_SUCH)
    totals = section.totals_of(_scope(gate), gate.arm)
    return _NO_SUCH if totals is None else _value(gate, totals)


def _value(gate: Gate, totals: RetrievalTotals) -> Quantity:
    if gate.is_scored:
        means: list[Quantity] = [item.mean_e9 for item in totals.measures if item.measure == gate.measure]
        return next(iter(means), _NO_SUCH)
    match gate.measure:
        case "violations":
            return Measured(sum(totals.violations.values()))
        case "failed_queries":
            return Measured(totals.failed)
        case "unmapped_results":
            return Measured(totals.unmapped)
        case measure if measure == ABSTENTION:
            asked = totals.no_answer_queries
            return scaled_ratio(totals.no_answer_abstained, asked, PPM, "every query has an answer")
        case kind:
            return Measured(sum(count for name, count in totals.violations.items() if name == kind))


def _asked(totals: RetrievalTotals) -> int:
    return totals.queries + totals.no_answer_queries


def _own(section: RetrievalSection) -> Iterator[tuple[str, str, RetrievalTotals]]:
    """Task, arm and totals of each query set by itself."""
    for item in section.totals:
        if item.scope == Scope(task=item.scope.task) and item.scope.task:
            yield item.scope.task, item.arm, item.totals


def _broken(section: RetrievalSection) -> Iterator[str]:
    for task, arm, totals in _own(section):
        if totals.violations:
            kinds = ", ".join(f"{count} {kind}" for kind, count in totals.violations.items())
            yield f"{arm}, {task}: {kinds}, in {totals.violating_queries} of {_asked(totals)} queries"


def _failed(section: RetrievalSection) -> Iterator[str]:
    for task, arm, totals in _own(section):
        if totals.failed:
            yield f"{arm}, {task}: {totals.failed} of {_asked(totals)}"


def _undeclared(facts: RetrievalFacts) -> Iterator[str]:
    for seen in facts.seen:
        if seen.depth is not None and (seen.depth, seen.threads) != (facts.depth, facts.threads):
            yield f"{seen.trial} attempt {seen.attempt}: depth {seen.depth}, threads {seen.threads}"


def _told_again(everything: tuple[Seen, ...], seen: Seen) -> bool:
    key = seen.task, seen.arm
    return sum(bool(other.rankings) and (other.task, other.arm) == key for other in everything) > 1


def _differing(everything: tuple[Seen, ...]) -> list[tuple[str, str]]:
    """Trial and query of each ranking that isn't the first one that the system gave."""
    first: dict[tuple[str, str], Mapping[str, str]] = {}
    found: list[tuple[str, str]] = []
    for seen in everything:
        if seen.rankings:
            known = first.setdefault((seen.task, seen.arm), seen.rankings)
            found += [(seen.trial, query) for query, digest in seen.rankings.items() if known.get(query) != digest]
    return found


def _example(kind: FindingKind, detail: object) -> str:
    match kind:
        case FindingKind.RANKINGS_DIFFER:
            return f"query {detail}: not the ranking of an earlier trial or attempt"
        case FindingKind.QUERIES_FAILED:
            return f"query {detail}"
        case _:
            return "1 result leads to no source" if detail == 1 else f"{detail} results of a trial lead to no source"
