"""What can a study of its size see, and what would it take to see more? From a pilot run, or from stated spreads.

Nothing is measured here: a pilot's sealed documents, or what the user states, are extrapolated to other sizes of the
same kind of study, and said to be that.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.canonical import sha256_digest
from runner.core.documents import Part, QuantityField
from runner.core.errors import EvidenceError, StudyError
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.records import Record, Score
from runner.core.rounding import PPM, rounded_quotient
from runner.core.statistics.bootstrap import LEVEL_PPM, ratio_ppm
from runner.core.statistics.exact import NANO, decimals
from runner.core.statistics.power import (
    POWER_PPM,
    Variances,
    detectable,
    needed_repetitions,
    needed_tasks,
    observed_variances,
    stated_variances,
)
from runner.pipeline.computing import context_of
from runner.pipeline.concluding import read_summary
from runner.pipeline.folder import read_run, required
from runner.summarize.pilot import pilot_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.core.resolved import ResolvedStudy
    from runner.ports.files import Files

_SIZES: Final = (1, 2, 3, 5, 10, 20)


@dataclass(frozen=True)
class Basis:
    """What sizes are extrapolated from."""

    said: str
    variances: Mapping[str, Variances | Unavailable]
    """Of each treatment."""
    block_cost_microusd: Quantity
    block_ms: Quantity
    """Of one block, all its arms after one another."""


@dataclass(frozen=True)
class Spreads:
    """Standard deviations of natural logarithms, in thousandths, as the user states them."""

    task_milli: int
    effect_milli: int
    repetition_milli: int


class PowerRow(Part):
    """What one treatment's contrast sees at one number of repetitions."""

    arm: str
    repetitions: int
    trials: int
    """Of the whole study."""
    low_ppm: QuantityField
    """A true ratio at this or below is seen with the stated power."""
    high_ppm: QuantityField
    cost_microusd: QuantityField
    time_ms: QuantityField


class Wanted(Part):
    """The repetitions with which a wanted ratio is seen."""

    arm: str
    ratio_ppm: int
    repetitions: QuantityField
    trials: QuantityField
    cost_microusd: QuantityField
    time_ms: QuantityField
    tasks: QuantityField
    """So many tasks of the same kind see it with the study's own number of repetitions."""


class Power(Part):
    """What a study can see, by size."""

    measure: str
    basis: str
    tasks: int
    level_ppm: int
    power_ppm: int
    sizes: tuple[PowerRow, ...]
    """The study's own number of repetitions is among them."""
    wanted: tuple[Wanted, ...]


def pilot_basis(files: Files, folder: Path, study: ResolvedStudy, measure: str) -> Basis:
    """What the concluded run in `folder` shows of `measure` in the arms of `study`.

    Raises:
        EvidenceError: the run's documents are damaged, or aren't those that its summary was computed from.
        StudyError: the run has none of the study's treatments, or not its control.
    """
    run, sealed = read_run(files, folder), read_summary(files, folder)
    records, scores = (required(files, folder, name) for name in (layout.RECORDS, layout.SCORES))
    found = (sha256_digest(records), sha256_digest(scores))
    if found != (sealed.inputs.records, sealed.inputs.scores):
        raise EvidenceError("records and scores aren't those of its summary", document=str(folder))
    arms = (study.control, *(arm.name for arm in study.arms if arm.name != study.control))
    if run.plan.control != study.control or not set(arms[1:]) & set(run.plan.arms):
        raise StudyError(
            f"its arms are {', '.join(run.plan.arms)}, control {run.plan.control}",
            document=str(folder),
            key="--pilot",
            hint=f"a pilot of this study has control {study.control} and one of {', '.join(arms[1:])}",
        )
    pilot = pilot_of(
        context_of(run, *found),
        run.plan,
        Record.from_lines(records, layout.RECORDS),
        Score.from_lines(scores, layout.SCORES),
        measure,
    )
    absent = Unavailable("the pilot has no such arm")
    return Basis(
        said=f"pilot {folder.name}, evidence: {sealed.evidence}",
        variances={
            arm: observed_variances(pilot.sample, pilot.arms.index(arm)) if arm in pilot.arms else absent
            for arm in arms[1:]
        }
        if not isinstance(pilot.sample, Unavailable)
        else dict.fromkeys(arms[1:], pilot.sample),
        block_cost_microusd=_block(pilot.cost_microusd, arms),
        block_ms=_block(pilot.pod_ms, arms),
    )


