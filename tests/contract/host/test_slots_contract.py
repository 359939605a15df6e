"""Places of a host: so many at once, whoever asks, and given back by whoever dies."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from runner.adapters.slots import HostSlots
from runner.core.errors import EnvironmentNotReady
from tests.fakes.slots import MemorySlots

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.slots import Slots

HOLDER = """
import pathlib, sys
from runner.adapters.slots import HostSlots
with HostSlots(pathlib.Path(sys.argv[1])).taken("embedder", 1):
    print("taken", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["host", "memory"])
def slots(request: pytest.FixtureRequest, tmp_path: Path) -> Slots:
    """Files, and the fake."""
    return HostSlots(tmp_path / "slots") if request.param == "host" else MemorySlots()


def test_places_are_given_back(slots: Slots) -> None:
    """Also by whoever fails; and kinds don't share."""
    for _ in range(3):
        with slots.taken("embedder", 2), slots.taken("embedder", 2), slots.taken("other", 1):
            pass
        with pytest.raises(KeyError), slots.taken("embedder", 1):
            raise KeyError


def test_whoever_comes_too_late_waits_for_another_process(tmp_path: Path) -> None:
    """The one place is free when its holder ends, killed or not."""
    folder = tmp_path / "slots"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    entered = threading.Event()

    def enter() -> None:
        with HostSlots(folder).taken("embedder", 1):
            entered.set()

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"taken\n"
        waiting = threading.Thread(target=enter)
        waiting.start()
        assert not entered.wait(0.2)
        holder.kill()
        assert entered.wait(30)
        waiting.join()


def test_places_that_can_not_be_looked_at_are_told(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "slots").write_text("")
    with pytest.raises(EnvironmentNotReady, match="slots"), HostSlots(tmp_path / "slots").taken("embedder", 1):
        raise AssertionError
