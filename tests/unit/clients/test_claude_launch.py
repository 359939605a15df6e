"""How Claude Code is started, and that two arms differ in nothing but what they declare."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runner.clients.claude_code import ClaudeCode
from runner.core.errors import StudyError
from runner.core.launch import LaunchLimits, LaunchRequest, McpServer, PodLaunch
from runner.core.launch_difference import launch_difference

LIMITS = LaunchLimits(
    deadline_ms=60_000, grace_ms=3_000, ready_ms=15_000, stdout_limit_bytes=1 << 24, stderr_limit_bytes=1 << 20
)
CONTROL = LaunchRequest(
    prompt="Why is it frozen?",
    limits=LIMITS,
    gateway_token="client-token",
    memory_token="memory-token",
    session_id="0b1c2d3e-4f50-4a6b-9c7d-8e9f00112233",
    model="claude-sonnet-4-5",
    tools=("Read", "Grep", "Glob"),
)
MEMORY = McpServer("memory", ("python3", "/opt/m/main.py"), {"M_LEVEL": "1"}, ("memory_search", "memory_get"))
TREATMENT = replace(CONTROL, mcp_servers=(MEMORY,), sidecar_ready_url="http://127.0.0.1:6333/readyz")


def launch(request: LaunchRequest) -> PodLaunch:
    """The launch of a request."""
    return ClaudeCode().launch(request)


def files(request: LaunchRequest) -> dict[str, bytes]:
    """The files of `/in` by name."""
    return {file.name: file.data for file in launch(request).in_files()}


def test_the_control_is_started_with_the_pinned_flags() -> None:
    """No settings, no session on disk, strict servers, the declared tools and nothing else; the prompt is last."""
    assert launch(CONTROL).spec.argv == (
        "/opt/claude/claude",
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--model",
        "claude-sonnet-4-5",
        "--no-session-persistence",
        "--setting-sources=",
        "--strict-mcp-config",
        "--mcp-config",
        "/in/mcp.json",
        "--session-id",
        "0b1c2d3e-4f50-4a6b-9c7d-8e9f00112233",
        "--tools=Read,Grep,Glob",
        "--",
        "Why is it frozen?",
    )


def test_the_environment_is_complete_and_closed() -> None:
    """Everything that isn't here the client doesn't see; the only secret is the gateway's token."""
    assert launch(CONTROL).spec.env == {
        "ANTHROPIC_API_KEY": "client-token",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
        "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CONFIG_DIR": "/home/agent/.claude",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "HOME": "/home/agent",
        "LANG": "C.UTF-8",
        "MCP_TIMEOUT": "45000",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TZ": "UTC",
    }


def test_the_launch_document_is_the_pod_s() -> None:
    """Working directory, user, limits, forward and what is awaited stand as the pod's contract says."""
    document = json.loads(files(TREATMENT)["launch.json"])
    document.pop("argv")
    document.pop("env")
    assert document == {
        "format": "pairbench/launch",
        "version": 1,
        "cwd": "/workspace",
        "uid": 10002,
        "gid": 10002,
        "deadline_ms": 60000,
        "grace_ms": 3000,
        "stdout_limit_bytes": 16777216,
        "stderr_limit_bytes": 1048576,
        "forward": {"listen_port": 8787, "socket": "/pod/run/gateway.sock"},
        "ready": {"timeout_ms": 15000, "http": ["http://127.0.0.1:6333/readyz"]},
        "stdin": None,
    }
    assert json.loads(files(CONTROL)["launch.json"])["ready"]["http"] == []


def test_the_control_gets_a_strict_list_of_no_servers() -> None:
    """Both arms have the file, so that neither finds servers elsewhere."""
    assert sorted(files(CONTROL)) == ["launch.json", "mcp.json", "prompt.txt"]
    assert json.loads(files(CONTROL)["mcp.json"]) == {"mcpServers": {}}
    assert files(CONTROL)["prompt.txt"] == b"Why is it frozen?"


def test_a_server_runs_under_the_memory_s_token() -> None:
    """It would inherit the client's token, and its own model calls would count as the client's."""
    assert json.loads(files(TREATMENT)["mcp.json"]) == {
        "mcpServers": {
            "memory": {
                "type": "stdio",
                "command": "python3",
                "args": ["/opt/m/main.py"],
                "env": {
                    "ANTHROPIC_API_KEY": "memory-token",
                    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
                    "HOME": "/home/agent",
                    "M_LEVEL": "1",
                    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                },
            }
        }
    }


