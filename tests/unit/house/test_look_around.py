"""The pod of compose.yaml is one that its programs accept."""

from __future__ import annotations

from pathlib import Path

from runner.core.gateway import GatewayConfig
from runner.core.launch import CLIENT_ID, GATEWAY_PORT, GATEWAY_SOCKET, LaunchSpec

ROOT = Path(__file__).resolve().parents[3]
POD = ROOT / "docs" / "howto" / "pod"


def test_the_gateway_gets_a_configuration_of_the_contract() -> None:
    """It listens where the supervisor forwards to, and plays the model itself."""
    config = GatewayConfig.from_bytes((POD / "gateway.json").read_bytes(), "gateway.json")
    assert (config.mode, config.socket) == ("scripted", GATEWAY_SOCKET)


def test_the_supervisor_gets_a_launch_of_the_contract() -> None:
    """It starts a client that waits, as the client's own user, with the gateway on loopback."""
    launch = LaunchSpec.from_bytes((POD / "launch.json").read_bytes(), "launch.json")
    assert launch.argv == ("sleep", "infinity")
    assert (launch.uid, launch.gid) == (CLIENT_ID, CLIENT_ID)
    assert launch.forward is not None
    assert (launch.forward.listen_port, launch.forward.socket) == (GATEWAY_PORT, GATEWAY_SOCKET)


def test_no_container_of_it_has_a_network() -> None:
    """Two containers have none, the third joins one of them; nothing is published."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert text.count("network_mode: none") == 2
    assert text.count("network_mode: service:sidecar") == 1
    assert "ports:" not in text
    assert "networks:" not in text
