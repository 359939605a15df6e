"""What a user declares: the study file, its task files and its labels, as `docs/reference/study.md` describes them.

The models here know shapes and ranges. What needs more than one file is checked where a study is loaded.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator

from runner.core.documents import Part
from runner.core.gates import Gate
from runner.core.systems import MOST_RESULTS, System

NAME = r"^[a-z][a-z0-9-]{0,39}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
ArmName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Text = Annotated[str, StringConstraints(min_length=1)]
PathText = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^/\\\x00][^\\\x00]*$")]
"""A relative path with `/`."""

_MIB = 1 << 20
_GIB = 1 << 30
# Far beyond any machine that pods run on, and well within what canonical JSON can hold.
_MOST_BYTES = 1 << 50


Turns = Annotated[int, Field(ge=1, le=1000)]


# What a kind of client can't be told stands as a constant, so that whoever reads a study need not know its kind. So
# does what is known of its requests before there are any: `envelope_bytes` are in each besides prompt and instructions,
# `caches_prompts` says whether they ask for a cache, and `output_limit` how it is told what one may write, "" where it
# can't be.
class ClaudeCodeClient(Part):
    """The Claude Code CLI in print mode."""

    kind: Literal["claude-code"]
    env: dict[EnvName, str] = Field(default_factory=dict)
    model: Text
    tools: tuple[ToolName, ...] = ("Read", "Grep", "Glob")
    max_turns: Turns | None = None
    instructions: PathText | None = None

    max_output_tokens: ClassVar[int | None] = None
    effort: ClassVar[str] = ""
    command: ClassVar[tuple[str, ...]] = ()
    takes_servers: ClassVar[bool] = True
    default_image: ClassVar[str] = "trial"
    # 37,600 with its three default tools, which are 7,700 of it (version 2.1.332): less than any set of tools makes.
    envelope_bytes: ClassVar[int] = 28_000
    output_limit: ClassVar[str] = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"

    @property
    def caches_prompts(self) -> bool:
        """Whether its requests ask for a cache."""
        return "DISABLE_PROMPT_CACHING" not in self.env


class CodexClient(Part):
    """The Codex CLI, run once without a terminal; its tools are a shell and what belongs to it."""

    kind: Literal["codex"]
    env: dict[EnvName, str] = Field(default_factory=dict)
    model: Text
    effort: Literal["", "minimal", "low", "medium", "high", "xhigh"] = ""
    instructions: PathText | None = None

    tools: ClassVar[tuple[str, ...]] = ()
    max_turns: ClassVar[int | None] = None
    max_output_tokens: ClassVar[int | None] = None
    command: ClassVar[tuple[str, ...]] = ()
    takes_servers: ClassVar[bool] = True
    default_image: ClassVar[str] = "codex"
    # 26,600 with version 0.163.0, most of which is a prompt that depends on the model.
    envelope_bytes: ClassVar[int] = 8_000
    caches_prompts: ClassVar[bool] = True
    output_limit: ClassVar[str] = ""


class MessagesClient(Part):
    """An agent loop of ours over the Messages API, with tools that only read."""

    kind: Literal["messages"]
    env: dict[EnvName, str] = Field(default_factory=dict)
    model: Text
    tools: tuple[Literal["read_file", "grep", "glob"], ...] = ("read_file", "grep", "glob")
    max_turns: Turns | None = None
    max_output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 8192
    instructions: PathText | None = None

    effort: ClassVar[str] = ""
    command: ClassVar[tuple[str, ...]] = ()
    takes_servers: ClassVar[bool] = True
    default_image: ClassVar[str] = "messages"
    envelope_bytes: ClassVar[int] = 200
    caches_prompts: ClassVar[bool] = True
    output_limit: ClassVar[str] = "its configuration"


class CommandClient(Part):
    """Any program: its prompt is a file, its answer is what it prints."""

    kind: Literal["command"]
    env: dict[EnvName, str] = Field(default_factory=dict)
    command: Annotated[tuple[Text, ...], Field(min_length=1)]
    model: str = ""
    max_output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None

    tools: ClassVar[tuple[str, ...]] = ()
    max_turns: ClassVar[int | None] = None
    instructions: ClassVar[str | None] = None
    effort: ClassVar[str] = ""
    takes_servers: ClassVar[bool] = False
    default_image: ClassVar[str] = "trial"
    envelope_bytes: ClassVar[int] = 0
    caches_prompts: ClassVar[bool] = False
    output_limit: ClassVar[str] = "PAIRBENCH_MAX_OUTPUT_TOKENS"


class RetrievalClient(Part):
    """A program of ours that asks a retrieval system every query of a set; there is no model."""

    kind: Literal["retrieval"]
    env: dict[EnvName, str] = Field(default_factory=dict)
    depth: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 100
    threads: Annotated[int, Field(ge=1, le=64)] = 1
    warmup: Annotated[int, Field(ge=0, le=1000)] = 1

    model: ClassVar[str] = ""
    tools: ClassVar[tuple[str, ...]] = ()
    max_turns: ClassVar[int | None] = None
    max_output_tokens: ClassVar[int | None] = None
    instructions: ClassVar[str | None] = None
    effort: ClassVar[str] = ""
    command: ClassVar[tuple[str, ...]] = ()
    takes_servers: ClassVar[bool] = True
    default_image: ClassVar[str] = "retrieval"
    envelope_bytes: ClassVar[int] = 0
    caches_prompts: ClassVar[bool] = False
    output_limit: ClassVar[str] = ""


class ReconsolidationClient(Part):
    """A memory that is given the seeds of cases, and asked their probes; what it keeps is what is observed."""

    kind: Literal["reconsolidation"]
    env: dict[EnvName, str] = Field(default_factory=dict)
    model: str = ""
    max_output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 2048
    threads: Annotated[int, Field(ge=1, le=64)] = 1

    tools: ClassVar[tuple[str, ...]] = ()
    max_turns: ClassVar[int | None] = None
    instructions: ClassVar[str | None] = None
    effort: ClassVar[str] = ""
    command: ClassVar[tuple[str, ...]] = ()
    takes_servers: ClassVar[bool] = False
    default_image: ClassVar[str] = "reconsolidator"
    # What our program's requests say besides the seeds: less than any other program's has to be counted on.
    envelope_bytes: ClassVar[int] = 700
    caches_prompts: ClassVar[bool] = False
    output_limit: ClassVar[str] = "its configuration"


Client: TypeAlias = Annotated[
    ClaudeCodeClient | CodexClient | MessagesClient | CommandClient | RetrievalClient | ReconsolidationClient,
    Field(discriminator="kind"),
]


Bodies: TypeAlias = Literal["kept", "left_out"]
"""Whether the bodies of requests and answers become evidence; their digests and sizes always do."""


class NoModel(Part):
    """Nobody: the gateway refuses every request."""

    mode: Literal["none"] = "none"

    bodies: ClassVar[Literal["kept", "left_out"]] = "kept"
    policy: ClassVar[str] = ""
    policy_version: ClassVar[int] = 0
    script: ClassVar[str | None] = None
    record: ClassVar[bool] = False
    base_url: ClassVar[str] = ""
    auth: ClassVar[str] = ""
    ca_file: ClassVar[str | None] = None
    cassette: ClassVar[str | None] = None
    timed: ClassVar[bool] = False

    @property
    def goes_out(self) -> bool:
        """Whether requests leave for a provider."""
        return False


class ScriptedModel(Part):
    """A deterministic policy of ours plays the model."""

    mode: Literal["scripted"]
    policy: Literal["plain-agent", "script"]
    policy_version: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    script: PathText | None = None
    record: bool = False
    bodies: Bodies = "kept"

    base_url: ClassVar[str] = ""
    auth: ClassVar[str] = ""
    ca_file: ClassVar[str | None] = None
    cassette: ClassVar[str | None] = None
    timed: ClassVar[bool] = False

    @property
    def goes_out(self) -> bool:
        """Whether requests leave for a provider."""
        return False

    @field_validator("bodies")
    @classmethod
    def _plays_what_it_keeps(cls, bodies: Bodies, info: ValidationInfo) -> Bodies:
        return _kept_for(bodies, records=bool(info.data.get("record")))


class LiveModel(Part):
    """A provider answers; in mode `record` every exchange can be played again."""

    mode: Literal["live", "record"]
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^/?#@\s]+(/[^?#\s]*)?$")]
    auth: Literal["api-key", "bearer"] = "api-key"
    ca_file: PathText | None = None
    bodies: Bodies = "kept"

    policy: ClassVar[str] = ""
    policy_version: ClassVar[int] = 0
    script: ClassVar[str | None] = None
    cassette: ClassVar[str | None] = None
    timed: ClassVar[bool] = False

    @property
    def record(self) -> bool:
        """Whether exchanges are recorded."""
        return self.mode == "record"

    @property
    def goes_out(self) -> bool:
        """Whether requests leave for a provider."""
        return True

    @field_validator("bodies")
    @classmethod
    def _plays_what_it_keeps(cls, bodies: Bodies, info: ValidationInfo) -> Bodies:
        return _kept_for(bodies, records=info.data.get("mode") == "record")


class ReplayModel(Part):
    """A cassette answers, as somebody did when it was recorded."""

    mode: Literal["replay"]
    cassette: PathText
    timed: bool = False
    bodies: Bodies = "kept"

    policy: ClassVar[str] = ""
    policy_version: ClassVar[int] = 0
    script: ClassVar[str | None] = None
    record: ClassVar[bool] = False
    base_url: ClassVar[str] = ""
    auth: ClassVar[str] = ""
    ca_file: ClassVar[str | None] = None

    @property
    def goes_out(self) -> bool:
        """Whether requests leave for a provider."""
        return False


ModelChoice: TypeAlias = Annotated[ScriptedModel | LiveModel | ReplayModel | NoModel, Field(discriminator="mode")]
"""Who plays the model."""


def _kept_for(bodies: Bodies, *, records: bool) -> Bodies:
    """`bodies`, when they are kept or nothing is to be played again."""
    if records and bodies == "left_out":
        raise ValueError("bodies can't be left_out of a recording: a cassette is made of them")
    return bodies


Microusd = Annotated[int, Field(ge=0, le=10**15)]


class Caps(Part):
    """What may be spent at most, and what bounds a request's cost before it goes out."""

    request_microusd: Microusd | None = None
    trial_microusd: Microusd | None = None
    block_microusd: Microusd | None = None
    study_microusd: Microusd | None = None
    output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    input_tokens_per_1000_bytes: Annotated[int, Field(ge=1, le=1000)] = 1000
    hidden_input_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 4000
    image_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 5000
    document_tokens: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    server_tool_input_tokens: Annotated[int, Field(ge=0, le=100_000_000)] = 0

    @property
    def capped(self) -> bool:
        """Whether anything is capped."""
        return bool(self.declared())

    def declared(self) -> dict[str, int]:
        """The caps that there are, by their key, the narrowest first."""
        caps = {
            "request_microusd": self.request_microusd,
            "trial_microusd": self.trial_microusd,
            "block_microusd": self.block_microusd,
            "study_microusd": self.study_microusd,
        }
        return {name: cap for name, cap in caps.items() if cap is not None}

    @model_validator(mode="after")
    def _trial_has_one(self) -> Self:
        beyond = self.block_microusd is not None or self.study_microusd is not None
        if beyond and self.trial_microusd is None:
            raise ValueError(
                "trial_microusd is needed beside a cap of the block or the study: what each trial is handed"
            )
        return self


