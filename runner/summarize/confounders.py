"""What a reader must know beside the contrasts: order, drift, inert trials, findings, models and tools."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

from runner.core.findings import FindingKind
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.records import Finding
from runner.core.rounding import PPM, scaled_ratio
from runner.core.summary import DriftStratum, FindingGroup, InertTrials, ModelTokens, OrderStratum, ToolTotal
from runner.core.usage import TOKEN_CLASSES, class_total
from runner.summarize.measures import HEADLINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.core.usage import ModelUsage
    from runner.summarize.context import ArmFacts
    from runner.summarize.pairs import MeasuredPairs, Pair
    from runner.summarize.trials import Block, Trial

# Both figures are rounded to whole micro-dollars, the client's from a float of dollars: the same cost may come out one
# apart.
_COST_TOLERANCE_MICROUSD: Final = 1


def order_effect(measured: Sequence[MeasuredPairs], arms: tuple[str, ...]) -> tuple[OrderStratum, ...]:
    """Each contrast over the blocks in which the control ran before the treatment, and over those in which after it."""
    strata: list[OrderStratum] = []
    for item in measured:
        for arm in arms[1:]:
            strata += [_stratum(item, arms[0], arm, "before"), _stratum(item, arms[0], arm, "after")]
    return tuple(strata)


def _stratum(item: MeasuredPairs, control: str, arm: str, control_ran: Literal["before", "after"]) -> OrderStratum:
    def ran_before(block: Block) -> bool:
        return block.trials[control].planned.position < block.trials[arm].planned.position

    pairs = [pair for pair in item.pairs if ran_before(pair.block) == (control_ran == "before")]
    nothing = Unavailable("no block has this measure in this order")
    totals = [sum(pair.values[name].value for pair in pairs) for name in (control, arm)]
    return OrderStratum(
        measure=item.measure.name,
        arm=arm,
        control_ran=control_ran,
        n_blocks=len(pairs),
        control_total=Measured(totals[0]) if pairs else nothing,
        treatment_total=Measured(totals[1]) if pairs else nothing,
        ratio_ppm=scaled_ratio(totals[1], totals[0], PPM, f"the total of {control} is 0") if pairs else nothing,
    )


def drift(measured: Sequence[MeasuredPairs], arms: tuple[str, ...]) -> tuple[DriftStratum, ...]:
    """Each headline contrast over the first half of its blocks, as they were planned to run, and over the second."""
    strata: list[DriftStratum] = []
    for item in (item for item in measured if item.measure.name in HEADLINE):
        pairs = sorted(item.pairs, key=lambda pair: min(t.planned.sequence for t in pair.block.trials.values()))
        middle = (len(pairs) + 1) // 2
        for arm in arms[1:]:
            strata += [
                _half(item.measure.name, (arms[0], arm), "first", pairs[:middle]),
                _half(item.measure.name, (arms[0], arm), "second", pairs[middle:]),
            ]
    return tuple(strata)


def _half(measure: str, arms: tuple[str, str], half: Literal["first", "second"], pairs: list[Pair]) -> DriftStratum:
    nothing = Unavailable("no block of this half has this measure")
    totals = [sum(pair.values[name].value for pair in pairs) for name in arms]
    return DriftStratum(
        measure=measure,
        arm=arms[1],
        half=half,
        n_blocks=len(pairs),
        control_total=Measured(totals[0]) if pairs else nothing,
        treatment_total=Measured(totals[1]) if pairs else nothing,
        ratio_ppm=scaled_ratio(totals[1], totals[0], PPM, f"the total of {arms[0]} is 0") if pairs else nothing,
    )


def inert_trials(trials: tuple[Trial, ...], arms: tuple[ArmFacts, ...]) -> tuple[InertTrials, ...]:
    """For each arm with a memory: its completed trials, and those among them that never called it."""
    return tuple(_inert(arm.name, trials) for arm in arms if arm.memory)


def _inert(arm: str, trials: tuple[Trial, ...]) -> InertTrials:
    completed = [trial for trial in trials if trial.planned.arm == arm and trial.consequence.in_pairs]
    inert = [trial.planned.trial for trial in completed if trial.record.memory_calls == 0]
    return InertTrials(arm=arm, completed=len(completed), inert=len(inert), trials=tuple(inert))


def group_findings(trials: tuple[Trial, ...]) -> tuple[FindingGroup, ...]:
    """Findings of the records, and those that only the summary can make, by kind."""
    grouped: dict[str, list[tuple[str, str]]] = {}
    for trial in trials:
        for finding in (*map(_priced(trial), trial.record.findings), *_derived(trial)):
            grouped.setdefault(finding.kind, []).append((trial.planned.trial, finding.detail))
    return tuple(
        FindingGroup(
            kind=kind,
            count=len(found),
            trials=tuple(dict.fromkeys(trial for trial, _ in found)),
            example=found[0][1],
        )
        for kind, found in sorted(grouped.items())
    )


def _priced(trial: Trial) -> Callable[[Finding], Finding]:
    """What completes a finding of `trial` with the price that only a summary knows."""
    computed = _amount(trial.source.client_cost_microusd)

    def completed(finding: Finding) -> Finding:
        if finding.kind != FindingKind.COST_GUESSED:
            return finding
        return finding.model_copy(update={"detail": f"{finding.detail}; list price gives {computed}"})

    return completed


def _derived(trial: Trial) -> Iterator[Finding]:
    reported, computed = trial.record.reported_cost_microusd, trial.source.client_cost_microusd
    if isinstance(reported, Unavailable) or not trial.record.observed:
        return
    said = f"the client reports {_amount(reported)}; list price gives {_amount(computed)}"
    if isinstance(computed, Unavailable):
        if trial.source.unpriced:
            yield Finding(kind=FindingKind.COST_GUESSED, detail=said)
    elif abs(reported.value - computed.value) > _COST_TOLERANCE_MICROUSD:
        yield Finding(kind=FindingKind.COST_DISAGREES, detail=said)


def _amount(cost: Quantity) -> str:
    return f"{cost.value} micro-dollars" if isinstance(cost, Measured) else f"none: {cost.reason}"


def model_tokens(blocks: tuple[Block, ...], arms: tuple[str, ...]) -> tuple[ModelTokens, ...]:
    """Tokens by resolved model, arm and who asked, over complete blocks."""
    complete = [block for block in blocks if block.complete]
    rows: list[ModelTokens] = []
    for arm in arms:
        records = [block.trials[arm].record for block in complete]
        client = [usage for record in records for usage in record.observed]
        memory = [usage for record in records for usage in record.observed_memory]
        rows += _model_rows(arm, "client", client)
        rows += _model_rows(arm, "memory", memory)
    return tuple(rows)


def _model_rows(arm: str, owner: Literal["client", "memory"], usages: list[ModelUsage]) -> Iterator[ModelTokens]:
    for model in sorted({usage.model for usage in usages}):
        own = tuple(usage for usage in usages if usage.model == model)
        yield ModelTokens(
            arm=arm,
            owner=owner,
            model=model,
            requests=sum(usage.requests for usage in own),
            **{name: class_total(own, name) for name in TOKEN_CLASSES},
        )


def tool_totals(blocks: tuple[Block, ...], arms: tuple[str, ...]) -> tuple[ToolTotal, ...]:
    """Calls and errors of each tool by arm, over complete blocks."""
    calls: Counter[tuple[str, str]] = Counter()
    errors: Counter[tuple[str, str]] = Counter()
    for block in blocks:
        if not block.complete:
            continue
        for arm, trial in block.trials.items():
            for tool in trial.record.tool_calls:
                calls[arm, tool.name] += tool.calls
                errors[arm, tool.name] += tool.errors
    return tuple(
        ToolTotal(arm=arm, tool=tool, calls=calls[arm, tool], errors=errors[arm, tool])
        for arm in arms
        for tool in sorted(name for owner, name in calls if owner == arm)
    )
