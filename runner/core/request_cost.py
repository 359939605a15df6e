"""What can a request of a study cost at most, before there is one? The gateway's own rule, for whoever plans.

A gateway reads bodies; here only what every first request of a trial holds is known. A contract test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from runner.core.prices import PriceTable
    from runner.core.resolved import ResolvedArm, ResolvedStudy, ResolvedTask

PLAIN_CLASSES: Final = ("input_tokens", "cache_read_input_tokens")
CACHED_CLASSES: Final = (*PLAIN_CLASSES, "cache_write_5m_input_tokens")
# What an account may have set, where no request shows it: clients say neither of themselves.
_OPEN_DETAILS: Final = ("inference_geo", "service_tier")
_PERMILLE: Final = 1000
_PER_TOKENS: Final = 1_000_000


@dataclass(frozen=True)
class RequestSize:
    """What a request can use at most."""

    input_tokens: int
    output_tokens: int
    input_classes: tuple[str, ...]
    """What its input may be billed as."""


@dataclass(frozen=True)
class SmallestRequest:
    """The smallest request that a trial can begin with, and what it may cost."""

    task: str
    arm: str
    size: RequestSize
    microusd: int


def worst_microusd(table: PriceTable, model: str, size: RequestSize) -> Quantity:
    """What a request of this size to `model` can cost at most, in whole micro-dollars."""
    price = table.price_of(model)
    if price is None:
        return Unavailable(f"no list price for model {model!r} in the table of {table.dated}")
    dearest = max(price.microusd_per_million(name) for name in size.input_classes)
    exact = size.input_tokens * dearest + size.output_tokens * price.output_tokens
    limit = table.limit_of(price.model)
    if limit is not None and size.input_tokens >= limit.below_input_tokens:
        exact = exact * max(_PERMILLE, limit.at_most_permille) // _PERMILLE + 1
    for detail in _OPEN_DETAILS:
        exact = -(-exact * _highest_permille(table, price.model, detail) // _PERMILLE)
    return Measured(-(-exact // _PER_TOKENS))


def _highest_permille(table: PriceTable, model: str, detail: str) -> int:
    concerned = [item for item in table.surcharges if item.detail == detail and item.concerns(model)]
    return max([_PERMILLE, *(item.permille for item in concerned)])


def smallest_size(study: ResolvedStudy, arm: ResolvedArm, task: ResolvedTask, output_tokens: int) -> RequestSize:
    """No request with which a trial of `task` in `arm` begins is smaller than this, counted as its gateway counts."""
    texts = (task.prompt, study.client_instructions, arm.instructions)
    body_bytes = study.client.envelope_bytes + sum(len(text.encode("utf-8")) for text in texts)
    return RequestSize(
        input_tokens=body_bytes * study.caps.input_tokens_per_1000_bytes // 1000 + 1 + study.caps.hidden_input_tokens,
        output_tokens=output_tokens,
        input_classes=CACHED_CLASSES if study.client.caches_prompts else PLAIN_CLASSES,
    )


def smallest_requests(study: ResolvedStudy, table: PriceTable) -> tuple[SmallestRequest, ...] | Unavailable:
    """The smallest request of each task and arm, the cheapest first; unavailable where nothing bounds one."""
    output_tokens = study.output_tokens
    if output_tokens is None:
        return Unavailable("nothing says what one request may write at most")
    found: list[SmallestRequest] = []
    for task in study.tasks:
        for arm in study.arms:
            size = smallest_size(study, arm, task, output_tokens)
            worst = worst_microusd(table, study.client.model, size)
            if isinstance(worst, Unavailable):
                return worst
            found.append(SmallestRequest(task.id, arm.name, size, worst.value))
    return tuple(sorted(found, key=lambda item: item.microusd))
