"""What is there in an engine? Everything that a run could leave behind, as a person would list it."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import docker

from runner.core.owner import owner_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.core.owner import Owner

Things = frozenset[str]

# What the engine is still removing when it has said that it would.
_PATIENCE_S: Final = 5.0
_PAUSE_S: Final = 0.1


def surroundings(address: str, is_foreign: Callable[[Owner], bool]) -> Things:
    """Every container, volume and network of the engine at `address` but those of other runners that live."""
    with closing(docker.APIClient(base_url=address, version="auto")) as engine:
        return frozenset(
            name for name, labels in _listed(engine) if not ((owner := owner_of(labels)) and is_foreign(owner))
        )


def differences(address: str, is_foreign: Callable[[Owner], bool], before: Things) -> tuple[str, ...]:
    """What has come and what has gone since `before`, a line each."""
    deadline = time.monotonic() + _PATIENCE_S
    while (after := surroundings(address, is_foreign)) != before and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    left = [f"left behind: {name}" for name in sorted(after - before)]
    return (*left, *(f"gone: {name}" for name in sorted(before - after)))


def _listed(engine: docker.APIClient) -> Iterator[tuple[str, dict[str, str]]]:
    for container in engine.containers(all=True):
        yield f"container {container['Id'][:12]} {', '.join(container['Names'])}", _labels(container)
    for volume in engine.volumes().get("Volumes") or ():
        yield f"volume {volume['Name']}", _labels(volume)
    for network in engine.networks():
        yield f"network {network['Id'][:12]} {network['Name']}", _labels(network)


def _labels(item: dict[str, Any]) -> dict[str, str]:
    return dict(item.get("Labels") or {})
