"""What an attempt leaves behind: the documents of the supervisor, the gateway, the sidecar and the engine, typed.

The formats of the first three are fixed by `docs/reference/pod.md`; the runner's executor writes the fourth.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from runner.core.documents import Document, Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.launch import McpServer

# RFC 8785 section 3.2.2.3: beyond this an integer doesn't survive canonical JSON.
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
# A clock that started 105 days ago is beyond it; nanoseconds stay in raw evidence and become milliseconds in records.
Nanoseconds = Annotated[int, Field(ge=0)]
# Far above any context window times any number of requests, and sums of it stay exact.
Tokens = Annotated[int, Field(ge=0, le=2**40)]


class Credentials(Part):
    """Who a process is and what it may, from `/proc/<pid>/status`."""

    uid: int
    gid: int
    cap_effective: str
    cap_permitted: str
    cap_inheritable: str
    cap_bounding: str
    no_new_privileges: int
    seccomp: int

    def is_powerless(self) -> bool:
        """Whether the process holds no capability and can get none."""
        sets = (self.cap_effective, self.cap_permitted, self.cap_inheritable, self.cap_bounding)
        return self.no_new_privileges == 1 and all(set(text) <= {"0"} for text in sets)


class KilledProcess(Part):
    """A process that was still there when the client had ended."""

    pid: int
    comm: str
    uid: int


class ExitReport(Document):
    """`exit.json`: how the supervisor saw the client end."""

    FORMAT: ClassVar[str] = "pairbench/exit"

    ended_by: Literal["exit", "deadline", "output_limit", "cancelled", "not_ready", "spawn_failed"]
    detail: str
    exit_code: int | None
    signal: int | None
    supervisor_started_ns: Nanoseconds
    ready_ns: Nanoseconds | None
    started_ns: Nanoseconds | None
    ended_ns: Nanoseconds | None
    finished_ns: Nanoseconds | None
    wall_ms: Count | None
    user_cpu_ms: Count | None
    system_cpu_ms: Count | None
    peak_rss_bytes: Count | None
    stdout_bytes: Count
    stderr_bytes: Count
    stdout_truncated: bool
    stderr_truncated: bool
    killed: tuple[KilledProcess, ...]
    reaped: Count
    oom_kills: Count | None
    """Processes that the kernel killed at the memory limit, by its own count; None: it couldn't be read."""
    full: tuple[str, ...]
    """Places of the client's that had no room left when it ended."""
    supervisor: Credentials
    client: Credentials | None


class NoUsage(Part):
    """Why the gateway read no usage, or not of one class."""

    unavailable: str


class TokenCounts(Part):
    """What the gateway read from an answer of the model."""

    input_tokens: Tokens | NoUsage
    output_tokens: Tokens | NoUsage
    cache_read_input_tokens: Tokens | NoUsage
    cache_write_5m_input_tokens: Tokens | NoUsage
    cache_write_1h_input_tokens: Tokens | NoUsage

    def of(self, token_class: str) -> int | NoUsage:
        """The tokens of `token_class`, one of `TOKEN_CLASSES`."""
        count: int | NoUsage = getattr(self, token_class)
        return count


class UsageDetails(Part):
    """What else of an answer bears on its price, in the provider's words."""

    service_tier: str = ""
    inference_geo: str = ""
    speed: str = ""
    thinking_tokens: Count | None = None
    """Part of the output; None: the answer doesn't say."""
    server_tools: dict[str, Count] = Field(default_factory=dict)
    """Requests of tools that the provider ran, by its name for them."""


class Exchange(Document):
    """One line of `exchanges.jsonl`."""

    FORMAT: ClassVar[str] = "pairbench/exchange"

    seq: Count
    owner: Literal["client", "memory", "unknown"]
    method: str
    path: str
    status: int | None
    request_sha256: str
    response_sha256: str
    request_bytes: Count
    response_bytes: Count
    received_ns: Nanoseconds
    first_byte_ns: Nanoseconds | None
    last_byte_ns: Nanoseconds | None
    retry_count: int | None
    resend_of: int | None
    model_asked: str | None
    model_resolved: str | None
    stop_reason: str | None
    streamed: bool
    cut: bool
    refused: str | None
    usage: TokenCounts | NoUsage
    details: UsageDetails | None = None
    charged_microusd: Count | None = None
    """What it counts against the caps; None where there are none."""
    reserved_microusd: Count | None = None
    """The worst case that was reserved before it went out."""
    agent: str | None = None
    """The client's own name for the sub-agent that asked; None: it says none."""
    key_returned: bool = False
    """The answer held the provider's key; the gateway ended it before that passed."""
    difference: tuple[str, ...] = ()
    """Of a refused request: parts in which it differs from all that a cassette holds, or what no cap has room for."""
    retry_after: str | None = None
    """How long the provider asked to wait, in its words; None: it didn't."""
    texts_sha256: tuple[str, ...] | None = None
    """Of each text that the model said, less its white space, and of several all together; None: nobody knows them."""
    tools: tuple[str, ...] = ()
    """Names of the tools offered to a model; one of a namespace has the namespace and `/` before it."""
    unlisted_tools: Count = 0
    """Tools that were offered beyond those."""

    def reached_model(self) -> bool:
        """Whether a model was asked for an answer, so that it may have to be paid."""
        if self.refused is not None or self.method != "POST":
            return False
        if self.path.partition("?")[0] not in {"/v1/messages", "/v1/responses"}:
            return False
        # A provider that answers with an error bills nothing, unless it says otherwise.
        failed = self.status is not None and self.status >= 400
        return not (failed and isinstance(self.usage, NoUsage))


