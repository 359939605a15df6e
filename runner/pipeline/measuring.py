"""What scorer v1 and the records say of a run that is reviewed: the facts that its gates look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.adjudicate.facts import RunFacts
from runner.core import layout
from runner.core.reconsolidation.assessment import ArmScore
from runner.core.reconsolidation.baseline import control_answers
from runner.core.reconsolidation.floors import FloorFigures, floor_figures
from runner.measure.reconsolidation import v1
from runner.pipeline.reviewed import complete_repeats, missing, unknown_usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.reconsolidation.contract import Floor
    from runner.core.reconsolidation.observation import Observation
    from runner.pipeline.reviewed import ReviewedRun
    from runner.pipeline.world import World


def run_facts(world: World, run: ReviewedRun, holdout_run: str, newer: Mapping[str, bytes]) -> RunFacts:
    """The facts of `run`; `holdout_run` was scored over its holdout before, "" for none.

    `newer` has files of other studies, by the name of the floor that they are held against.
    """
    scores: dict[tuple[str, str], ArmScore] = {}
    covered: dict[tuple[str, str], dict[tuple[str, str], frozenset[int]]] = {}
    for arm in run.plan.arms:
        trials = {trial.trial: trial.repetition for trial in run.trials(arm)}
        for split, corpus in run.corpora.items():
            names = {case.id for case in corpus.cases}
            seen = [one for one in run.observations if one.trial in trials and one.case in names]
            scores[arm, split] = _scored(run, arm, split, seen)
            covered[arm, split] = _covered(run, seen, trials)
    return RunFacts(
        scores=scores,
        covered=covered,
        repeats=complete_repeats(run),
        unmeasured=tuple(missing(run)),
        unknown_usage=tuple(unknown_usage(run)),
        floors={floor.name: _floor(world, run, floor, newer.get(floor.name)) for floor in run.contract.terms.floors},
        references={
            split: frozenset((case, probe) for _, case, probe, _ in control_answers([corpus]))
            for split, corpus in run.corpora.items()
        },
        holdout_run=holdout_run,
    )


def _scored(run: ReviewedRun, arm: str, split: str, seen: list[Observation]) -> ArmScore:
    cases = {name: case.json_value() for name, case in run.cases().items()}
    totals = v1.total([v1.score(dict(cases[one.case]), dict(one.json_value())) for one in seen])
    verdict = v1.verdict(totals)
    return ArmScore(
        arm=arm,
        split=split,
        counts=totals,
        passed=verdict["passed"],
        not_met=tuple(sorted(name for name, check in verdict["checks"].items() if not check["met"])),
    )


def _covered(
    run: ReviewedRun, seen: list[Observation], trials: dict[str, int]
) -> dict[tuple[str, str], frozenset[int]]:
    cases = {name: case.json_value() for name, case in run.cases().items()}
    found: dict[tuple[str, str], frozenset[int]] = {}
    for one in seen:
        for probe in v1.covered(dict(cases[one.case]), dict(one.json_value())):
            found[one.case, probe] = found.get((one.case, probe), frozenset()) | {trials[one.trial]}
    return found


def _floor(world: World, run: ReviewedRun, floor: Floor, newer: bytes | None) -> FloorFigures:
    return floor_figures(floor, world.files.read(run.folder / layout.floor(floor.name)), newer)