class Limits(Part):
    """Bounds of one attempt."""

    wall_s: Annotated[int, Field(ge=1, le=86400)] = 120
    grace_s: Annotated[int, Field(ge=0, le=600)] = 5
    ready_s: Annotated[int, Field(ge=1, le=600)] = 15
    stdout_bytes: Annotated[int, Field(ge=1024, le=_GIB)] = 16 * _MIB
    stderr_bytes: Annotated[int, Field(ge=1024, le=_GIB)] = _MIB
    memory_bytes: Annotated[int, Field(ge=64 * _MIB, le=_MOST_BYTES)] = 2 * _GIB
    sidecar_memory_bytes: Annotated[int, Field(ge=64 * _MIB, le=_MOST_BYTES)] = _GIB
    gateway_memory_bytes: Annotated[int, Field(ge=64 * _MIB, le=_MOST_BYTES)] = 512 * _MIB
    pids: Annotated[int, Field(ge=16, le=32768)] = 256
    cpus: Annotated[int, Field(ge=1, le=1024)] = 2
    home_bytes: Annotated[int, Field(ge=_MIB, le=_MOST_BYTES)] = 64 * _MIB
    tmp_bytes: Annotated[int, Field(ge=_MIB, le=_MOST_BYTES)] = 64 * _MIB
    pod_bytes: Annotated[int, Field(ge=_MIB, le=_MOST_BYTES)] = 128 * _MIB
    record_bytes: Annotated[int, Field(ge=1024, le=_MOST_BYTES)] = 64 * _MIB
    requests: Annotated[int, Field(ge=1, le=100000)] = 64

    @property
    def pod_memory_bytes(self) -> int:
        """What the containers of one pod may take together."""
        return self.memory_bytes + self.sidecar_memory_bytes + self.gateway_memory_bytes

    @model_validator(mode="after")
    def _sums_fit(self) -> Self:
        if self.pod_bytes < self.stdout_bytes + self.stderr_bytes + self.record_bytes + _MIB:
            raise ValueError("pod_bytes must be at least stdout_bytes + stderr_bytes + record_bytes + 1 MiB")
        if 2 * (self.home_bytes + self.tmp_bytes) > self.memory_bytes:
            raise ValueError(
                "home_bytes + tmp_bytes must be at most half of memory_bytes, since tmpfs counts against it"
            )
        return self


