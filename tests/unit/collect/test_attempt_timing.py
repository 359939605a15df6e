"""Where an attempt's time went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runner.collect.attempt import collect_attempt
from runner.core.quantities import Measured, Quantity, Unavailable
from tests.fakes.attempts import exchange, exit_report, good_control, lines

if TYPE_CHECKING:
    from runner.core.records import Timing

GOOD = good_control()


def timing(**changes: Any) -> Timing:
    """The timing of a good attempt with other parts."""
    return collect_attempt(GOOD.but(**changes).evidence()).timing


def test_a_good_attempt_accounts_for_its_time() -> None:
    """Each figure comes from the clock that saw it."""
    found = timing()
    assert found.wall_ms == Measured(2500)
    # Started at 2.0 s, first request at 2.5 s.
    assert found.startup_ms == Measured(500)
    # Two requests of 20.5 ms: rounded down once, after they were summed.
    assert found.model_ms == Measured(41)
    assert found.pod_ms == Measured(3100)
    assert (found.user_cpu_ms, found.system_cpu_ms) == (Measured(380), Measured(120))
    assert found.peak_rss_bytes == Measured(134_000_000)


def test_requests_of_the_memory_are_not_the_client_s_time() -> None:
    """Neither its start nor its waiting."""
    early = exchange(1, owner="memory", received_ns=2_000_100_000, last_byte_ns=2_300_000_000)
    found = timing(exchanges=lines(early, exchange(2), exchange(3)))
    assert (found.startup_ms, found.model_ms) == (Measured(600), Measured(41))


@pytest.mark.parametrize(
    ("changes", "startup", "model"),
    [
        ({"exchanges": b""}, Unavailable("the client made no model request"), Measured(0)),
        (
            {"exchanges": lines(exchange(1, received_ns=1))},
            Unavailable("the first request is older than the client"),
            Measured(2520),
        ),
        ({"exchanges": lines(exchange(1, last_byte_ns=0))}, Measured(500), Unavailable("exchange 1 has no end")),
        (
            {"exchanges": None},
            Unavailable("the client made no model request"),
            Unavailable("exchanges.jsonl is missing"),
        ),
        (
            {"exit": exit_report(started_ns=None, wall_ms=None)},
            Unavailable("the client never started"),
            Measured(41),
        ),
    ],
)
def test_what_no_clock_saw_is_unavailable(changes: dict[str, Any], startup: Quantity, model: Quantity) -> None:
    """A missing moment gives a reason, never a zero."""
    found = timing(**changes)
    assert (found.startup_ms, found.model_ms) == (startup, model)


def test_without_exit_json_nothing_of_the_client_is_known() -> None:
    """The reason is the missing file."""
    found = timing(exit=None)
    missing = Unavailable("exit.json is missing")
    assert (found.wall_ms, found.user_cpu_ms, found.peak_rss_bytes) == (missing, missing, missing)


def test_figures_that_the_supervisor_lacks_are_unavailable() -> None:
    """A client that never started was never accounted."""
    found = timing(exit=exit_report(wall_ms=None, user_cpu_ms=None, system_cpu_ms=None, peak_rss_bytes=None))
    assert found.wall_ms == Unavailable("the client never started")
    assert found.user_cpu_ms == found.system_cpu_ms == found.peak_rss_bytes == Unavailable("not accounted")


def test_working_time_is_what_no_model_request_took() -> None:
    """2,500 ms less two requests of 20.5 ms."""
    assert timing().working_ms == Measured(2459)


def test_requests_side_by_side_are_waited_for_once() -> None:
    """From 2.5 to 2.6 s, from 2.55 to 2.7 s and within it: 200 ms together; what outlasts the client is cut."""
    beside = lines(
        exchange(1, received_ns=2_500_000_000, last_byte_ns=2_600_000_000),
        exchange(2, received_ns=2_550_000_000, last_byte_ns=2_700_000_000),
        exchange(3, received_ns=2_560_000_000, last_byte_ns=2_570_000_000),
    )
    assert timing(exchanges=beside).working_ms == Measured(2300)
    late = lines(exchange(1, received_ns=4_400_000_000, last_byte_ns=9_000_000_000))
    assert timing(exchanges=late).working_ms == Measured(2400)


def test_the_memory_s_own_requests_are_work() -> None:
    """The client waits for its memory as for any tool."""
    owned = lines(exchange(1, owner="memory", received_ns=2_500_000_000, last_byte_ns=2_900_000_000))
    assert timing(exchanges=owned).working_ms == Measured(2500)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exchanges": None}, "exchanges.jsonl is missing"),
        ({"exit": None}, "exit.json is missing"),
        ({"exit": exit_report(started_ns=None, wall_ms=None)}, "the client never started"),
        ({"exchanges": lines(exchange(1, received_ns=1))}, "exchange 1 is older than the client"),
        ({"exchanges": lines(exchange(1, last_byte_ns=0))}, "exchange 1 has no end"),
        ({"exit": exit_report(ended_ns=1_000_000_000), "exchanges": b""}, "the client's clock ran backwards"),
    ],
)
def test_working_time_that_no_clock_saw_is_unavailable(changes: dict[str, Any], reason: str) -> None:
    """Clocks that run backwards, requests without an end: never a wrong sum."""
    assert timing(**changes).working_ms == Unavailable(reason)
