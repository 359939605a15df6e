"""What dead runs left in the engine goes: exactly what carries our labels and whose owner no longer runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.core.owner import ROLE, owner_of
from runner.execute.schedule import remove_owned

if TYPE_CHECKING:
    from runner.pipeline.world import World
    from runner.ports.engine import Engine, Owned


def leftovers(world: World, engine: Engine) -> tuple[Owned, ...]:
    """What dead runs left, containers first; something whose owner can't be told or lives elsewhere isn't theirs."""
    found = [item for item in engine.owned() if (owner := owner_of(item.labels)) and not world.lives(owner)]
    # What a container uses can't go before it, and a container that lends its network goes after its guest.
    return tuple(sorted(found, key=lambda item: (item.kind != "container", item.labels.get(ROLE) != "trial")))


def sweep(world: World, engine: Engine) -> tuple[Owned, ...]:
    """What dead runs left is gone; what it was is returned.

    Raises:
        EngineError: the engine keeps something.
    """
    found = leftovers(world, engine)
    for item in found:
        remove_owned(engine, item)
    if found:
        world.progress.step(f"removed {len(found)} containers, volumes and networks that dead runs had left")
    return found
