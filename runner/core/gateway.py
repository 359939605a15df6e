"""What the gateway of a pod is told: `/in/gateway.json`."""

from __future__ import annotations

from typing import ClassVar, Final

from runner.core.documents import Document, Part

EVIDENCE_FOLDER: Final = "/pod/gateway"


class Tokens(Part):
    """Who may call, and whose calls they are; they are worth nothing outside the pod."""

    client: str
    memory: str


class PolicyChoice(Part):
    """The deterministic policy that plays the model."""

    name: str
    version: int


class GatewayConfig(Document):
    """The configuration of one pod's gateway; it holds no label and no prompt."""

    FORMAT: ClassVar[str] = "pairbench/gateway-config"

    mode: str
    socket: str
    evidence_dir: str
    tokens: Tokens
    policy: PolicyChoice
    seed: str
    record_limit_bytes: int
    request_limit: int
