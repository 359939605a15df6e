"""The provider's key in a pod: handed to a running gateway, in memory, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.evidence import OutcomeHint
from runner.core.secret import Secret
from runner.execute.pod import Pod
from tests.fakes.engine import FakeEngine, Hang
from tests.fakes.orders import order, planned, pod_engine
from tests.fakes.pods import Pods

if TYPE_CHECKING:
    from runner.execute.order import PodOrder
    from tests.fakes.engine import Behaviour, Box, Script

KEY = "sk-a-key"


def live_order(engine: FakeEngine) -> PodOrder:
    engine.create_network("way-out", {})
    return replace(order(planned()), key=Secret(KEY), network="way-out", gateway_files={"ca.pem": b"a certificate"})


def pod_with(gateway: Behaviour) -> tuple[Pod, FakeEngine]:
    pods = Pods()
    pods.roles["gateway"] = gateway
    engine = pod_engine(pods)
    return Pod(engine, engine.clock, live_order(engine)), engine


def test_the_gateway_takes_the_key_from_memory_that_only_it_mounts() -> None:
    """After its start, by a file and a signal; no other container has the volume, the network or the file."""
    taken: list[bytes] = []

    def gateway(box: Box) -> Script:
        assert box.read("/in/ca.pem") == b"a certificate"
        assert box.names("/secret") == []
        box.tell("ready")
        while True:
            if (yield Hang()) == "SIGUSR2":
                taken.append(box.read("/secret/provider-key"))
                box.tell("keyed")

    pod, engine = pod_with(gateway)
    pod.prepare()
    assert pod.hint is OutcomeHint.NONE
    assert taken == [KEY.encode()]
    for name, spec in engine.specs.items():
        mounted = any(mount.destination == "/secret" for mount in spec.mounts)
        assert (mounted, spec.network) == ((True, "way-out") if name.endswith("-gateway") else (False, None))
        assert KEY not in repr(spec)
    secret = next(volume for volume in engine.volumes.values() if volume.labels.get("pairbench.role") == "secret")
    assert secret.tmpfs is not None
    assert (secret.tmpfs.uid, secret.tmpfs.mode) == (10004, "0700")
    pod.dispose()
    assert [item for item in engine.owned() if item.kind == "volume"] == []


def test_a_gateway_that_takes_no_key_is_not_ready() -> None:
    """No trial starts behind it, and the reason names the key, not what it is."""

    def gateway(box: Box) -> Script:
        box.tell("ready")
        while True:
            if (yield Hang()) == "SIGUSR2":
                box.tell("unkeyed", reason="FileNotFoundError")

    pod, _ = pod_with(gateway)
    pod.prepare()
    assert (pod.hint, pod.detail) == (OutcomeHint.GATEWAY_NOT_READY, "the gateway did not take the provider's key")
    assert KEY not in pod.detail
    assert KEY not in repr(pod.order)
