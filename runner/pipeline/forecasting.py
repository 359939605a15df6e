"""What can a study spend at most, and how long can it take? By its declared limits alone; nothing is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from runner.core.documents import Part, QuantityField
from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.request_cost import smallest_requests

if TYPE_CHECKING:
    from runner.core.plan import Plan
    from runner.core.prices import PriceTable
    from runner.core.resolved import ResolvedStudy

LevelName = Literal["request", "trial", "block", "study"]
NOTHING_CAPPED: Final = "nothing is capped"


class Level(Part):
    """What is capped as one, and what it can spend."""

    level: LevelName
    number: int
    """How many of it the study has; of requests, at most, all attempts together."""
    cap_microusd: QuantityField
    worst_microusd: QuantityField
    """List price; no cap that reaches further, and no limit on what is within, allows more."""


class OutputLimit(Part):
    """What one request may write at most, and whether the client knows."""

    tokens: QuantityField
    told: bool
    said: str


class Smallest(Part):
    """The smallest request with which a trial can begin, by the declared bounds."""

    task: str
    arm: str
    input_tokens: int
    output_tokens: int
    worst_microusd: int


class TimeBound(Part):
    """How long the trials take if each uses all of its limits, in its first attempt."""

    trial_s: int
    """Until it is ready, its wall time, and the grace after it."""
    at_once: QuantityField
    """Trials that run at the same time; unavailable where the engine decides."""
    study_s: int


class Forecast(Part):
    """The bounds of a study."""

    billed: bool
    priced_as: str
    """The model whose list price is meant."""
    prices_dated: str
    prices_source: str
    attempts: int
    """Of one trial, at most."""
    requests: int
    """Of one attempt, at most: the client's and the memory's own."""
    output: OutputLimit
    smallest: Smallest | None
    """Of the trial with the least; None where `smallest_unknown` says why."""
    smallest_unknown: str
    levels: tuple[Level, ...]
    trials_covered: QuantityField
    """So many trials can spend as much as their own cap allows before another cap ends it."""
    time: TimeBound


def forecast_of(study: ResolvedStudy, plan: Plan, prices: PriceTable) -> Forecast:
    """The bounds of `study`, whose schedule is `plan`."""
    smallest = smallest_requests(study, prices)
    first = None if isinstance(smallest, Unavailable) else smallest[0]
    price = prices.price_of(study.client.model)
    return Forecast(
        billed=study.model.goes_out,
        priced_as=study.client.model,
        prices_dated=prices.dated,
        prices_source=(price.source if price is not None else "") or prices.source,
        attempts=study.schedule.attempts,
        requests=_requests(study),
        output=_output(study),
        smallest=None
        if first is None
        else Smallest(
            task=first.task,
            arm=first.arm,
            input_tokens=first.size.input_tokens,
            output_tokens=first.size.output_tokens,
            worst_microusd=first.microusd,
        ),
        smallest_unknown=smallest.reason if isinstance(smallest, Unavailable) else "",
        levels=_levels(study, len(plan.trials)),
        trials_covered=_covered(study, len(plan.trials)),
        time=_time(study, len(plan.trials)),
    )


def _requests(study: ResolvedStudy) -> int:
    """Of one attempt, at most: none where there is no model to ask."""
    return 0 if study.model.mode == "none" else study.limits.requests


def _output(study: ResolvedStudy) -> OutputLimit:
    tokens, how = study.output_tokens, study.client.output_limit
    if tokens is None:
        said = f"{study.client.kind} is told nothing; its own default holds"
        return OutputLimit(tokens=Unavailable("nothing declares it"), told=False, said=said)
    if not how:
        said = (
            f"{study.client.kind} can't be told: a request that doesn't say counts as so many, "
            "and an answer that costs more than that is a finding"
        )
    elif study.client.kind == "command":
        said = f"the command finds it in {how}; whether it obeys is its own affair"
    else:
        said = f"max_tokens of each request, told to {study.client.kind} by {how}"
    return OutputLimit(tokens=Measured(tokens), told=bool(how), said=said)


def _levels(study: ResolvedStudy, trials: int) -> tuple[Level, ...]:
    """Each level's worst case: the lowest of its own cap, wider caps, and what its parts can spend together."""
    caps, arms = study.caps, len(study.arms)
    requests = _requests(study) * study.schedule.attempts
    parts: tuple[tuple[LevelName, int, int, int | None], ...] = (
        ("request", trials * requests, 1, caps.request_microusd),
        ("trial", trials, requests, caps.trial_microusd),
        ("block", trials // arms, arms, caps.block_microusd),
        ("study", 1, trials // arms, caps.study_microusd),
    )
    found: list[Level] = []
    within: int | None = None
    for place, (level, number, times, own) in enumerate(parts):
        wider = [cap for *_, cap in parts[place:] if cap is not None]
        worst = min([*wider, *([within * times] if within is not None else [])], default=None)
        # What no cap of its own or beyond bounds may still be bounded by what it is made of, not the other way round.
        within = worst
        found.append(
            Level(
                level=level,
                number=number,
                cap_microusd=_capped(own, "not capped"),
                worst_microusd=_capped(worst, NOTHING_CAPPED),
            )
        )
    return tuple(found)


def _capped(microusd: int | None, reason: str) -> Quantity:
    return Unavailable(reason) if microusd is None else Measured(microusd)


def _covered(study: ResolvedStudy, trials: int) -> Quantity:
    caps, arms = study.caps, len(study.arms)
    if caps.trial_microusd is None:
        return Unavailable("trials aren't capped")
    if caps.trial_microusd == 0:
        return Measured(trials)
    a_block = arms if caps.block_microusd is None else min(arms, caps.block_microusd // caps.trial_microusd)
    covered = a_block * (trials // arms)
    return Measured(
        covered if caps.study_microusd is None else min(covered, caps.study_microusd // caps.trial_microusd)
    )


def _time(study: ResolvedStudy, trials: int) -> TimeBound:
    """Arms of a block follow one another, so that a slot takes whole blocks."""
    limits, schedule, arms = study.limits, study.schedule, len(study.arms)
    trial_s = limits.ready_s + limits.wall_s + limits.grace_s
    slots = 1 if schedule.slots == "auto" else schedule.slots
    in_slots = -(-(trials // arms) // slots) * arms
    embedding = (trials // arms) * sum(bool(arm.mcp_servers) for arm in study.arms)
    return TimeBound(
        trial_s=trial_s,
        at_once=Unavailable("slots is auto: the engine decides, and one at a time is counted")
        if schedule.slots == "auto"
        else Measured(slots),
        study_s=trial_s * max(in_slots, -(-embedding // schedule.embedders)),
    )
