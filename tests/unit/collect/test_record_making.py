"""The attempts of a trial become one record that keeps them all."""

from __future__ import annotations

from runner.collect.attempt import collect_attempt
from runner.collect.record import make_record
from runner.core.plan import PlannedTrial
from runner.core.quantities import Unavailable
from runner.core.records import Record
from tests.fakes.attempts import exchange, good_control, good_treatment, lines

PLANNED = PlannedTrial(trial="why.r2.on", block="why.r2", task="why", arm="on", repetition=2, position=1, sequence=7)
FAILED = collect_attempt(good_control().but(hint="engine_error", exchanges=lines(exchange(1))).evidence())
GOOD = collect_attempt(good_treatment().evidence())


def test_the_last_attempt_speaks_for_the_trial_and_all_are_kept() -> None:
    """An earlier attempt keeps its outcome, its usage and its evidence."""
    record = make_record(PLANNED, [FAILED, GOOD])
    assert (record.trial, record.block, record.task, record.arm) == ("why.r2.on", "why.r2", "why", "on")
    assert (record.repetition, record.position, record.sequence) == (2, 1, 7)
    assert (record.outcome, record.answer, record.memory_calls) == ("completed", "The answer is 42.", 1)
    assert [(attempt.number, attempt.outcome.value) for attempt in record.attempts] == [
        (1, "infrastructure"),
        (2, "completed"),
    ]
    assert [usage.requests for attempt in record.attempts for usage in attempt.observed] == [1, 2]
    assert record.attempts[0].evidence == FAILED.evidence


def test_a_record_survives_its_canonical_form() -> None:
    """Reading what was written gives the same record, and writing it again the same bytes."""
    record = make_record(PLANNED, [FAILED, GOOD])
    again = Record.from_bytes(record.to_bytes(), "record")
    assert again == record
    assert again.to_bytes() == record.to_bytes()


def test_the_same_evidence_gives_the_same_bytes() -> None:
    """A record depends on nothing but evidence and plan."""
    again = collect_attempt(good_treatment().evidence())
    assert make_record(PLANNED, [GOOD]).to_bytes() == make_record(PLANNED, [again]).to_bytes()


def test_a_trial_without_an_attempt_was_not_run() -> None:
    """It stands in the table with its reason, and no figure of it is a zero that was measured."""
    record = make_record(PLANNED, [])
    assert (record.outcome, record.reason) == ("not_run", "the trial was planned and never started")
    assert record.attempts == ()
    assert record.timing.wall_ms == record.turns == Unavailable("the trial was planned and never started")
