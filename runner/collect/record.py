"""The attempts of a planned trial become its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.collect.attempt import AttemptResult
from runner.collect.timing import no_timing
from runner.core.outcomes import Outcome
from runner.core.quantities import Unavailable
from runner.core.records import NOT_CAPPED, AttemptRecord, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.plan import PlannedTrial

_NOT_RUN_REASON = "the trial was planned and never started"
_NOT_RUN = AttemptResult(
    outcome=Outcome.NOT_RUN,
    reason=_NOT_RUN_REASON,
    answer="",
    observed=(),
    observed_memory=(),
    charged_microusd=NOT_CAPPED,
    reported=(),
    reported_cost_microusd=Unavailable(_NOT_RUN_REASON),
    turns=Unavailable(_NOT_RUN_REASON),
    tool_calls=(),
    memory_calls=0,
    sidecar_requests=0,
    timing=no_timing(_NOT_RUN_REASON),
    client_versions=(),
    findings=(),
    evidence={},
)


def make_record(planned: PlannedTrial, attempts: Sequence[AttemptResult]) -> Record:
    """The record of a trial whose attempts were made in this order; the last one speaks for it, all are kept."""
    last = attempts[-1] if attempts else _NOT_RUN
    return Record(
        trial=planned.trial,
        block=planned.block,
        task=planned.task,
        arm=planned.arm,
        repetition=planned.repetition,
        position=planned.position,
        sequence=planned.sequence,
        outcome=last.outcome,
        reason=last.reason,
        attempts=tuple(_attempt(number, attempt) for number, attempt in enumerate(attempts, 1)),
        answer=last.answer,
        observed=last.observed,
        observed_memory=last.observed_memory,
        reported=last.reported,
        reported_cost_microusd=last.reported_cost_microusd,
        turns=last.turns,
        tool_calls=last.tool_calls,
        memory_calls=last.memory_calls,
        sidecar_requests=last.sidecar_requests,
        timing=last.timing,
        client_versions=last.client_versions,
        findings=last.findings,
    )


def _attempt(number: int, attempt: AttemptResult) -> AttemptRecord:
    return AttemptRecord(
        number=number,
        outcome=attempt.outcome,
        reason=attempt.reason,
        observed=attempt.observed,
        observed_memory=attempt.observed_memory,
        charged_microusd=attempt.charged_microusd,
        evidence=attempt.evidence,
    )
