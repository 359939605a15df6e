"""Each way in which a pod can be less isolated than it has to be is named."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.collect.isolation import isolation_breaches
from runner.core.evidence import EngineFacts, ExitReport
from runner.core.secret import Secret
from runner.execute.containers import gateway_spec, sidecar_spec, trial_spec
from tests.fakes.attempts import SIDECAR_ID, Attempt, container, credentials, exit_report, good_control, good_treatment
from tests.fakes.orders import order as order_for
from tests.fakes.orders import planned

IMAGES = Path(__file__).parents[3] / "images"


def breaches(attempt: Attempt, *, joins_sidecar: bool = False, goes_out: bool = False) -> tuple[str, ...]:
    """What isolation lacked."""
    files = attempt.files()
    engine = EngineFacts.from_bytes(files["engine.json"], "engine.json")
    report = ExitReport.from_bytes(files["exit.json"], "exit.json") if "exit.json" in files else None
    return isolation_breaches(engine, report, joins_sidecar=joins_sidecar, goes_out=goes_out)


def test_good_pods_have_no_breach() -> None:
    """Both kinds of arm, and a pod whose containers were never made."""
    assert breaches(good_control()) == ()
    assert breaches(good_treatment(), joins_sidecar=True) == ()
    assert breaches(Attempt(trial=None, sidecar=None, gateway=None, exit=None)) == ()


SCRATCH = {"destination": "/scratch", "type": "volume", "read_only": False}
ROOM = {"destination": "/tmp", "type": "volume", "read_only": False}
HOST = {"destination": "/in", "type": "bind", "read_only": True}
KEY = {"destination": "/secret", "type": "volume", "read_only": False}
OWN = ["LANG", "LD_PRELOAD", "PATH", "PYTHONPATH"]
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
        ("trial", {"mounts": [SCRATCH]}, "the trial has a volume at /scratch, which no pod gives it"),
        ("gateway", {"mounts": [SCRATCH]}, "the gateway has a volume at /scratch, which no pod gives it"),
        ("sidecar", {"mounts": [SCRATCH]}, "the sidecar has a volume at /scratch, which no pod gives it"),
        ("trial", {"mounts": [ROOM]}, "the trial has a volume at /tmp, which no pod gives it"),
        ("trial", {"mounts": [HOST]}, "the trial has a bind at /in, which no pod gives it"),
        ("gateway", {"mounts": [KEY]}, "the gateway has a volume at /secret, which no pod gives it"),
        (
            "trial",
            {"environment": OWN},
            "the engine gives the trial LD_PRELOAD, PYTHONPATH, which no image of ours sets",
        ),
        ("sidecar", {"environment": ["FOO"]}, "the engine gives the sidecar FOO, which no image of ours sets"),
        ("gateway", {"environment": ["A_KEY"]}, "the engine gives the gateway A_KEY, where a key could be"),
        ("trial", {"mounts": WRITABLE}, "/workspace of the trial can be written"),
    ],
)
def test_a_container_that_is_less_isolated_is_named(role: str, changes: dict[str, Any], breach: str) -> None:
    """One sentence says which container lacks what."""
    assert breaches(good_control().but(**{role: container(role, **changes)})) == (breach,)


def test_the_gateway_that_goes_out_has_its_key_s_volume() -> None:
    """And nobody else has it: not another container, and no gateway that reaches nobody."""
    network = f"pairbench-{'0' * 32}"
    gateway = container("gateway", network_mode=network, mounts=[KEY])
    assert breaches(good_control().but(gateway=gateway), goes_out=True) == ()
    assert breaches(good_control().but(trial=container("trial", mounts=[KEY])), goes_out=True) == (
        "the trial has a volume at /secret, which no pod gives it",
    )


@pytest.mark.parametrize("changes", [{}, {"key": Secret("sk-a-key"), "network": f"pairbench-{'0' * 32}"}])
def test_what_pods_are_made_with_is_no_breach(changes: dict[str, Any]) -> None:
    """Every mount of every container that is asked for, with and without the provider's key."""
    order = replace(order_for(planned()), **changes)
    specs = {"gateway": gateway_spec(order), "sidecar": sidecar_spec(order), "trial": trial_spec(order, SIDECAR_ID)}
    made = {
        role: container(
            role,
            mounts=[
                *({"destination": m.destination, "type": "volume", "read_only": m.read_only} for m in spec.mounts),
                *({"destination": m.destination, "type": "tmpfs", "read_only": False} for m in spec.tmpfs),
            ],
            environment=sorted(spec.environment),
        )
        for role, spec in specs.items()
    }
    assert breaches(good_control().but(**made), goes_out=bool(changes)) == ()


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*/image.toml")), ids=lambda path: path.parent.name)
def test_images_of_ours_set_no_variable_that_is_a_breach(path: Path) -> None:
    """What they declare is what the engine gives the processes of a pod."""
    declared = tomllib.loads(path.read_text("utf-8")).get("environment", {})
    assert breaches(good_control().but(trial=container("trial", environment=sorted(declared)))) == ()


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