class Replayed(Document):
    """`replayed.json`: what became of a cassette's entries for the attempt."""

    FORMAT: ClassVar[str] = "pairbench/replayed"

    entries: Count
    unasked: Count
    """Entries that no request asked for."""
    first_unasked: tuple[Count, ...]
    """Numbers of the first of them, as they were recorded."""


class SidecarRequest(Part):
    """One request in the sidecar's log."""

    event: Literal["request"]
    seq: Count
    method: str
    path: str
    status: int
    received_ns: Nanoseconds
    duration_us: Count
    returned: tuple[int | str, ...] = ()
    """The points that a search found, where the sidecar was to say that."""


class MountFacts(Part):
    """One mount of a container."""

    destination: str
    type: str
    read_only: bool


class ContainerFacts(Part):
    """One container as the engine described it after its end, or just before the runner ended it."""

    id: str
    image: str
    """The image's id."""
    network_mode: str
    read_only: bool
    user: str
    cap_add: tuple[str, ...]
    cap_drop: tuple[str, ...]
    security_opt: tuple[str, ...]
    memory_bytes: int
    pids_limit: int
    nano_cpus: int
    mounts: tuple[MountFacts, ...]
    environment: tuple[str, ...] = ()
    """Names of the variables that the engine gives its first process; what they hold is not kept."""
    exit_code: int | None
    """None while it runs."""
    oom_killed: bool
    error: str
    started_at: str
    """RFC 3339, as the engine says; it says 0001-01-01T00:00:00Z for never."""
    finished_at: str

    def was_started(self) -> bool:
        """Whether the container ever ran."""
        return self.started_at != "" and not self.started_at.startswith("0001-")


class OutcomeHint(enum.StrEnum):
    """What the executor knows about an attempt that no file inside the pod can say."""

    NONE = ""
    SIDECAR_NOT_READY = "sidecar_not_ready"
    GATEWAY_NOT_READY = "gateway_not_ready"
    ENGINE_ERROR = "engine_error"
    HOST_DEADLINE = "host_deadline"
    CANCELLED = "cancelled"


class EngineFacts(Document):
    """`engine.json`: the pod as the engine described it; null for a container that was never created."""

    FORMAT: ClassVar[str] = "pairbench/engine-facts"

    gateway: ContainerFacts | None
    sidecar: ContainerFacts | None
    trial: ContainerFacts | None
    outcome_hint: OutcomeHint
    detail: str
    """One sentence for a person; "" when there is nothing to say."""
    pod_ms: int | None
    """From the first engine call of the attempt to the trial container proven gone."""
    gone_proven: bool
    """The trial container was seen to be gone before evidence was read."""


STDOUT = "stdout.jsonl"
STDERR = "stderr.txt"
EXIT = "exit.json"
EXCHANGES = "exchanges.jsonl"
BODIES = "bodies.jsonl.zst"
RECORDING = "recording.jsonl"
REPLAYED = "replayed.json"
SIDECAR = "sidecar.jsonl"
ENGINE = "engine.json"
LAUNCH = "launch.json"
IN_FILES = "in.json"
GATEWAY_CONFIG = "gateway.json"
COMPOSE = "compose.yaml"
"""With which the attempt is made again by hand."""


@dataclass(frozen=True)
class Expectation:
    """What the study and the lock say that the attempt's client should have worked with."""

    client: str
    """The client's kind."""
    model: str
    """The model asked for; "" when the client has none."""
    tools: tuple[str, ...]
    """Built-in tools that the client is to offer."""
    mcp_servers: tuple[McpServer, ...]
    sidecar: bool
    """Whether the arm reaches the sidecar."""
    goes_out: bool = False
    """Whether the gateway's requests leave for a provider."""
    capped: bool = False
    """Whether the gateway kept to a cap on spend."""
    prints_store: bool = False
    """Whether the sidecar was to print what its store holds."""


@dataclass(frozen=True)
class AttemptEvidence:
    """The raw files of one attempt by name, as they were collected, and what was expected of it."""

    files: Mapping[str, bytes]
    expectation: Expectation
