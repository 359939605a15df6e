"""What dead runs left goes, and what the engine won't let go stops nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.owner import Owner
from runner.pipeline.executing import run_study
from runner.pipeline.sweeping import sweep
from tests.fakes.engine import Fault

if TYPE_CHECKING:
    from tests.fakes.surroundings import Surroundings

DEAD = Owner(host="host", boot="boot", process=7, started="1")


def test_what_the_engine_keeps_is_told_and_the_rest_goes(outside: Surroundings) -> None:
    """A network that it calls in use stays; the volume of the same run is gone; a run starts all the same."""
    outside.world = replace(outside.world, lives=lambda owner: owner != DEAD)
    outside.engine.create_network("stuck", DEAD.labels("old-run"))
    outside.engine.create_volume("old-volume", DEAD.labels("old-run"))
    outside.engine.faults.append(Fault("remove_network", "stuck", times=2, message="it has active endpoints"))
    swept = sweep(outside.world, outside.engine)
    assert [(item.kind, item.identity) for item in swept.removed] == [("volume", "old-volume")]
    assert [(item.identity, reason) for item, reason in swept.kept] == [
        ("stuck", "fake engine: remove_network: it has active endpoints")
    ]
    assert run_study(outside.world, outside.study()).complete
    assert (
        "the engine keeps the network stuck of a dead run: fake engine: remove_network: it has active endpoints"
        in outside.watcher.steps
    )
    assert sweep(outside.world, outside.engine).kept == ()
