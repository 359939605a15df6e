"""What the summarizer checks itself, and what it says wasn't checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.quantities import Measured, Unavailable
from runner.core.summary import Check, NotChecked
from runner.core.usage import TOKEN_CLASSES, class_total

if TYPE_CHECKING:
    from runner.core.records import Record
    from runner.summarize.context import ArmFacts, SummaryContext
    from runner.summarize.trials import Trial


def own_checks(trials: tuple[Trial, ...], arms: tuple[ArmFacts, ...]) -> tuple[Check, ...]:
    """The checks that need nothing but plan, records and scores."""
    completed = [trial for trial in trials if trial.consequence.in_pairs]
    return (
        _check("census", "Every planned trial has a record.", trials, [t for t in trials if not t.recorded]),
        _prices(trials),
        _memory_unreachable(trials, arms),
        _usage_agrees(completed),
        _same_models(completed),
    )


def own_omissions(context: SummaryContext, contrasts: int) -> tuple[NotChecked, ...]:
    """What no run of this protocol checks, and what this run couldn't."""
    found = [
        NotChecked(
            name="answer quality",
            reason="No person and no model judged an answer; lexical reference checks are diagnostic coverage only.",
        ),
        NotChecked(
            name="all figures at once",
            reason=(
                f"Intervals of several treatments in one measure are widened to hold together; none is widened for "
                f"looking at all {contrasts} contrasts."
            ),
        ),
    ]
    if context.model.scripted:
        found.insert(
            0,
            NotChecked(
                name="a provider's model",
                reason="A deterministic policy played the model; nothing here says how a provider's model behaves.",
            ),
        )
    return tuple(found)


def _check(name: str, claim: str, looked_at: tuple[Trial, ...] | list[Trial], failed: list[Trial]) -> Check:
    return Check(
        name=name,
        claim=claim,
        passed=not failed,
        checked=len(looked_at),
        failed=tuple(trial.planned.trial for trial in failed),
    )


def _prices(trials: tuple[Trial, ...]) -> Check:
    # A score whose cost doesn't follow is refused when trials are joined: only their number is left to say here.
    priced = [
        trial
        for trial in trials
        if not isinstance(trial.source.score, Unavailable) and isinstance(trial.source.score.cost_microusd, Measured)
    ]
    return _check("prices", "Each score's cost follows from the observed usage and the price table.", priced, [])


def _memory_unreachable(trials: tuple[Trial, ...], arms: tuple[ArmFacts, ...]) -> Check:
    without = {arm.name for arm in arms if not arm.memory}
    looked_at = [trial for trial in trials if trial.planned.arm in without]
    failed = [trial for trial in looked_at if trial.record.memory_calls or trial.record.sidecar_requests]
    return _check(
        "memory out of reach",
        "No trial of an arm without a memory called one, and its sidecar's access log is empty.",
        looked_at,
        failed,
    )


def _usage_agrees(completed: list[Trial]) -> Check:
    reporting = [trial for trial in completed if trial.record.reported]
    failed = [trial for trial in reporting if not _agrees(trial.record)]
    return _check(
        "usage agrees",
        "The client reports the tokens that the gateway observed, class by class.",
        reporting,
        failed,
    )


def _agrees(record: Record) -> bool:
    pairs = [(class_total(record.observed, name), class_total(record.reported, name)) for name in TOKEN_CLASSES]
    return all(
        seen.value == said.value for seen, said in pairs if isinstance(seen, Measured) and isinstance(said, Measured)
    )


def _same_models(completed: list[Trial]) -> Check:
    by_arm: dict[str, set[str]] = {}
    for trial in completed:
        by_arm.setdefault(trial.planned.arm, set()).update(usage.model for usage in trial.record.observed)
    everywhere = set().union(*by_arm.values())
    failed = tuple(arm for arm, models in sorted(by_arm.items()) if models != everywhere)
    return Check(
        name="same models",
        claim="The same models answered in every arm.",
        passed=not failed,
        checked=len(by_arm),
        failed=failed,
    )
