"""What the stages may rely on from clocks, secrets and the identity of a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from runner.adapters.machine import SystemClock, SystemEntropy, is_alive, process_start, this_process
from tests.fakes.clock import FakeClock, FakeEntropy

if TYPE_CHECKING:
    from runner.ports.clock import Clock
    from runner.ports.entropy import Entropy


@pytest.fixture(params=[FakeClock, SystemClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


@pytest.fixture(params=[FakeEntropy, SystemEntropy])
def entropy(request: pytest.FixtureRequest) -> Entropy:
    made: Entropy = request.param()
    return made


def test_utc_is_rfc_3339_with_milliseconds(clock: Clock) -> None:
    """Instants compare as texts."""
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z", clock.utc())


def test_neither_clock_goes_back(clock: Clock) -> None:
    """Durations are never negative."""
    instants = [(clock.utc(), clock.monotonic_ms()) for _ in range(100)]
    assert instants == sorted(instants)


def test_utc_does_not_depend_on_the_time_zone() -> None:
    """A run in Kathmandu and one in Lima write the same kind of instants."""
    code = "from runner.adapters.machine import SystemClock; print(SystemClock().utc())"
    kathmandu, lima = (
        datetime.fromisoformat(
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "TZ": zone},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
        )
        for zone in ("Asia/Kathmandu", "America/Lima")
    )
    assert abs(kathmandu - lima) < timedelta(minutes=30)


def test_tokens_fit_into_a_header_and_differ(entropy: Entropy) -> None:
    """43 characters of base64url hold 256 bits."""
    tokens = [entropy.token() for _ in range(100)]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", token) for token in tokens)
    assert len(set(tokens)) == 100


def test_this_process_lives() -> None:
    """What it makes is no prey for the reaper."""
    assert is_alive(this_process())


def test_a_process_that_ended_does_not() -> None:
    """Neither does another one that has its number now, nor one of an earlier boot."""
    own = this_process()
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        pass
    assert not is_alive(replace(own, process=ended.pid, started="1"))
    assert not is_alive(replace(own, started="1"))
    assert not is_alive(replace(own, boot="another"))


def test_a_process_of_another_host_counts_as_alive() -> None:
    """It can't be seen from here, so nothing of it is removed."""
    assert is_alive(replace(this_process(), host="elsewhere.invalid", process=1, started="1"))


def test_a_process_without_a_number_has_no_start() -> None:
    """Beyond the largest process number there is none."""
    assert process_start(1 << 30) == ""
    assert process_start(os.getpid()).isdigit()