class Schedule(Part):
    """How many pods at once, and when the next is prepared."""

    slots: Annotated[int, Field(ge=1, le=64)] | Literal["auto"] = 1
    embedders: Annotated[int, Field(ge=1, le=64)] = 2
    preparation: Literal["overlap", "exclusive"] = "overlap"
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    interrupt: Literal["finish", "cancel"] = "finish"
    control_first: bool = False
    """Every trial of the control ends, and what it answered is frozen, before any other arm starts."""


class McpServer(Part):
    """An MCP server over stdio, started by the client."""

    name: Name
    command: Annotated[tuple[Text, ...], Field(min_length=1)]
    env: dict[EnvName, str] = Field(default_factory=dict)
    tools: Annotated[tuple[ToolName, ...], Field(min_length=1)]


class UserImage(Part):
    """An image of the study's own, built from a Dockerfile."""

    dockerfile: PathText
    context: PathText | None = None
    """The folder that its steps may copy from; absent: the Dockerfile's own."""


class Arm(Part):
    """One treatment; without any key but its name it is the plain client."""

    name: ArmName
    description: str = ""
    image: Text | None = None
    instructions: PathText | None = None
    env: dict[EnvName, str] = Field(default_factory=dict)
    sidecar: bool = False
    mcp_servers: tuple[McpServer, ...] = ()
    system: System | None = None
    """What a retrieval or reconsolidation study compares; no other study's arms have one."""
    script: PathText | None = None
    """What the scripted model plays in this arm, whatever it plays in others."""


