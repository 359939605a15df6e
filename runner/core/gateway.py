"""What the gateway of a pod is told: `/in/gateway.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from runner.core.documents import Document, Part
from runner.core.model_script import ModelScript

if TYPE_CHECKING:
    from runner.core.study import ModelChoice

EVIDENCE_FOLDER: Final = "/pod/gateway"


class Tokens(Part):
    """Who may call, and whose calls they are; they are worth nothing outside the pod."""

    client: str
    memory: str


class PolicyChoice(Part):
    """The deterministic policy that plays the model."""

    name: str
    version: int


def policy_for(model: ModelChoice, script: ModelScript | None) -> PolicyChoice:
    """What plays the model in a task: the study's policy, or the default one where a study of scripts names none."""
    if model.policy == "script" and script is None:
        return PolicyChoice(name="plain-agent", version=1)
    return PolicyChoice(name=model.policy, version=model.policy_version)


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
    script: ModelScript | None = None
    """What the policy `script` plays; no other policy has one."""
