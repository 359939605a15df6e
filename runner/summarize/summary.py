"""One pure function: plan, records and scores become the summary of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.errors import EvidenceError
from runner.core.outcomes import CONSEQUENCES
from runner.core.rounding import ROUNDING_RULE
from runner.core.statistics.bootstrap import Bootstrap
from runner.core.statistics.draws import GENERATOR
from runner.core.statistics.exact import LOGARITHM_RULE
from runner.core.statistics.intervals import MEDIAN_METHOD, METHODS, QUANTILE_RULE
from runner.core.statistics.power import POWER_PPM
from runner.core.statistics.simultaneous import SIMULTANEOUS_RULE
from runner.core.summary import (
    ArmIdentity,
    InputDigests,
    MeasureIdentity,
    ModelIdentity,
    PriceIdentity,
    Resampling,
    StudyIdentity,
    Summary,
    View,
)
from runner.summarize.bounds import worst_cases
from runner.summarize.census import take_census
from runner.summarize.checks import own_checks, own_omissions
from runner.summarize.confounders import drift, group_findings, inert_trials, model_tokens, order_effect, tool_totals
from runner.summarize.gates import judge
from runner.summarize.measures import HEADLINE, MEASURES, TIMED_HEADLINE
from runner.summarize.pairs import all_measured
from runner.summarize.retrieval import retrieval_checks, retrieval_findings, retrieval_omissions
from runner.summarize.spend import spend_of_all_attempts
from runner.summarize.surroundings import cache_warmth, cold_starts, obstacles, versions
from runner.summarize.trials import join_facts, tabulate
from runner.summarize.views import make_view

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runner.core.plan import Plan
    from runner.core.reconsolidation.section import ReconsolidationSection
    from runner.core.records import Record, Score
    from runner.summarize.context import ArmFacts, SummaryContext
    from runner.summarize.pairs import MeasuredPairs
    from runner.summarize.retrieval import RetrievalFacts
    from runner.summarize.trials import Table

# benchmarks/coverage.py on 2026-11-29; its table is in docs/explanation/statistics.md.
COVERAGE: Final = (
    "In 4,000 simulated studies of skewed costs a size, 95 % intervals of the ratio held the true value in 95.8 to "
    "97.0 % of studies of 6 tasks x 2 repetitions, 94.7 to 95.2 % at 12 x 3 and 94.0 to 95.1 % at 40 x 5; of the "
    "difference of means in 91 to 99 %, least where tasks differ most in size and the effect is real; of the "
    "difference of medians in 94 to 99 %."
)


def summarize(context: SummaryContext, plan: Plan, records: Iterable[Record], scores: Iterable[Score]) -> Summary:
    """The summary of a run; the order of records and scores doesn't matter.

    Raises:
        EvidenceError: records or scores contradict the plan, one another, the price table or the kind of evidence; or
            the arms of the context are not those of the plan.
    """
    _arms(context, plan)
    return summarize_table(context, tabulate(plan, join_facts(context, plan, records, scores)))


def summarize_table(
    context: SummaryContext,
    table: Table,
    retrieval: RetrievalFacts | None = None,
    reconsolidation: ReconsolidationSection | None = None,
) -> Summary:
    """The summary of a run whose trials stand in `table`, and what rankings or memories come to, where there are any.

    Raises:
        EvidenceError: the arms of the context are not those of the plan.
    """
    plan, names, folds = table.plan, table.arms, table.folds
    arms = _arms(context, plan)
    bootstrap = Bootstrap(seed=f"{plan.seed}\nbootstrap")
    found_versions = versions(folds)
    found_obstacles = obstacles(found_versions)
    names_shown = {measure.name for measure in MEASURES} if context.model.exists else set(TIMED_HEADLINE)
    measured = _shown(all_measured(table, "complete_blocks"), names_shown)
    complete = make_view(measured, names, "complete_blocks", bootstrap, found_obstacles)
    failed = sum(CONSEQUENCES[outcome].failure for outcome in table.outcomes)
    # Without a failure both treatments use the same blocks and the same readings.
    counted = complete
    if failed:
        with_failures = _shown(all_measured(table, "failures_counted"), names_shown)
        counted = make_view(with_failures, names, "failures_counted", bootstrap, found_obstacles)
    moved = _moved(complete, counted)
    section = None if retrieval is None else retrieval.section
    return Summary(
        study=_study(context, plan, len(table.block_names)),
        evidence="fixture" if context.model.scripted else "measurement",
        model=_model(context),
        client=context.client,
        harness=context.harness,
        inputs=_inputs(context),
        pins=context.pins,
        arms=tuple(_arm(arm, plan) for arm in arms),
        differences=context.differences,
        schedule=context.schedule,
        prices=PriceIdentity(
            currency=context.prices.currency,
            dated=context.prices.dated,
            source=context.prices.source,
            rule=context.prices.rule,
        ),
        measures=_measures(names_shown),
        headline=HEADLINE if context.model.exists else TIMED_HEADLINE,
        resampling=_resampling(bootstrap),
        census=take_census(table),
        views=(complete, counted) if moved else (complete,),
        failures_line=_failures_line(failed, moved, len(names_shown)),
        gates=judge(context.gates, complete, section),
        worst_case=()
        if found_obstacles
        else tuple(row for row in worst_cases(table, context.ceilings) if row.measure in names_shown),
        obstacles=found_obstacles,
        order_effect=() if found_obstacles or context.control_first else order_effect(measured, table),
        drift=() if found_obstacles else drift(measured, table),
        cache_warmth=cache_warmth(folds) if context.model.exists else (),
        cold_starts=cold_starts(table) if context.model.exists else (),
        versions=found_versions,
        # What is in a store that reconsolidates says whether its memory was used.
        inert=inert_trials(folds, arms) if context.model.exists and reconsolidation is None else (),
        findings=(*group_findings(folds), *(() if retrieval is None else retrieval_findings(retrieval))),
        models=model_tokens(folds),
        tools=tool_totals(folds),
        spend=spend_of_all_attempts(folds) if context.model.exists else (),
        checks=(
            *context.checks,
            *own_checks(table, arms, has_model=context.model.exists),
            *(() if retrieval is None else retrieval_checks(retrieval)),
        ),
        not_checked=(
            *(() if retrieval is None else retrieval_omissions(retrieval)),
            *own_omissions(context, len(complete.contrasts)),
            *context.not_checked,
        ),
        retrieval=section,
        reconsolidation=reconsolidation,
    )


def _arms(context: SummaryContext, plan: Plan) -> tuple[ArmFacts, ...]:
    """The arms, control first, then in the order of the plan."""
    facts = {arm.name: arm for arm in context.arms}
    if set(facts) != set(plan.arms) or plan.control not in facts:
        raise EvidenceError(
            f"the lock has the arms {sorted(facts)}; the plan has {sorted(plan.arms)}, control {plan.control!r}",
            document="plan.json",
            key="arms",
        )
    treatments = [name for name in plan.arms if name != plan.control]
    return tuple(facts[name] for name in (plan.control, *treatments))


def _study(context: SummaryContext, plan: Plan, blocks: int) -> StudyIdentity:
    return StudyIdentity(
        name=plan.study,
        description=context.description,
        protocol_version=context.protocol_version,
        seed=plan.seed,
        control=plan.control,
        tasks=len(plan.tasks),
        repetitions=plan.repetitions,
        blocks=blocks,
        trials=len(plan.trials),
    )


def _model(context: SummaryContext) -> ModelIdentity:
    model = context.model
    return ModelIdentity(
        mode=model.mode, policy=model.policy, asked=model.asked, shown=model.shown, price_model=model.asked
    )


def _inputs(context: SummaryContext) -> InputDigests:
    return InputDigests(
        plan=context.sources.plan,
        lock=context.sources.lock,
        ledger_head=context.sources.ledger_head,
        records=context.sources.records,
        scores=context.sources.scores,
        price_table=context.sources.prices,
    )


def _arm(arm: ArmFacts, plan: Plan) -> ArmIdentity:
    return ArmIdentity(
        name=arm.name,
        role="control" if arm.name == plan.control else "treatment",
        description=arm.description,
        memory=arm.memory,
    )


def _shown(measured: Iterable[MeasuredPairs], names: Collection[str]) -> tuple[MeasuredPairs, ...]:
    return tuple(item for item in measured if item.measure.name in names)


def _measures(names: Collection[str]) -> tuple[MeasureIdentity, ...]:
    return tuple(
        MeasureIdentity(
            name=measure.name,
            label=measure.label,
            unit=measure.unit,
            kind=measure.kind,
            group=measure.group,
            scale=measure.scale,
        )
        for measure in MEASURES
        if measure.name in names
    )


def _resampling(bootstrap: Bootstrap) -> Resampling:
    return Resampling(
        method=METHODS[bootstrap.method],
        median_method=MEDIAN_METHOD,
        generator=GENERATOR,
        seed=bootstrap.seed,
        resamples=bootstrap.resamples,
        level_ppm=bootstrap.level_ppm,
        minimum_tasks=bootstrap.minimum_tasks,
        minimum_pairs=bootstrap.minimum_pairs,
        power_ppm=POWER_PPM,
        simultaneous=SIMULTANEOUS_RULE,
        quantile_rule=QUANTILE_RULE,
        logarithm_rule=LOGARITHM_RULE,
        rounding_rule=ROUNDING_RULE,
        coverage=COVERAGE,
    )


def _moved(complete: View, counted: View) -> int:
    """How many measures' totals, medians or contrasts differ between the two treatments of failures."""
    totals = zip(complete.totals, counted.totals, strict=True)
    medians = zip(complete.medians_of_medians, counted.medians_of_medians, strict=True)
    contrasts = zip(complete.contrasts, counted.contrasts, strict=True)
    changed = {one.measure for one, other in totals if (one.n_blocks, one.arms) != (other.n_blocks, other.arms)}
    changed |= {one.measure for one, other in medians if one != other}
    changed |= {one.measure for one, other in contrasts if one != other}
    return len(changed)


def _failures_line(failed: int, moved: int, measures: int) -> str:
    if not failed:
        return "No trial failed in a way that counts against its arm: counting failures changes nothing."
    noun = "1 trial" if failed == 1 else f"{failed} trials"
    if not moved:
        return f"{noun} failed; counting failures changes no figure."
    return f"{noun} failed; counting failures changes {moved} of {measures} measures, shown beside complete blocks."
