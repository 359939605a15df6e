"""What the gateway of a pod is told: `/in/gateway.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from runner.core.documents import Document, Part
from runner.core.masks import Mask
from runner.core.model_script import ModelScript

if TYPE_CHECKING:
    from runner.core.study import ModelChoice

EVIDENCE_FOLDER: Final = "/pod/gateway"
KEY_FOLDER: Final = "/secret"
"""Where only the gateway finds the provider's key, in memory, until it has read it."""
KEY_NAME: Final = "provider-key"
CA_NAME: Final = "ca.pem"
CASSETTE_NAME: Final = "cassette.jsonl"


class Tokens(Part):
    """Who may call, and whose calls they are; they are worth nothing outside the pod."""

    client: str
    memory: str


class PolicyChoice(Part):
    """The deterministic policy that plays the model."""

    name: str
    version: int


def policy_for(model: ModelChoice, script: ModelScript | None) -> PolicyChoice | None:
    """The study's policy, or the default one where a study of scripts names none; None where a policy plays nothing."""
    if model.mode != "scripted":
        return None
    if model.policy == "script" and script is None:
        return PolicyChoice(name="plain-agent", version=1)
    return PolicyChoice(name=model.policy, version=model.policy_version)


class UpstreamPart(Part):
    """Where the provider is."""

    base_url: str
    auth: str
    ca_file: str | None
    key_file: str


class LongContextPart(Part):
    """Beyond so many input tokens a model costs at most so many times as much, in thousandths."""

    from_input_tokens: int
    at_most_permille: int


class PricePart(Part):
    """Micro-dollars per million tokens of one model."""

    model: str
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_write_5m_input_tokens: int
    cache_write_1h_input_tokens: int
    long_context: LongContextPart | None


class SurchargePart(Part):
    """What multiplies a price when an answer says so, in thousandths; no models: all of them."""

    detail: str
    value: str
    permille: int
    models: tuple[str, ...]


class SpendingPart(Part):
    """What an attempt may spend, and what bounds the cost of a request."""

    grant_microusd: int
    grant_of: str
    request_microusd: int | None
    bounds: dict[str, int]
    prices: tuple[PricePart, ...]
    surcharges: tuple[SurchargePart, ...]
    server_tools: dict[str, int]


class GatewayConfig(Document):
    """The configuration of one pod's gateway; it holds no label and no prompt."""

    FORMAT: ClassVar[str] = "pairbench/gateway-config"

    mode: str
    socket: str
    evidence_dir: str
    tokens: Tokens
    policy: PolicyChoice | None = None
    """Only in mode `scripted`."""
    seed: str
    record_limit_bytes: int
    request_limit: int
    script: ModelScript | None = None
    """What the policy `script` plays; no other policy has one."""
    upstream: UpstreamPart | None = None
    """Only in modes `live` and `record`."""
    cassette: str | None = None
    """Only in mode `replay`: where the attempt's entries are."""
    timed: bool = False
    recording: bool = False
    bodies: str = "kept"
    masks: tuple[Mask, ...] = ()
    spending: SpendingPart | None = None
    """None where nothing is capped."""
