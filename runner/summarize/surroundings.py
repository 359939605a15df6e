"""Under which conditions did the trials of each arm run: caches, starts, models and client versions?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runner.core.quantities import Measured, Quantity, Unavailable
from runner.core.rounding import PPM, doubled_median, scaled_ratio
from runner.core.summary import ArmVersions, CacheWarmth, ColdStarts
from runner.summarize.measures import MEASURES
from runner.summarize.trials import KNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runner.summarize.folds import Folds, Warmth
    from runner.summarize.trials import Table

# A start-up beyond twice the arm's median is called cold: something that others found ready had to be fetched.
_COLD_FACTOR = 2


def cache_warmth(folds: Folds) -> tuple[CacheWarmth, ...]:
    """By arm and place in the block: what ran second may find a cache that the first one filled."""
    return tuple(
        _warmth(arm, position, sums.warmth[position])
        for arm, sums in folds.arms.items()
        for position in range(len(folds.arms))
        if position in sums.warmth
    )


def _warmth(arm: str, position: int, warmth: Warmth) -> CacheWarmth:
    read, whole = warmth.cache_read.quantity(), warmth.input_side.quantity()
    return CacheWarmth(
        arm=arm,
        position=position,
        trials=warmth.trials,
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


def cold_starts(table: Table) -> tuple[ColdStarts, ...]:
    """Trials of each arm that took more than twice the arm's median to start."""
    row = next(number for number, measure in enumerate(MEASURES) if measure.name == "startup_ms")
    known = (table.whys[row] == KNOWN) & table.in_pairs()
    return tuple(_cold(table, arm, table.values[row], known & table.of_arm(arm)) for arm in table.arms)


def _cold(table: Table, arm: str, startups_ms: NDArray[np.int64], known: NDArray[np.bool_]) -> ColdStarts:
    taken = startups_ms[known]
    places = table.plan.trials
    doubled = doubled_median(taken.tolist()) if taken.size else 0
    return ColdStarts(
        arm=arm,
        trials=int(taken.size),
        median_startup_us=Measured(doubled * 500) if taken.size else Unavailable("no start-up is known"),
        cold=tuple(places[index].trial for index in np.flatnonzero(known & (2 * startups_ms > _COLD_FACTOR * doubled))),
    )


def versions(folds: Folds) -> tuple[ArmVersions, ...]:
    """The models that answered each arm's clients, and the versions that those called themselves."""
    return tuple(
        ArmVersions(arm=arm, models=tuple(sorted(sums.models)), client_versions=tuple(sorted(sums.client_versions)))
        for arm, sums in folds.arms.items()
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
