"""What starts in a trial container: the launch document, the files beside it, and what a client is asked to launch.

It knows no client: how a request becomes an argument vector is written in `runner.clients`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from runner.core.canonical import digest_of
from runner.core.documents import Document, Part
from runner.core.errors import StudyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.core.resolved import ResolvedCase, ResolvedQuery
    from runner.core.systems import ReconsolidationProgram, Reconsolidator, System

HOME: Final = "/home/agent"
WORKSPACE: Final = "/workspace"
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
IN_FOLDER: Final = "/in"
GATEWAY_SOCKET: Final = "/pod/run/gateway.sock"
GATEWAY_PORT: Final = 8787
CLIENT_ID: Final = 10002
"""User and group of the client and of whatever it starts."""

MCP_PREFIX: Final = "mcp__"
"""Begins the name of every tool of an MCP server."""

LAUNCH_NAME: Final = "launch.json"
PROMPT_NAME: Final = "prompt.txt"

# Linux takes at most 128 KiB as one argument or one environment entry (MAX_ARG_STRLEN, binfmts.h), its end included.
MAX_ARGUMENT_BYTES: Final = 131071

_IN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED_NAMES: Final = frozenset(
    {
        "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "CLAUDE_CODE_MAX_RETRIES",
        "CLAUDE_CONFIG_DIR",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
        "HOME",
        "LANG",
        "MCP_TIMEOUT",
        "PATH",
        "TZ",
    }
)
_RESERVED_PREFIXES: Final = ("ANTHROPIC_", "CODEX_", "OPENAI_", "PAIRBENCH_", "LD_")


class Forward(Part):
    """A port of the trial's loopback that leads to the gateway's socket."""

    listen_port: int
    socket: str


class Ready(Part):
    """What must answer before the client starts."""

    timeout_ms: int
    http: tuple[str, ...]


class LaunchSpec(Document):
    """`/in/launch.json`: what the supervisor starts, as whom, for how long."""

    FORMAT: ClassVar[str] = "pairbench/launch"

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    uid: int
    gid: int
    deadline_ms: int
    grace_ms: int
    stdout_limit_bytes: int
    stderr_limit_bytes: int
    forward: Forward | None
    ready: Ready
    stdin: str | None = None
    """A file of `/in` that the client reads on its standard input; None: nothing is there to read."""


@dataclass(frozen=True)
class InFile:
    """A file that the trial finds in `/in`."""

    name: str
    data: bytes

    def __post_init__(self) -> None:
        """Refuse a name that could leave `/in`."""
        if not _IN_NAME.fullmatch(self.name):
            raise StudyError(f"{self.name!r} can't be the name of a file in {IN_FOLDER}")


@dataclass(frozen=True)
class PodLaunch:
    """A launch document and the files beside it."""

    spec: LaunchSpec
    files: tuple[InFile, ...]

    def __post_init__(self) -> None:
        """Refuse two files of one name."""
        names = [LAUNCH_NAME, *(file.name for file in self.files)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise StudyError(f"{', '.join(twice)} would stand twice in {IN_FOLDER}")

    def in_files(self) -> tuple[InFile, ...]:
        """Every file of `/in`, the launch document first."""
        return (InFile(LAUNCH_NAME, self.spec.to_bytes()), *self.files)


@dataclass(frozen=True)
class McpServer:
    """An MCP server over stdio that the client starts."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    tools: tuple[str, ...]

    def tool_names(self) -> tuple[str, ...]:
        """The server's declared tools as a model sees them."""
        return tuple(mcp_tool_name(self.name, tool) for tool in self.tools)


@dataclass(frozen=True)
class LaunchLimits:
    """How long and how much a client may."""

    deadline_ms: int
    grace_ms: int
    ready_ms: int
    stdout_limit_bytes: int
    stderr_limit_bytes: int


@dataclass(frozen=True)
class RetrievalAsk:
    """What a retrieval client asks of which system."""

    system: System
    depth: int
    threads: int
    warmup: int
    queries: tuple[ResolvedQuery, ...]


@dataclass(frozen=True)
class ReconsolidationAsk:
    """What a memory is given, and is asked afterwards."""

    system: Reconsolidator | ReconsolidationProgram
    clock: str
    most_recalled: int
    """Facts that one answer may rest on."""
    threads: int
    cases: tuple[ResolvedCase, ...]


