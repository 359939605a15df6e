"""What does an attempt count against the caps, by its gateway's own account? Nothing is guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.evidence import OutcomeHint
from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from runner.collect.documents import Documents


def charged_microusd(documents: Documents) -> Quantity:
    """What every exchange was charged, together; 0 when the trial never started, unavailable when one may be lost."""
    engine, log = documents.engine, documents.exchanges
    if isinstance(engine, Unavailable):
        return engine
    if engine.trial is None or not engine.trial.was_started():
        return Measured(0)
    if isinstance(log, Unavailable):
        return log
    if log.damage or log.absent() or engine.outcome_hint is OutcomeHint.ENGINE_ERROR:
        return Unavailable("exchanges may be lost from exchanges.jsonl")
    return Measured(sum(exchange.charged_microusd or 0 for exchange in log.exchanges))
