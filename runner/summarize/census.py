"""Which planned trials there are, how each ended, and which blocks that leaves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.summary import Census, CensusRow, OutcomeCount, TaskCount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runner.summarize.trials import Table


def take_census(table: Table) -> Census:
    """One row for every planned trial, and counts by arm and by task."""
    complete = table.complete()
    faults = _faults(table, complete)
    places = table.plan.trials
    by_arm = Counter((place.arm, outcome) for place, outcome in zip(places, table.outcomes, strict=True))
    rows = zip(places, table.outcomes, table.reasons, table.attempts, strict=True)
    return Census(
        rows=tuple(
            CensusRow(
                trial=place.trial,
                block=place.block,
                task=place.task,
                arm=place.arm,
                repetition=place.repetition,
                position=place.position,
                outcome=outcome,
                reason=reason,
                attempts=attempts,
                block_complete=place.block not in faults,
                why_not=faults.get(place.block, ""),
            )
            for place, outcome, reason, attempts in rows
        ),
        by_arm=tuple(
            OutcomeCount(arm=arm, outcome=outcome, trials=by_arm[arm, outcome])
            for arm in table.arms
            for outcome in Outcome
            if by_arm[arm, outcome]
        ),
        by_task=_by_task(table),
        blocks=len(table.block_names),
        complete_blocks=int(complete.sum()),
    )


def _faults(table: Table, complete: NDArray[np.bool_]) -> dict[str, str]:
    """Of each block that isn't complete: which arms keep it from being so, and how they ended."""
    found: dict[str, str] = {}
    for number in np.flatnonzero(~complete):
        ends = zip(table.arms, (table.outcomes[index] for index in table.grid[:, number]), strict=True)
        said = (f"{arm} ended {outcome}" for arm, outcome in ends if not CONSEQUENCES[outcome].in_pairs)
        found[table.block_names[number]] = "; ".join(said)
    return found


def _by_task(table: Table) -> tuple[TaskCount, ...]:
    grouped: dict[tuple[str, str], Counter[Outcome]] = {}
    for place, outcome in zip(table.plan.trials, table.outcomes, strict=True):
        grouped.setdefault((place.task, place.arm), Counter())[outcome] += 1
    tasks = sorted({task for task, _ in grouped})
    return tuple(
        _task_count(task, arm, grouped[task, arm]) for task in tasks for arm in table.arms if (task, arm) in grouped
    )


def _task_count(task: str, arm: str, outcomes: Counter[Outcome]) -> TaskCount:
    planned = outcomes.total()
    completed = sum(count for outcome, count in outcomes.items() if CONSEQUENCES[outcome].in_pairs)
    failed = sum(count for outcome, count in outcomes.items() if CONSEQUENCES[outcome].failure)
    return TaskCount(
        task=task, arm=arm, planned=planned, completed=completed, failed=failed, other=planned - completed - failed
    )