def test_declared_tools_of_servers_are_allowed() -> None:
    """Without it each call would be refused, with exit code 0."""
    assert "--allowedTools=mcp__memory__memory_search,mcp__memory__memory_get" in launch(TREATMENT).spec.argv


def test_a_declared_tool_that_needs_permission_is_allowed() -> None:
    """Reading tools need none below the working directory, and get none beyond it."""
    argv = launch(replace(CONTROL, tools=("Read", "Bash"))).spec.argv
    assert "--tools=Read,Bash" in argv
    assert "--allowedTools=Bash" in argv


def test_options_appear_only_when_they_are_declared() -> None:
    """Turns, output tokens, instructions, further variables and arguments."""
    request = replace(
        CONTROL,
        max_turns=24,
        max_output_tokens=4096,
        instructions="Cite files.\n",
        env={"M_HINT": "x"},
        args=("--effort", "low"),
    )
    argv, env = launch(request).spec.argv, launch(request).spec.env
    assert argv[argv.index("--max-turns") + 1] == "24"
    assert argv[argv.index("--append-system-prompt-file") + 1] == "/in/instructions.md"
    assert argv[-4:] == ("--effort", "low", "--", "Why is it frozen?")
    assert files(request)["instructions.md"] == b"Cite files.\n"
    assert (env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"], env["M_HINT"]) == ("4096", "x")


def test_a_prompt_that_looks_like_a_flag_stays_a_prompt() -> None:
    """It stands behind the end of the flags."""
    assert launch(replace(CONTROL, prompt="--model x")).spec.argv[-2:] == ("--", "--model x")


@pytest.mark.parametrize(("deadline_ms", "timeout"), [(1000, "750"), (60_000, "45000"), (86_400_000, "120000")])
def test_servers_may_start_for_long_but_not_past_the_deadline(deadline_ms: int, timeout: str) -> None:
    """A server that never connects ends the trial as infrastructure and not as a timeout."""
    limits = replace(LIMITS, deadline_ms=deadline_ms)
    assert launch(replace(CONTROL, limits=limits)).spec.env["MCP_TIMEOUT"] == timeout


def test_the_arms_differ_in_what_the_treatment_declares() -> None:
    """The lock prints these lines, and there are no others."""
    assert launch_difference(launch(CONTROL), launch(TREATMENT)) == (
        '+ argv: "--allowedTools=mcp__memory__memory_search,mcp__memory__memory_get"',
        "- launch.json: ready.http = []",
        '+ launch.json: ready.http[0] = "http://127.0.0.1:6333/readyz"',
        "- mcp.json: mcpServers = {}",
        '+ mcp.json: mcpServers.memory.args[0] = "/opt/m/main.py"',
        '+ mcp.json: mcpServers.memory.command = "python3"',
        '+ mcp.json: mcpServers.memory.env.ANTHROPIC_API_KEY = "memory-token"',
        '+ mcp.json: mcpServers.memory.env.ANTHROPIC_BASE_URL = "http://127.0.0.1:8787"',
        '+ mcp.json: mcpServers.memory.env.HOME = "/home/agent"',
        '+ mcp.json: mcpServers.memory.env.M_LEVEL = "1"',
        '+ mcp.json: mcpServers.memory.env.PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"',
        '+ mcp.json: mcpServers.memory.type = "stdio"',
    )


def test_an_arm_that_declares_nothing_is_launched_like_the_control() -> None:
    """Not one byte differs."""
    assert launch(replace(CONTROL)).in_files() == launch(CONTROL).in_files()
    assert launch_difference(launch(CONTROL), launch(replace(CONTROL))) == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": ""}, "needs a model"),
        ({"prompt": " \n"}, "needs a prompt"),
        ({"prompt": "a\0b"}, "NUL"),
        ({"prompt": "x" * 131072}, "longer than 131071 bytes"),
        ({"env": {"HOME": "/root"}}, "the runner sets HOME itself"),
        ({"env": {"ANTHROPIC_AUTH_TOKEN": "x"}}, "the runner sets ANTHROPIC_AUTH_TOKEN itself"),
    ],
)
def test_what_can_t_be_launched_is_refused(changes: dict[str, object], message: str) -> None:
    """The error says what is wrong before anything starts."""
    with pytest.raises(StudyError, match=message):
        launch(replace(CONTROL, **changes))  # type: ignore[arg-type]


def test_tokens_stay_out_of_a_request_s_representation() -> None:
    """A request may be logged."""
    assert "token" not in repr(CONTROL).replace("max_output_tokens", "")
