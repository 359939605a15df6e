"""All that running a study needs to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.cassette import Cassette
    from runner.core.lock import Lock
    from runner.core.plan import PlannedTrial
    from runner.core.prices import PriceTable
    from runner.core.resolved import ResolvedStudy
    from runner.core.tars import TreeFile
    from runner.execute.schedule import Standing


@dataclass(frozen=True)
class Ready:
    """All that running needs to know, whether it was just locked or read back from a run's folder."""

    study: ResolvedStudy
    lock: Lock
    trials: tuple[PlannedTrial, ...]
    """What is left to run, in the order of the plan."""
    images: Mapping[str, str]
    """Name of an image of ours -> its tag in the engine."""
    workspaces: Mapping[str, Mapping[str, TreeFile]]
    indexes: Mapping[str, bytes]
    """Archives, by corpus."""
    prices: PriceTable
    cassette: Cassette | None = None
    """What gateways play."""
    spent: tuple[tuple[PlannedTrial, int], ...] = ()
    """What earlier attempts count against caps."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
