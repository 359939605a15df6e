"""What dead runs left in the engine goes: exactly what carries our labels and whose owner no longer runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.core.errors import EngineError, EngineGoneError
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


@dataclass(frozen=True)
class Swept:
    """What became of what dead runs left."""

    removed: tuple[Owned, ...]
    kept: tuple[tuple[Owned, str], ...]
    """What the engine wouldn't let go, and what it said."""


def sweep(world: World, engine: Engine) -> Swept:
    """What dead runs left is gone, but for what the engine keeps: that is told, and stops nobody.

    Raises:
        EngineGoneError: the engine answers no more.
    """
    removed: list[Owned] = []
    kept: list[tuple[Owned, str]] = []
    for item in leftovers(world, engine):
        try:
            remove_owned(engine, item)
        except EngineGoneError:
            raise
        except EngineError as error:
            kept.append((item, str(error)))
        else:
            removed.append(item)
    if removed:
        world.progress.step(f"removed {len(removed)} containers, volumes and networks that dead runs had left")
    for item, reason in kept:
        world.progress.step(f"the engine keeps the {item.kind} {item.identity[:64]} of a dead run: {reason}")
    return Swept(tuple(removed), tuple(kept))
