"""Which planned trials there are, how each ended, and which blocks that leaves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.core.outcomes import Outcome
from runner.core.summary import Census, CensusRow, OutcomeCount, TaskCount

if TYPE_CHECKING:
    from runner.summarize.trials import Block, Trial


def take_census(trials: tuple[Trial, ...], blocks: tuple[Block, ...], arms: tuple[str, ...]) -> Census:
    """One row for every planned trial, and counts by arm and by task."""
    by_name = {block.name: block for block in blocks}
    by_arm = Counter((trial.planned.arm, trial.record.outcome) for trial in trials)
    return Census(
        rows=tuple(_row(trial, by_name[trial.planned.block]) for trial in trials),
        by_arm=tuple(
            OutcomeCount(arm=arm, outcome=outcome, trials=by_arm[arm, outcome])
            for arm in arms
            for outcome in Outcome
            if by_arm[arm, outcome]
        ),
        by_task=_by_task(trials, arms),
        blocks=len(blocks),
        complete_blocks=sum(block.complete for block in blocks),
    )


def _row(trial: Trial, block: Block) -> CensusRow:
    place = trial.planned
    return CensusRow(
        trial=place.trial,
        block=place.block,
        task=place.task,
        arm=place.arm,
        repetition=place.repetition,
        position=place.position,
        outcome=trial.record.outcome,
        reason=trial.record.reason,
        attempts=len(trial.record.attempts),
        block_complete=block.complete,
        why_not="; ".join(block.faults()),
    )


def _by_task(trials: tuple[Trial, ...], arms: tuple[str, ...]) -> tuple[TaskCount, ...]:
    grouped: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        grouped.setdefault((trial.planned.task, trial.planned.arm), []).append(trial)
    tasks = sorted({task for task, _ in grouped})
    return tuple(_task_count(task, arm, grouped[task, arm]) for task in tasks for arm in arms if (task, arm) in grouped)


def _task_count(task: str, arm: str, trials: list[Trial]) -> TaskCount:
    completed = sum(trial.consequence.in_pairs for trial in trials)
    failed = sum(trial.consequence.failure for trial in trials)
    return TaskCount(
        task=task,
        arm=arm,
        planned=len(trials),
        completed=completed,
        failed=failed,
        other=len(trials) - completed - failed,
    )
