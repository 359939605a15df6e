"""Under which conditions did the trials of each arm run: caches, starts, models and client versions?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.quantities import Measured, Quantity, Unavailable, total
from runner.core.rounding import PPM, doubled_median, scaled_ratio
from runner.core.summary import ArmVersions, CacheWarmth, ColdStarts
from runner.core.usage import TOKEN_CLASSES, class_total

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.summarize.trials import Trial

_INPUT_SIDE = tuple(name for name in TOKEN_CLASSES if name != "output_tokens")
# A start-up beyond twice the arm's median is called cold: something that others found ready had to be fetched.
_COLD_FACTOR = 2


def cache_warmth(trials: tuple[Trial, ...], arms: tuple[str, ...]) -> tuple[CacheWarmth, ...]:
    """By arm and place in the block: what ran second may find a cache that the first one filled."""
    completed = _completed(trials)
    return tuple(
        _warmth(arm, position, own)
        for arm in arms
        for position in range(len(arms))
        if (own := [t for t in completed if (t.planned.arm, t.planned.position) == (arm, position)])
    )


def _warmth(arm: str, position: int, trials: list[Trial]) -> CacheWarmth:
    usages = [trial.record.observed for trial in trials]
    read = total([class_total(own, "cache_read_input_tokens") for own in usages])
    whole = total([class_total(own, name) for own in usages for name in _INPUT_SIDE])
    return CacheWarmth(
        arm=arm,
        position=position,
        trials=len(trials),
        cache_read_tokens=read,
        input_side_tokens=whole,
        read_share_ppm=_share(read, whole),
    )


def _share(read: Quantity, whole: Quantity) -> Quantity:
    match read, whole:
        case Measured(found), Measured(of):
            return scaled_ratio(found, of, PPM, "no input was used")
        case Unavailable(), _:
            return read
        case _:
            return whole


def cold_starts(trials: tuple[Trial, ...], arms: tuple[str, ...]) -> tuple[ColdStarts, ...]:
    """Trials of each arm that took more than twice the arm's median to start."""
    completed = _completed(trials)
    return tuple(_cold(arm, [trial for trial in completed if trial.planned.arm == arm]) for arm in arms)


def _cold(arm: str, trials: list[Trial]) -> ColdStarts:
    known = {
        trial.planned.trial: trial.record.timing.startup_ms.value
        for trial in trials
        if isinstance(trial.record.timing.startup_ms, Measured)
    }
    doubled = doubled_median(list(known.values())) if known else 0
    return ColdStarts(
        arm=arm,
        trials=len(known),
        median_startup_us=Measured(doubled * 500) if known else Unavailable("no start-up is known"),
        cold=tuple(name for name, took in known.items() if 2 * took > _COLD_FACTOR * doubled),
    )


def versions(trials: tuple[Trial, ...], arms: tuple[str, ...]) -> tuple[ArmVersions, ...]:
    """The models that answered each arm's clients, and the versions that those called themselves."""
    completed = _completed(trials)
    return tuple(
        ArmVersions(
            arm=arm,
            models=_sorted(u.model for t in completed if t.planned.arm == arm for u in t.record.observed),
            client_versions=_sorted(v for t in completed if t.planned.arm == arm for v in t.record.client_versions),
        )
        for arm in arms
    )


def obstacles(found: tuple[ArmVersions, ...]) -> tuple[str, ...]:
    """Why arms may not be compared: different models answered them, or different clients asked.

    An arm that no model answered, or whose client doesn't say its version, stands in nobody's way.
    """
    said: list[str] = []
    for what, named in (
        ("models", {item.arm: item.models for item in found if item.models}),
        ("client versions", {item.arm: item.client_versions for item in found if item.client_versions}),
    ):
        if len(set(named.values())) > 1:
            shown = "; ".join(f"{arm}: {', '.join(names)}" for arm, names in named.items())
            said.append(f"the arms had different {what} ({shown})")
    return tuple(said)


def _completed(trials: tuple[Trial, ...]) -> list[Trial]:
    return [trial for trial in trials if trial.consequence.in_pairs]


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
