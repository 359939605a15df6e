"""Each way in which a pod can be less isolated than it has to be is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.collect.isolation import isolation_breaches
from runner.core.evidence import EngineFacts, ExitReport
from tests.fakes.attempts import SIDECAR_ID, Attempt, container, credentials, exit_report, good_control, good_treatment


def breaches(attempt: Attempt, *, joins_sidecar: bool = False) -> tuple[str, ...]:
    """What isolation lacked."""
    files = attempt.files()
    engine = EngineFacts.from_bytes(files["engine.json"], "engine.json")
    report = ExitReport.from_bytes(files["exit.json"], "exit.json") if "exit.json" in files else None
    return isolation_breaches(engine, report, joins_sidecar=joins_sidecar)


def test_good_pods_have_no_breach() -> None:
    """Both kinds of arm, and a pod whose containers were never made."""
    assert breaches(good_control()) == ()
    assert breaches(good_treatment(), joins_sidecar=True) == ()
    assert breaches(Attempt(trial=None, sidecar=None, gateway=None, exit=None)) == ()


WRITABLE = [{"destination": "/workspace", "type": "volume", "read_only": False}]


@pytest.mark.parametrize(
    ("role", "changes", "breach"),
    [
        ("trial", {"network_mode": "host"}, "the network of the trial is 'host', not 'none'"),
        ("gateway", {"network_mode": "bridge"}, "the network of the gateway is 'bridge', not 'none'"),
        ("sidecar", {"network_mode": "bridge"}, "the network of the sidecar is 'bridge', not 'none'"),
        ("trial", {"read_only": False}, "the root of the trial can be written"),
        ("trial", {"cap_drop": []}, "the trial keeps the engine's default capabilities"),
        ("trial", {"cap_add": ["CAP_SETUID", "CAP_SYS_ADMIN"]}, "the trial has SYS_ADMIN"),
        ("gateway", {"cap_add": ["SETUID"]}, "the gateway has SETUID"),
        ("trial", {"security_opt": []}, "processes of the trial may gain privileges"),
        ("trial", {"security_opt": ["no-new-privileges:false"]}, "processes of the trial may gain privileges"),
        ("trial", {"memory_bytes": 0}, "the trial has no limit of memory or processes"),
        ("sidecar", {"pids_limit": -1}, "the sidecar has no limit of memory or processes"),
        ("trial", {"mounts": WRITABLE}, "/workspace of the trial can be written"),
    ],
)
def test_a_container_that_is_less_isolated_is_named(role: str, changes: dict[str, Any], breach: str) -> None:
    """One sentence says which container lacks what."""
    assert breaches(good_control().but(**{role: container(role, **changes)})) == (breach,)


def test_a_control_that_joined_the_sidecar_is_a_breach() -> None:
    """It could have read the memory, whether it did or not."""
    joined = good_control().but(trial=container("trial", network_mode=f"container:{SIDECAR_ID}"))
    assert breaches(joined) == (f"the network of the trial is 'container:{SIDECAR_ID}', not 'none'",)


def test_a_treatment_that_joined_another_container_is_a_breach() -> None:
    """Only its own sidecar will do."""
    other = good_treatment().but(trial=container("trial", network_mode="container:abc"))
    assert breaches(other, joins_sidecar=True) == (
        f"the network of the trial is 'container:abc', not 'container:{SIDECAR_ID}'",
    )


@pytest.mark.parametrize(
    ("client", "breach"),
    [
        (credentials(10002, cap_bounding="00000000000000c0"), "the client has capabilities or could gain some"),
        (credentials(10002, no_new_privileges=0), "the client has capabilities or could gain some"),
        (credentials(10001), "the client ran as uid 10001, the supervisor as 10001"),
        (credentials(0), "the client ran as uid 0, the supervisor as 10001"),
    ],
)
def test_a_client_with_too_much_power_is_named(client: dict[str, Any], breach: str) -> None:
    """The kernel's own words about the process count."""
    assert breaches(good_control().but(exit=exit_report(client=client))) == (breach,)


def test_engine_facts_survive_their_canonical_form() -> None:
    """What the executor writes is what collection reads."""
    facts = EngineFacts.from_bytes(good_control().files()["engine.json"], "engine.json")
    assert EngineFacts.from_bytes(facts.to_bytes(), "engine.json") == facts
    assert json.loads(facts.to_bytes())["outcome_hint"] == ""