def stated_basis(study: ResolvedStudy, spreads: Spreads) -> Basis:
    """What the user states; money isn't known then, and time only by the study's limits."""
    limits = study.limits
    variances = stated_variances(spreads.task_milli, spreads.effect_milli, spreads.repetition_milli)
    return Basis(
        said=(
            f"stated log sds: tasks {spreads.task_milli / 1000:g}, effect {spreads.effect_milli / 1000:g}, "
            f"repetitions {spreads.repetition_milli / 1000:g}; time at the limits"
        ),
        variances={arm.name: variances for arm in study.arms if arm.name != study.control},
        block_cost_microusd=Unavailable("only a pilot says what a trial costs"),
        block_ms=Measured(len(study.arms) * (limits.wall_s + limits.grace_s + limits.ready_s) * 1_000),
    )


def power_of(study: ResolvedStudy, basis: Basis, measure: str, wanted_ppm: int | None = None) -> Power:
    """What `study` sees at its own size and at others, and the repetitions that the ratio `wanted_ppm` needs."""
    sizes = sorted({*_SIZES, study.repetitions})
    return Power(
        measure=measure,
        basis=basis.said,
        tasks=len(study.tasks),
        level_ppm=LEVEL_PPM,
        power_ppm=POWER_PPM,
        sizes=tuple(_row(study, basis, arm, size) for arm in basis.variances for size in sizes),
        wanted=tuple(_wanted(study, basis, arm, wanted_ppm) for arm in basis.variances) if wanted_ppm else (),
    )


def _row(study: ResolvedStudy, basis: Basis, arm: str, repetitions: int) -> PowerRow:
    low, high = _detectable(study, basis.variances[arm], repetitions)
    return PowerRow(
        arm=arm,
        repetitions=repetitions,
        trials=_trials(study, repetitions),
        low_ppm=low,
        high_ppm=high,
        cost_microusd=_times(basis.block_cost_microusd, len(study.tasks) * repetitions),
        time_ms=_time(study, basis, repetitions),
    )


def _detectable(
    study: ResolvedStudy, variances: Variances | Unavailable, repetitions: int
) -> tuple[Quantity, Quantity]:
    if isinstance(variances, Unavailable):
        return variances, variances
    with decimals():
        effect = detectable(variances.spread(len(study.tasks), repetitions), LEVEL_PPM) * NANO
        return Measured(ratio_ppm(0, -effect)), Measured(ratio_ppm(0, effect))


def _wanted(study: ResolvedStudy, basis: Basis, arm: str, wanted_ppm: int) -> Wanted:
    variances = basis.variances[arm]
    if isinstance(variances, Unavailable):
        needed: int | Unavailable = variances
        tasks: int | Unavailable = variances
    else:
        with decimals():
            effect = (Decimal(wanted_ppm) / PPM).ln()
        needed = needed_repetitions(variances, len(study.tasks), effect, LEVEL_PPM)
        tasks = needed_tasks(variances, study.repetitions, effect, LEVEL_PPM)
    return Wanted(
        arm=arm,
        ratio_ppm=wanted_ppm,
        repetitions=needed if isinstance(needed, Unavailable) else Measured(needed),
        trials=needed if isinstance(needed, Unavailable) else Measured(_trials(study, needed)),
        cost_microusd=needed
        if isinstance(needed, Unavailable)
        else _times(basis.block_cost_microusd, len(study.tasks) * needed),
        time_ms=needed if isinstance(needed, Unavailable) else _time(study, basis, needed),
        tasks=tasks if isinstance(tasks, Unavailable) else Measured(tasks),
    )


def _trials(study: ResolvedStudy, repetitions: int) -> int:
    return len(study.tasks) * repetitions * len(study.arms)


def _time(study: ResolvedStudy, basis: Basis, repetitions: int) -> Quantity:
    slots = study.schedule.slots if study.schedule.slots != "auto" else 1
    whole = _times(basis.block_ms, len(study.tasks) * repetitions)
    return Measured(rounded_quotient(whole.value, slots)) if isinstance(whole, Measured) else whole


def _times(quantity: Quantity, count: int) -> Quantity:
    return Measured(quantity.value * count) if isinstance(quantity, Measured) else quantity


def _block(means: Mapping[str, Quantity], arms: tuple[str, ...]) -> Quantity:
    """What one block takes; arms that the pilot lacks are taken to be like the dearest that it has."""
    known = [item.value for item in means.values() if isinstance(item, Measured)]
    if len(known) < len(means) or not known:
        return Unavailable("the pilot doesn't say it of every arm")
    taken = {arm: item.value for arm, item in means.items() if isinstance(item, Measured)}
    return Measured(sum(taken.get(arm, max(known)) for arm in arms))
