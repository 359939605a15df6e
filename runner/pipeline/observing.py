"""What the stores of reconsolidation trials come to: observations, what the control answered, and a section.

Observations are made of raw evidence alone, and counts of observations and labels alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.collect.observing import nothing_observed, observe, store_of
from runner.core import layout
from runner.core.errors import EvidenceError
from runner.core.evidence import SIDECAR
from runner.core.ledger import LedgerLine
from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.quantities import Unavailable
from runner.core.reconsolidation.baseline import baseline_of
from runner.core.reconsolidation.section import MemoryScore, ReconsolidationSection, RuleCheck
from runner.measure.reconsolidation import v1
from runner.pipeline.folder import required
from runner.plan.reconsolidation_studies import opaque_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.collect.observing import Store
    from runner.core.canonical import Json
    from runner.core.plan import PlannedTrial
    from runner.core.reconsolidation.baseline import ControlBaseline
    from runner.core.reconsolidation.observation import Observation
    from runner.pipeline.folder import Run
    from runner.pipeline.outlets import Outlet
    from runner.ports.files import Files


def reconsolidation_of(
    run: Run, files: Files, outlet: Outlet, ends: Mapping[str, tuple[Outcome, str]]
) -> ReconsolidationSection:
    """What the stores of a reconsolidation run come to; `ends` says how each of its trials ended, and why.

    Raises:
        EvidenceError: a file is missing, or what the control answered isn't what was frozen.
    """
    sink = outlet.sink(layout.OBSERVATIONS)
    scores: dict[tuple[str, str], list[dict[str, int]]] = {}
    ended: Counter[tuple[str, str, str]] = Counter()
    control: list[Observation] = []
    for planned in run.plan.trials:
        outcome, _ = ends[planned.trial]
        place = planned.task, planned.arm
        ended[(*place, _standing(outcome))] += 1
        observed = _observed(run, files, planned, outcome)
        for seen in observed:
            sink.put(seen.to_line())
        scores.setdefault(place, []).extend(_scored(run, planned.task, observed))
        control += observed if planned.arm == run.study.control else ()
    frozen = _frozen(run, files, baseline_of(run.study.control, control))
    arms = (run.study.control, *(arm.name for arm in run.study.arms if arm.name != run.study.control))
    return ReconsolidationSection(
        scorer=v1.VERSION,
        corpus_sha256=run.lock.reconsolidation_sha256,
        observations_sha256=sink.digest(),
        baseline_sha256=frozen,
        scores=tuple(
            _memory_score(run, task.id, arm, scores.get((task.id, arm), []), ended)
            for task in run.study.tasks
            for arm in arms
        ),
    )


def control_baseline(run: Run, files: Files) -> ControlBaseline:
    """What the control answered, from the evidence of its trials, every one of which completed."""
    trials = (planned for planned in run.plan.trials if planned.arm == run.study.control)
    seen = (one for planned in trials for one in _observed(run, files, planned, Outcome.COMPLETED))
    return baseline_of(run.study.control, seen)


def _frozen(run: Run, files: Files, found: ControlBaseline) -> str:
    """The digest of what was frozen; "" where nothing was.

    Raises:
        EvidenceError: it isn't what the evidence gives.
    """
    digest = run.ledger.other_files.get(layout.BASELINE, "")
    if digest and required(files, run.folder, layout.BASELINE) != found.to_bytes():
        raise EvidenceError("it isn't what the evidence of the control gives", document=layout.BASELINE)
    return digest


def _standing(outcome: Outcome) -> str:
    if outcome is Outcome.COMPLETED:
        return "observed"
    return "failed" if CONSEQUENCES[outcome].failure else "other"


def _observed(run: Run, files: Files, planned: PlannedTrial, outcome: Outcome) -> tuple[Observation, ...]:
    """The trial's observations; none of a trial whose end says nothing of its memory."""
    corpus, given = run.reconsolidation[planned.task], run.study.task(planned.task).cases
    if given is None:
        raise EvidenceError(f"the task {planned.task!r} has no cases", document=layout.STUDY)
    names = opaque_names(corpus, run.study.seed, planned.task)
    order = {case.id: number for number, case in enumerate(corpus.cases)}
    if outcome is Outcome.COMPLETED:
        found = observe(planned.trial, given, names, _store(run, files, planned))
    elif CONSEQUENCES[outcome].failure:
        found = nothing_observed(planned.trial, given, names)
    else:
        return ()
    return tuple(sorted(found, key=lambda seen: order[seen.case]))


def _store(run: Run, files: Files, planned: PlannedTrial) -> Store:
    lines = [LedgerLine.from_bytes(line, layout.LEDGER) for line in run.ledger.ends_of(planned.trial)]
    place = f"{layout.attempt_folder(planned.trial, lines[-1].attempt)}/{SIDECAR}"
    store = store_of(required(files, run.folder, place))
    if isinstance(store, Unavailable):
        raise EvidenceError(store.reason, document=place)
    return store


def _scored(run: Run, task: str, observed: Sequence[Observation]) -> Iterator[dict[str, int]]:
    cases = {case.id: case.json_value() for case in run.reconsolidation[task].cases}
    for seen in observed:
        yield v1.score(cases[seen.case], seen.json_value())


def _memory_score(
    run: Run, task: str, arm: str, scores: list[dict[str, int]], ended: Mapping[tuple[str, str, str], int]
) -> MemoryScore:
    counts = v1.total(scores)
    verdict = v1.verdict(counts)
    system = run.study.arm(arm).system
    observed = ended.get((task, arm, "observed"), 0)
    planned = sum(1 for one in run.plan.trials if (one.task, one.arm) == (task, arm))
    return MemoryScore(
        split=run.reconsolidation[task].split,
        arm=arm,
        mode=getattr(system, "mode", ""),
        trials=planned,
        observed=observed,
        failed=ended.get((task, arm, "failed"), 0),
        counts=counts,
        checks=tuple(_check(name, check) for name, check in verdict["checks"].items()),
        passed=bool(verdict["passed"]) and observed == planned,
    )


def _check(name: str, check: Mapping[str, Json]) -> RuleCheck:
    counts, share = Unavailable("it counts what may not be"), check.get("share_ppm", "undefined")
    nothing = Unavailable("there is nothing to divide by") if "of" in check else counts
    return RuleCheck.model_validate(
        {
            "name": name,
            "met": check["met"],
            "count": check["count"],
            "of": check.get("of", counts),
            "share_ppm": share if isinstance(share, int) else nothing,
        }
    )
