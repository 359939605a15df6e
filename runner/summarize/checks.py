"""What the summarizer checks itself, and what it says wasn't checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.summary import Check, NotChecked

if TYPE_CHECKING:
    from runner.summarize.context import ArmFacts, SummaryContext
    from runner.summarize.folds import Folds
    from runner.summarize.trials import Table


def own_checks(table: Table, arms: tuple[ArmFacts, ...], *, has_model: bool = True) -> tuple[Check, ...]:
    """The checks that need nothing but plan, records and scores."""
    folds = table.folds
    census = _check("census", "Every planned trial has a record.", len(table.outcomes), folds.unrecorded)
    if not has_model:
        return (census,)
    return (
        census,
        # A score whose cost doesn't follow is refused when trials are joined: only their number is left to say here.
        _check("prices", "Each score's cost follows from the observed usage and the price table.", folds.priced, []),
        _memory_unreachable(table, arms),
        _check(
            "usage agrees",
            "The client reports the tokens that the gateway observed, class by class.",
            folds.reporting,
            folds.disagreeing,
        ),
        same_models(folds),
    )


def own_omissions(context: SummaryContext, contrasts: int) -> tuple[NotChecked, ...]:
    """What no run of this protocol checks, and what this run couldn't."""
    quality = NotChecked(
        name="answer quality",
        reason="No person and no model judged an answer; lexical reference checks are diagnostic coverage only.",
    )
    found = [
        *([quality] if context.model.exists else []),
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


def _check(name: str, claim: str, checked: int, failed: list[str]) -> Check:
    return Check(name=name, claim=claim, passed=not failed, checked=checked, failed=tuple(failed))


def _memory_unreachable(table: Table, arms: tuple[ArmFacts, ...]) -> Check:
    without = [table.folds.arms[arm.name] for arm in arms if not arm.memory]
    reached = {trial for sums in without for trial in sums.reached}
    return _check(
        "memory out of reach",
        "No trial of an arm without a memory called one, and its sidecar's access log is empty.",
        sum(sums.spend.trials for sums in without),
        [place.trial for place in table.plan.trials if place.trial in reached] if reached else [],
    )


def same_models(folds: Folds) -> Check:
    """Whether the same models answered in every arm that asked one."""
    # An arm that asked nobody got no other answers than the others did.
    by_arm = {arm: sums.models for arm, sums in folds.arms.items() if sums.completed and sums.models}
    everywhere = set().union(*by_arm.values())
    failed = tuple(arm for arm, models in sorted(by_arm.items()) if models != everywhere)
    return Check(
        name="same models",
        claim="The same models answered in every arm that asked one.",
        passed=not failed,
        checked=len(by_arm),
        failed=failed,
    )