@dataclass(frozen=True)
class LaunchRequest:
    """All that a client needs to know to be launched for one attempt."""

    prompt: str
    limits: LaunchLimits
    gateway_token: str = field(repr=False)
    memory_token: str = field(repr=False)
    session_id: str
    """A UUID; `session_id_of` derives it."""
    model: str = ""
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    instructions: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    """Further arguments for the client, as they are."""
    max_turns: int | None = None
    """None: the client's own default, which is no limit."""
    max_output_tokens: int | None = None
    """None: the client's own default for the model."""
    gateway_port: int = GATEWAY_PORT
    sidecar_ready_url: str = ""
    """What must answer before the client starts; "" in an arm that can't reach the sidecar."""
    command: tuple[str, ...] = ()
    """The argument vector of a client of kind `command`."""
    effort: str = ""
    """How much the model is to reason; "": the client's own default for the model."""
    retrieval: RetrievalAsk | None = None
    """Only for a client of kind `retrieval`, which needs it."""
    reconsolidation: ReconsolidationAsk | None = None
    """Only for a client of kind `reconsolidation`, which needs it."""

    def gateway_url(self) -> str:
        """Where the client reaches the gateway."""
        return f"http://127.0.0.1:{self.gateway_port}"


def mcp_tool_name(server: str, tool: str) -> str:
    """The name under which a model sees the tool of an MCP server."""
    return f"{MCP_PREFIX}{server}__{tool}"


def session_id_of(trial: str) -> str:
    """A UUID that depends on `trial` alone.

    Its version says 4, as RFC 9562 lays such out, because clients check the form; its bits come from a digest.
    """
    digits = list(digest_of(["session", trial]).removeprefix("sha256:")[:32])
    digits[12] = "4"
    digits[16] = "89ab"[int(digits[16], 16) % 4]
    text = "".join(digits)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_reserved_variable(name: str) -> bool:
    """Whether the runner sets the environment variable `name` itself, so that a study may not."""
    return name in _RESERVED_NAMES or name.startswith(_RESERVED_PREFIXES)


def client_environment(own: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """The client's complete environment: what every client gets, what this one needs, what the study declares.

    Raises:
        StudyError: the study declares a variable that the runner sets.
    """
    taken = sorted(name for name in declared if is_reserved_variable(name) or name in own)
    if taken:
        raise StudyError(
            f"the runner sets {', '.join(taken)} itself", key="env", hint="leave it out, or choose another name"
        )
    return {"HOME": HOME, "LANG": "C.UTF-8", "PATH": PATH, "TZ": "UTC", **own, **declared}


def make_launch(
    request: LaunchRequest,
    *,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    files: tuple[InFile, ...] = (),
    prompt_on_stdin: bool = False,
) -> PodLaunch:
    """The launch of `argv` under the request's limits, with the prompt in `/in/prompt.txt`.

    Raises:
        StudyError: an argument or a variable can't be given to a process, or a file's name stands twice.
    """
    for text in (*argv, *(f"{name}={value}" for name, value in env.items())):
        if "\0" in text:
            raise StudyError("an argument or variable holds a NUL character", key="argv")
        if len(text.encode("utf-8", "surrogatepass")) > MAX_ARGUMENT_BYTES:
            raise StudyError(
                f"an argument or variable is longer than {MAX_ARGUMENT_BYTES} bytes: {text[:40]!r}…", key="argv"
            )
    limits = request.limits
    spec = LaunchSpec(
        argv=argv,
        env=dict(env),
        cwd=WORKSPACE,
        uid=CLIENT_ID,
        gid=CLIENT_ID,
        deadline_ms=limits.deadline_ms,
        grace_ms=limits.grace_ms,
        stdout_limit_bytes=limits.stdout_limit_bytes,
        stderr_limit_bytes=limits.stderr_limit_bytes,
        forward=Forward(listen_port=request.gateway_port, socket=GATEWAY_SOCKET),
        ready=Ready(timeout_ms=limits.ready_ms, http=(request.sidecar_ready_url,) if request.sidecar_ready_url else ()),
        stdin=f"{IN_FOLDER}/{PROMPT_NAME}" if prompt_on_stdin else None,
    )
    return PodLaunch(spec, (InFile(PROMPT_NAME, request.prompt.encode("utf-8")), *files))
