"""Orders of which a Compose file is made, by who plays the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.gateway import GatewayConfig, UpstreamPart
from runner.core.secret import Secret
from tests.fakes.orders import order, planned

if TYPE_CHECKING:
    from runner.execute.order import PodOrder

HEX = "0123456789abcdef" * 4
IDENTITIES = dict.fromkeys(("gateway", "sidecar", "trial"), f"sha256:{HEX}")


def asking(mode: str, *, recording: bool = False) -> PodOrder:
    """An order whose gateway's model is somebody else than a policy."""
    plain = order(planned("joined"), joins_sidecar=True)
    told = plain.gateway.model_dump() | {"policy": None, "mode": mode, "recording": recording}
    if mode in {"live", "record"}:
        told["upstream"] = UpstreamPart(base_url="https://model.example", auth="bearer", ca_file=None, key_file="/k")
    key, network = (Secret("sk-key"), "way-out") if mode in {"live", "record"} else (None, None)
    return replace(plain, gateway=GatewayConfig(**told), key=key, network=network)