class Task(Part):
    """One thing that the client is asked, in one corpus."""

    id: Name
    corpus: Name | None = None
    """Absent only in a task of cases, whose trials have no workspace."""
    prompt: str | None = None
    prompt_file: PathText | None = None
    queries: PathText | None = None
    """The query set that a retrieval study asks."""
    cases: PathText | None = None
    """The split of a reconsolidation corpus."""
    script: PathText | None = None
    tags: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if [self.prompt, self.prompt_file, self.queries, self.cases].count(None) != 3:
            raise ValueError("exactly one of prompt, prompt_file, queries, cases is needed")
        if (self.corpus is None) != (self.cases is not None):
            raise ValueError("corpus is needed" if self.corpus is None else "a task of cases has no corpus")
        return self


class TaskFile(Part):
    """A file that holds tasks only."""

    format: Literal["pairbench/tasks"]
    version: Literal[1]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)]


class StudyFile(Part):
    """The study file."""

    format: Literal["pairbench/study"]
    version: Literal[1]
    name: Name
    description: str = ""
    seed: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    repetitions: Annotated[int, Field(ge=1, le=1000)]
    control: ArmName
    labels: PathText | None = None
    task_files: tuple[PathText, ...] = ()
    corpora: dict[Name, PathText] = Field(default_factory=dict)
    """Empty in a reconsolidation study only."""
    images: dict[Name, UserImage] = Field(default_factory=dict)
    """Images of the study's own, which arms name."""
    client: Client
    model: ModelChoice = NoModel()
    """Only a retrieval study has nobody who plays it."""
    limits: Limits = Limits()
    schedule: Schedule = Schedule()
    arms: Annotated[tuple[Arm, ...], Field(min_length=2, max_length=12)]
    tasks: tuple[Task, ...] = ()
    contract: PathText | None = None
    """What is agreed on about the review of a reconsolidation study."""
    gates: tuple[Gate, ...] = ()
    caps: Caps = Caps()
    prices: PathText | None = None


class SourceLabel(Part):
    """A byte range of a corpus file that answers a task, or helps to."""

    path: PathText
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]
    grade: Literal[1, 2]
    anchor: Annotated[str, StringConstraints(min_length=8)]


class CheckLabel(Part):
    """Words that an answer is looked through for."""

    id: Name
    any: Annotated[tuple[Text, ...], Field(min_length=1)]


class Label(Part):
    """What is known about the answer of one task."""

    task: Name
    sources: tuple[SourceLabel, ...] = ()
    checks: tuple[CheckLabel, ...] = ()


class LabelsFile(Part):
    """The labels of a study; they never enter a trial."""

    format: Literal["pairbench/labels"]
    version: Literal[1]
    labels: Annotated[tuple[Label, ...], Field(min_length=1)]
