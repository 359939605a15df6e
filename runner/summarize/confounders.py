"""What a reader must know beside the contrasts: order, drift, inert trials, findings, models and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from runner.core.quantities import Measured, Unavailable
from runner.core.rounding import PPM, scaled_ratio
from runner.core.summary import DriftStratum, FindingGroup, InertTrials, ModelTokens, OrderStratum, ToolTotal
from runner.core.usage import TOKEN_CLASSES
from runner.summarize.measures import HEADLINE
from runner.summarize.pairs import exact_sum

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from runner.summarize.context import ArmFacts
    from runner.summarize.folds import Folds, Owner
    from runner.summarize.pairs import MeasuredPairs
    from runner.summarize.trials import Table


def order_effect(measured: Sequence[MeasuredPairs], table: Table) -> tuple[OrderStratum, ...]:
    """Each contrast over the blocks in which the control ran before the treatment, and over those in which after it."""
    positions = np.array([place.position for place in table.plan.trials], dtype=np.int64)[table.grid]
    strata: list[OrderStratum] = []
    for item in measured:
        for number in range(1, len(table.arms)):
            before = (positions[0] < positions[number])[item.blocks]
            strata += [_stratum(item, number, "before", before), _stratum(item, number, "after", ~before)]
    return tuple(strata)


def _stratum(
    item: MeasuredPairs, number: int, control_ran: Literal["before", "after"], chosen: NDArray[np.bool_]
) -> OrderStratum:
    blocks = int(chosen.sum())
    nothing = Unavailable("no block has this measure in this order")
    control, treatment = exact_sum(item.values[0, chosen]), exact_sum(item.values[number, chosen])
    return OrderStratum(
        measure=item.measure.name,
        arm=item.arms[number],
        control_ran=control_ran,
        n_blocks=blocks,
        control_total=Measured(control) if blocks else nothing,
        treatment_total=Measured(treatment) if blocks else nothing,
        ratio_ppm=scaled_ratio(treatment, control, PPM, f"the total of {item.arms[0]} is 0") if blocks else nothing,
    )


def drift(measured: Sequence[MeasuredPairs], table: Table) -> tuple[DriftStratum, ...]:
    """Each headline contrast over the first half of its blocks, as they were planned to run, and over the second."""
    sequences = np.array([place.sequence for place in table.plan.trials], dtype=np.int64)[table.grid].min(axis=0)
    strata: list[DriftStratum] = []
    for item in (item for item in measured if item.measure.name in HEADLINE):
        order = np.argsort(sequences[item.blocks], kind="stable")
        middle = (len(order) + 1) // 2
        for number in range(1, len(table.arms)):
            strata += [_half(item, number, "first", order[:middle]), _half(item, number, "second", order[middle:])]
    return tuple(strata)


def _half(
    item: MeasuredPairs, number: int, half: Literal["first", "second"], chosen: NDArray[np.int64]
) -> DriftStratum:
    blocks = len(chosen)
    nothing = Unavailable("no block of this half has this measure")
    control, treatment = exact_sum(item.values[0, chosen]), exact_sum(item.values[number, chosen])
    return DriftStratum(
        measure=item.measure.name,
        arm=item.arms[number],
        half=half,
        n_blocks=blocks,
        control_total=Measured(control) if blocks else nothing,
        treatment_total=Measured(treatment) if blocks else nothing,
        ratio_ppm=scaled_ratio(treatment, control, PPM, f"the total of {item.arms[0]} is 0") if blocks else nothing,
    )


def inert_trials(folds: Folds, arms: tuple[ArmFacts, ...]) -> tuple[InertTrials, ...]:
    """For each arm with a memory: its completed trials, and those among them that never called it."""
    with_memory = [(arm.name, folds.arms[arm.name]) for arm in arms if arm.memory]
    return tuple(
        InertTrials(arm=name, completed=sums.completed, inert=len(sums.inert), trials=tuple(sums.inert))
        for name, sums in with_memory
    )


def group_findings(folds: Folds) -> tuple[FindingGroup, ...]:
    """Findings of the records, and those that only the summary can make, by kind."""
    return tuple(
        FindingGroup(kind=kind, count=found.count, trials=tuple(found.trials), example=found.example)
        for kind, found in sorted(folds.findings.items())
    )


def model_tokens(folds: Folds) -> tuple[ModelTokens, ...]:
    """Tokens by resolved model, arm and who asked, over complete blocks."""
    owners: tuple[Owner, ...] = ("client", "memory")
    return tuple(row for arm in folds.arms for owner in owners for row in _model_rows(folds, arm, owner))


def _model_rows(folds: Folds, arm: str, owner: Owner) -> Iterator[ModelTokens]:
    for (asked, model), sums in sorted(folds.arms[arm].used.items()):
        if asked != owner:
            continue
        tokens = {name: found.quantity() for name, found in zip(TOKEN_CLASSES, sums.tokens, strict=True)}
        yield ModelTokens(arm=arm, owner=owner, model=model, requests=sums.requests, **tokens)


def tool_totals(folds: Folds) -> tuple[ToolTotal, ...]:
    """Calls and errors of each tool by arm, over complete blocks."""
    return tuple(
        ToolTotal(arm=arm, tool=tool, calls=sums.calls[tool], errors=sums.errors[tool])
        for arm, sums in folds.arms.items()
        for tool in sorted(sums.calls)
    )
