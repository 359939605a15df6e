"""What one attempt's pod is to be made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.gateway import GatewayConfig
    from runner.core.launch import PodLaunch
    from runner.core.plan import PlannedTrial
    from runner.core.secret import Secret
    from runner.core.study import Limits

VOLUME_ROLES: Final = ("gateway-in", "trial-in", "pod", "secret")
"""Of every volume that a pod may have; `volume_name` makes its name of the pod's and this."""


@dataclass(frozen=True)
class PodImages:
    """References of the images of one pod."""

    gateway: str
    sidecar: str
    trial: str


@dataclass(frozen=True)
class PodOrder:
    """Everything that one attempt's pod is made of."""

    planned: PlannedTrial
    attempt: int
    prefix: str
    """Begins the names of its containers; no other attempt has the same."""
    labels: Mapping[str, str]
    images: PodImages
    launch: PodLaunch
    gateway: GatewayConfig
    joins_sidecar: bool
    workspace_volume: str
    index_volume: str
    corpus: str
    """What the two volumes were filled with; "" for nothing."""
    limits: Limits
    gateway_files: Mapping[str, bytes] = field(default_factory=dict)
    """What the gateway finds in `/in` beside its configuration."""
    network: str | None = None
    """The gateway's way out; None: it has none."""
    key: Secret | None = None
    """The provider's, for the gateway alone."""
    prints_store: bool = False
    """What the sidecar's store holds when the trial has ended is evidence."""
