"""How the agent loop is started, and that the loop reads what it is started with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from messages.config import Config, ConfigError, Server, read_config

from runner.clients.messages import Messages
from runner.core.errors import StudyError
from runner.core.launch import LaunchLimits, LaunchRequest, McpServer
from runner.core.launch_difference import launch_difference

if TYPE_CHECKING:
    from pathlib import Path

CONTROL = LaunchRequest(
    prompt="Why?",
    limits=LaunchLimits(60_000, 3_000, 15_000, 1 << 24, 1 << 20),
    gateway_token="client-token",
    memory_token="memory-token",
    session_id="0b1c2d3e-4f50-4a6b-9c7d-8e9f00112233",
    model="claude-sonnet-4-5",
    tools=("read_file", "grep"),
    max_turns=12,
    max_output_tokens=2048,
)
MEMORY = McpServer("memory", ("python3", "/opt/m/main.py"), {"M_LEVEL": "1"}, ("memory_search", "memory_get"))
TREATMENT = replace(CONTROL, mcp_servers=(MEMORY,), sidecar_ready_url="http://127.0.0.1:6333/readyz")


def laid_out(request: LaunchRequest, folder: Path) -> Path:
    """The configuration's path, with all files of `/in` in `folder`."""
    for file in Messages().launch(request).in_files():
        (folder / file.name).write_bytes(file.data)
    return folder / "messages.json"


def test_the_loop_is_started_with_its_configuration() -> None:
    """What it is asked stands in files; the environment says where the gateway is."""
    launch = Messages().launch(CONTROL)
    assert launch.spec.argv == ("python3", "/opt/pairbench/messages/main.py", "/in/messages.json")
    assert launch.spec.env == {
        "ANTHROPIC_API_KEY": "client-token",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
        "HOME": "/home/agent",
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TZ": "UTC",
    }
    assert sorted(file.name for file in launch.files) == ["mcp.json", "messages.json", "prompt.txt"]


def test_the_loop_reads_what_it_is_started_with(tmp_path: Path) -> None:
    """Both sides hold one format."""
    assert read_config([str(laid_out(replace(TREATMENT, instructions="Cite."), tmp_path))]) == Config(
        model="claude-sonnet-4-5",
        tools=("read_file", "grep"),
        mcp_tools=("mcp__memory__memory_search", "mcp__memory__memory_get"),
        max_turns=12,
        max_output_tokens=2048,
        max_retries=2,
        server_start_s=45.0,
        workspace="/workspace",
        prompt="Why?",
        instructions="Cite.",
        servers=(
            Server(
                "memory",
                "python3",
                ("/opt/m/main.py",),
                {
                    "ANTHROPIC_API_KEY": "memory-token",
                    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
                    "HOME": "/home/agent",
                    "M_LEVEL": "1",
                    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                },
            ),
        ),
    )


def test_the_control_of_the_loop_has_no_servers_and_no_limits(tmp_path: Path) -> None:
    """Absent limits are none, but for output tokens, which the provider wants to be told."""
    config = read_config([str(laid_out(replace(CONTROL, max_turns=None, max_output_tokens=None), tmp_path))])
    assert (config.servers, config.mcp_tools, config.max_turns, config.max_output_tokens) == ((), (), None, 8192)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "not pairbench/messages 1"),
        ({"tools": ["Read"]}, "no tool is called 'Read'; there are glob, grep, read_file"),
        ({"max_turns": "3"}, "'3' is not of the type int"),
        ({"max_output_tokens": True}, "True is not of the type int"),
        ({"model": None}, "None is not of the type str"),
        ({"instructions": True}, "instructions.md: "),
    ],
)
def test_a_wrong_configuration_of_the_loop_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """Before anything is asked of a model."""
    path = laid_out(CONTROL, tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes))
    with pytest.raises(ConfigError, match=message):
        read_config([str(path)])


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["/nonexistent/messages.json"]])
def test_a_configuration_that_isn_t_there_is_refused(arguments: list[str]) -> None:
    """Usage and missing files are told apart from crashes."""
    with pytest.raises(ConfigError):
        read_config(arguments)


def test_two_arms_of_the_loop_differ_in_their_servers_only() -> None:
    """The list of servers, the names of their tools, and what is awaited."""
    difference = launch_difference(Messages().launch(CONTROL), Messages().launch(TREATMENT))
    assert sorted({line.partition(":")[0] for line in difference}) == [
        "+ launch.json",
        "+ mcp.json",
        "+ messages.json",
        "- launch.json",
        "- mcp.json",
        "- messages.json",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": ""}, "messages needs a model"),
        ({"prompt": " "}, "messages needs a prompt"),
        ({"tools": ("Read",)}, "messages has no tool Read"),
    ],
)
def test_the_loop_refuses_what_it_can_t_do(changes: dict[str, Any], message: str) -> None:
    """Nothing is dropped without a word."""
    with pytest.raises(StudyError, match=message):
        Messages().launch(replace(CONTROL, **changes))
