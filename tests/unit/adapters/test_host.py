"""Facts of this machine, read without judging them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from runner.adapters.host import engine_facts, host_facts
from runner.core.quantities import Measured, Unavailable

if TYPE_CHECKING:
    from pathlib import Path

VERSION = {"Version": "20.10.24+dfsg1", "ApiVersion": "1.41"}
INFO = {
    "Architecture": "x86_64",
    "Driver": "overlay2",
    "CgroupVersion": "1",
    "CgroupDriver": "cgroupfs",
    "SecurityOptions": ["name=seccomp,profile=default"],
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SwapLimit": True,
    "SystemTime": "2026-11-29T20:02:41.500123456Z",
}
ASKED = datetime(2026, 11, 29, 20, 2, 40, tzinfo=UTC)


def test_the_answers_of_an_engine_become_facts() -> None:
    """The versions are numbers that compare, the clock is an offset in milliseconds."""
    facts = engine_facts("unix:///e.sock", VERSION, INFO, ASKED)
    assert facts.api_version == (1, 41)
    assert facts.seccomp
    assert not facts.rootless
    assert facts.limits_missing == ()
    assert facts.clock_offset_ms == Measured(1500)


def test_an_engine_that_says_less_is_believed_less() -> None:
    """What an engine doesn't claim, it hasn't got."""
    info = {"Architecture": "x86_64", "Driver": "vfs", "SecurityOptions": ["name=rootless"], "SystemTime": "soon"}
    facts = engine_facts("unix:///e.sock", VERSION, info, ASKED)
    assert facts.limits_missing == ("memory", "pids", "cpu")
    assert (facts.seccomp, facts.rootless, facts.swap_limit) == (False, True, False)
    assert facts.cgroup_version == "unknown"
    assert facts.clock_offset_ms == Unavailable("the engine gives no time: 'soon'")


@pytest.mark.parametrize("time", ["2026-11-29T20:02:41", ""])
def test_a_time_without_a_zone_is_no_time(time: str) -> None:
    """Local time of another host can't be compared."""
    facts = engine_facts("unix:///e.sock", VERSION, {**INFO, "SystemTime": time}, ASKED)
    assert facts.clock_offset_ms == Unavailable(f"the engine gives no time: {time!r}")


def test_an_engine_without_a_version_is_refused() -> None:
    """An answer that lacks what every engine gives isn't an engine's."""
    with pytest.raises(KeyError):
        engine_facts("unix:///e.sock", {}, INFO, ASKED)


def test_facts_are_read_where_there_is_no_engine(tmp_path: Path) -> None:
    """Every candidate is named with its reason, and the other facts are there all the same."""
    facts = host_facts(tmp_path / "not" / "made", {"DOCKER_HOST": "unix:///nowhere.sock"})
    assert facts.engine == Unavailable("unix:///nowhere.sock: No such file or directory")
    assert isinstance(facts.disk_free_bytes, Measured)
    assert isinstance(facts.memory_bytes, Measured)
    assert facts.cores >= 1


def test_no_private_engine_is_a_reason_too(tmp_path: Path) -> None:
    """With nothing to try there is still a sentence."""
    facts = host_facts(tmp_path, {"PAIRBENCH_ENGINE": "private"})
    assert facts.engine == Unavailable("no private engine was started")
