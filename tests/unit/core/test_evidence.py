"""The typed documents of supervisor, gateway and engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.core.errors import EvidenceError
from runner.core.evidence import ContainerFacts, Credentials, EngineFacts, Exchange, ExitReport, NoUsage, TokenCounts
from tests.fakes.attempts import container, credentials, exchange, exit_report, good_control


def read_exit(**changes: Any) -> ExitReport:
    """An exit report with these changes."""
    report = {"stdout_bytes": 0, "stderr_bytes": 0} | exit_report(**changes)
    return ExitReport.from_bytes(json.dumps(report).encode(), "exit.json")


def read_exchange(**changes: Any) -> Exchange:
    """An exchange with these changes."""
    return Exchange.from_bytes(json.dumps(exchange(1, **changes)).encode(), "exchanges.jsonl line 1")


def test_nanoseconds_of_a_long_running_host_are_read() -> None:
    """A monotonic clock passes 2**53 ns after 104 days."""
    assert read_exit(started_ns=2**60).started_ns == 2**60


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ended_by": "boredom"}, "exit.json: ended_by: "),
        ({"wall_ms": -1}, "exit.json: wall_ms: "),
        ({"exit_code": "0"}, "exit.json: exit_code: "),
        ({"stray": 1}, "exit.json: stray: unknown key"),
        ({"client": {"uid": 1}}, "exit.json: client.gid: missing"),
        ({"killed": [{"pid": 1}]}, "exit.json: killed[0].comm: missing"),
    ],
)
def test_an_exit_report_of_another_shape_is_refused(changes: dict[str, Any], problem: str) -> None:
    """The error names document and key."""
    with pytest.raises(EvidenceError) as caught:
        read_exit(**changes)
    assert str(caught.value).startswith(problem)


def test_usage_is_counts_or_a_reason() -> None:
    """Both forms of the wire have a type of their own."""
    assert isinstance(read_exchange().usage, TokenCounts)
    assert read_exchange(usage={"unavailable": "cut"}).usage == NoUsage(unavailable="cut")
    with pytest.raises(EvidenceError, match="usage"):
        read_exchange(usage={"input_tokens": 3})
    with pytest.raises(EvidenceError, match="usage"):
        read_exchange(usage=None)


@pytest.mark.parametrize(
    ("changes", "reached"),
    [
        ({}, True),
        ({"path": "/v1/messages"}, True),
        ({"path": "/v1/responses"}, True),
        ({"cut": True, "usage": {"unavailable": "cut"}}, True),
        ({"status": 500}, True),
        ({"status": 500, "usage": {"unavailable": "an error"}}, False),
        ({"path": "/v1/messages/count_tokens?beta=true"}, False),
        ({"method": "GET"}, False),
        ({"refused": "request_limit"}, False),
    ],
)
def test_an_exchange_reached_a_model_or_not(changes: dict[str, Any], *, reached: bool) -> None:
    """What may have to be paid counts as usage; what was never asked of a model doesn't."""
    assert read_exchange(**changes).reached_model() is reached


@pytest.mark.parametrize(
    ("changes", "powerless"),
    [
        ({}, True),
        ({"cap_effective": "0000000000000001"}, False),
        ({"cap_inheritable": "0000003fffffffff"}, False),
        ({"cap_bounding": "00000000000000e0"}, False),
        ({"no_new_privileges": 0}, False),
    ],
)
def test_a_process_is_powerless_when_it_holds_and_gains_nothing(changes: dict[str, Any], *, powerless: bool) -> None:
    """Every set is empty and new privileges are out of reach."""
    assert Credentials.model_validate(credentials(10002, **changes)).is_powerless() is powerless


@pytest.mark.parametrize(
    ("started_at", "started"),
    [("2026-11-29T17:53:57.1Z", True), ("0001-01-01T00:00:00Z", False), ("", False)],
)
def test_a_container_that_never_ran_says_so(started_at: str, *, started: bool) -> None:
    """Engines write the year 1 for never."""
    facts = json.dumps(container("trial", started_at=started_at))
    assert ContainerFacts.model_validate_json(facts).was_started() is started


def test_an_unknown_hint_is_refused() -> None:
    """What the executor may know is a closed list."""
    data = good_control().but(hint="tired").files()["engine.json"]
    with pytest.raises(EvidenceError, match="outcome_hint"):
        EngineFacts.from_bytes(data, "engine.json")
