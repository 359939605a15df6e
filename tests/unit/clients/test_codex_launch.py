"""How Codex is started, and that two arms differ in nothing but what they declare."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from runner.clients.codex import Codex
from runner.core.errors import StudyError
from runner.core.launch import LaunchLimits, LaunchRequest, McpServer
from runner.core.launch_difference import launch_difference

CONTROL = LaunchRequest(
    prompt="--model evil\nWhy?",
    limits=LaunchLimits(60_000, 3_000, 15_000, 1 << 24, 1 << 20),
    gateway_token="client-token",
    memory_token="memory-token",
    session_id="0b1c2d3e-4f50-4a6b-9c7d-8e9f00112233",
    model="gpt-5.1",
)
MEMORY = McpServer("memory", ("python3", "/opt/m/main.py"), {"M_LEVEL": 'a "b" \\ \x7f\n'}, ("memory_search",))
TREATMENT = replace(CONTROL, mcp_servers=(MEMORY,), sidecar_ready_url="http://127.0.0.1:6333/readyz")


def settings(request: LaunchRequest) -> dict[str, Any]:
    """The settings of the command line, as TOML reads them."""
    argv = Codex().launch(request).spec.argv
    return tomllib.loads("\n".join(argv[index + 1] for index, word in enumerate(argv) if word == "-c"))


def test_codex_is_started_with_the_pinned_flags() -> None:
    """No settings of a user, no session on disk, nothing that leaves the pod; the prompt is last and never a flag."""
    argv = Codex().launch(CONTROL).spec.argv
    assert argv[:10] == (
        "/opt/codex/bin/codex",
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--ephemeral",
        "--ignore-user-config",
        "--sandbox",
        "danger-full-access",
        "-m",
        "gpt-5.1",
    )
    disabled = [argv[index + 1] for index, word in enumerate(argv) if word == "--disable"]
    assert disabled == ["plugins", "apps", "unbounded_connection_retries", "multi_agent", "goals"]
    assert argv[-2:] == ("--", "--model evil\nWhy?")


def test_codex_is_told_of_the_gateway_and_of_nothing_else() -> None:
    """A provider of its own, with few retries; no search, no instructions of the workspace."""
    assert settings(CONTROL) == {
        "model_provider": "pairbench",
        "model_providers": {
            "pairbench": {
                "name": "Pairbench",
                "base_url": "http://127.0.0.1:8787/v1",
                "env_key": "OPENAI_API_KEY",
                "wire_api": "responses",
                "request_max_retries": 2,
                "stream_max_retries": 2,
            }
        },
        "approval_policy": "never",
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
        "web_search": "disabled",
        "project_doc_max_bytes": 0,
    }
    assert Codex().launch(CONTROL).spec.env == {
        "HOME": "/home/agent",
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "client-token",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TZ": "UTC",
    }


def test_a_server_is_required_and_has_a_token_of_its_own() -> None:
    """Any text reaches it unchanged; its start ends before the deadline."""
    assert settings(TREATMENT)["mcp_servers"] == {
        "memory": {
            "command": "python3",
            "args": ["/opt/m/main.py"],
            "env": {
                "ANTHROPIC_API_KEY": "memory-token",
                "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
                "HOME": "/home/agent",
                "M_LEVEL": 'a "b" \\ \x7f\n',
                "OPENAI_API_KEY": "memory-token",
                "OPENAI_BASE_URL": "http://127.0.0.1:8787/v1",
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            },
            "required": True,
            "startup_timeout_sec": 45,
            "enabled_tools": ["memory_search"],
            "default_tools_approval_mode": "approve",
        }
    }


def test_instructions_and_effort_are_settings() -> None:
    """They are added, never put in the place of Codex's own."""
    found = settings(replace(CONTROL, instructions='Cite "places".\nBriefly.', effort="high"))
    assert (found["developer_instructions"], found["model_reasoning_effort"]) == ('Cite "places".\nBriefly.', "high")


def test_two_arms_of_codex_differ_in_their_servers_only() -> None:
    """In settings of their servers, and in what is awaited before the start."""
    difference = launch_difference(Codex().launch(CONTROL), Codex().launch(TREATMENT))
    assert [line.partition("{")[0] for line in difference] == [
        '+ argv: "-c" "features.code_mode.direct_only_tool_namespaces=[\\"mcp__memory\\"]" "-c" "mcp_servers.memory=',
        "- launch.json: ready.http = []",
        '+ launch.json: ready.http[0] = "http://127.0.0.1:6333/readyz"',
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": ""}, "codex needs a model"),
        ({"prompt": " "}, "codex needs a prompt"),
        ({"tools": ("Read",)}, "codex takes no tools"),
        ({"max_turns": 3}, "codex takes no max_turns"),
        ({"max_output_tokens": 9}, "codex takes no max_output_tokens"),
        ({"env": {"CODEX_HOME": "/x"}}, "the runner sets CODEX_HOME itself"),
    ],
)
def test_codex_refuses_what_it_can_t_be_told(changes: dict[str, Any], message: str) -> None:
    """Nothing is dropped without a word."""
    with pytest.raises(StudyError, match=message):
        Codex().launch(replace(CONTROL, **changes))
