"""What a trial cost at list price, from what the gateway observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.outcomes import Outcome
from runner.core.prices import list_cost_microusd, unknown_usage
from runner.core.quantities import Quantity, Unavailable

if TYPE_CHECKING:
    from runner.core.prices import PriceTable
    from runner.core.records import Record


def trial_cost_microusd(record: Record, prices: PriceTable, price_model: str) -> Quantity:
    """The list price of the client's model requests in the trial's last attempt, in whole micro-dollars.

    `price_model` is the model that the study asked for: a scripted policy's usage is priced as that model's.
    """
    if record.outcome is Outcome.NOT_RUN:
        return Unavailable("the trial was not run")
    unknown = unknown_usage(record.outcome, (*record.observed, *record.observed_memory))
    return unknown or list_cost_microusd(record.observed, prices, price_model)
