"""What counts against the caps is what gateways charged; where a line may be lost nobody knows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.collect.attempt import collect_attempt
from runner.core.quantities import Measured, Unavailable
from runner.pipeline.spending import spent_microusd
from tests.fakes.attempts import CONTROL, Attempt, container, exchange, good_control, lines

if TYPE_CHECKING:
    from runner.core.quantities import Quantity

CHARGED = good_control().but(
    expectation=replace(CONTROL, capped=True),
    exchanges=lines(
        exchange(1, charged_microusd=700, reserved_microusd=9_000),
        exchange(2, cut=True, charged_microusd=9_000, reserved_microusd=9_000),
        exchange(3, status=402, refused="cap_exceeded"),
    ),
)
NEVER_STARTED = container("trial", started_at="0001-01-01T00:00:00Z", exit_code=None)


@pytest.mark.parametrize(
    ("attempt", "charged"),
    [
        (CHARGED, Measured(9_700)),
        (CHARGED.but(exchanges=b""), Measured(0)),
        (CHARGED.but(trial=NEVER_STARTED), Measured(0)),
        (CHARGED.but(exchanges=None), Unavailable("exchanges.jsonl is missing")),
        (
            CHARGED.but(exchanges=lines(exchange(2, charged_microusd=1))),
            Unavailable("exchanges may be lost from exchanges.jsonl"),
        ),
        (CHARGED.but(hint="engine_error"), Unavailable("exchanges may be lost from exchanges.jsonl")),
        (CHARGED.but(expectation=CONTROL), Unavailable("nothing is capped")),
    ],
    ids=["all", "none", "never started", "no log", "a line absent", "engine trouble", "no caps"],
)
def test_a_record_holds_what_its_attempt_counts_against_the_caps(attempt: Attempt, charged: Quantity) -> None:
    """Summed over answered, cut and refused requests; never a zero for what isn't known."""
    assert collect_attempt(attempt.evidence()).charged_microusd == charged


@pytest.mark.parametrize(
    ("attempt", "spent"),
    [(CHARGED, 9_700), (CHARGED.but(trial=NEVER_STARTED), 0), (CHARGED.but(exchanges=None), None)],
)
def test_the_purse_is_told_the_same(attempt: Attempt, spent: int | None) -> None:
    """So that what a summary says is what caps counted while the run went on."""
    assert spent_microusd(attempt.files()) == spent
