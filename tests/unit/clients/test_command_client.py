"""Any program as the client."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.clients.client import Ending
from runner.clients.command import Command
from runner.clients.registry import CLIENT_KINDS, client_of
from runner.core.errors import StudyError
from runner.core.launch import LaunchLimits, LaunchRequest, McpServer
from runner.core.quantities import Unavailable

REQUEST = LaunchRequest(
    prompt="Why?",
    limits=LaunchLimits(60_000, 3_000, 15_000, 1 << 24, 1 << 20),
    gateway_token="client-token",
    memory_token="memory-token",
    session_id="0b1c2d3e-4f50-4a6b-9c7d-8e9f00112233",
    command=("python3", "-c", "print(42)"),
)


def test_a_command_is_started_as_it_is_written() -> None:
    """Nothing is substituted; the prompt is on its standard input, and in a file whose place is a variable."""
    launch = Command().launch(replace(REQUEST, args=("--fast",), env={"LEVEL": "3"}))
    assert launch.spec.argv == ("python3", "-c", "print(42)", "--fast")
    assert launch.spec.env == {
        "ANTHROPIC_API_KEY": "client-token",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
        "HOME": "/home/agent",
        "LANG": "C.UTF-8",
        "LEVEL": "3",
        "OPENAI_API_KEY": "client-token",
        "OPENAI_BASE_URL": "http://127.0.0.1:8787/v1",
        "PAIRBENCH_PROMPT_FILE": "/in/prompt.txt",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TZ": "UTC",
    }
    assert launch.spec.stdin == "/in/prompt.txt"
    assert {file.name: file.data for file in launch.files} == {"prompt.txt": b"Why?"}


def test_a_model_and_its_limit_are_passed_on_when_declared() -> None:
    """A program that calls a model learns which, and how much it may say."""
    env = Command().launch(replace(REQUEST, model="m", max_output_tokens=100)).spec.env
    assert (env["PAIRBENCH_MODEL"], env["PAIRBENCH_MAX_OUTPUT_TOKENS"]) == ("m", "100")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"command": ()}, "needs its command"),
        ({"mcp_servers": (McpServer("m", ("x",), {}, ("t",)),)}, "takes no mcp_servers"),
        ({"instructions": "x", "max_turns": 3}, "takes no instructions, no max_turns"),
        ({"env": {"PAIRBENCH_PROMPT_FILE": "x"}}, "the runner sets PAIRBENCH_PROMPT_FILE itself"),
    ],
)
def test_what_a_command_can_t_be_given_is_refused(changes: dict[str, object], message: str) -> None:
    """A treatment that would silently not be applied is an error."""
    with pytest.raises(StudyError, match=message):
        Command().launch(replace(REQUEST, **changes))  # type: ignore[arg-type]


def test_what_it_prints_is_the_answer() -> None:
    """Trailing white space goes, bytes that aren't text are replaced, the exit code decides about the rest."""
    report = Command().parse(b" 42 \xff\n\n", b"first\nlast\n")
    assert report.answer == " 42 \ufffd"
    assert (report.ending, report.reason) == (Ending.BY_EXIT_CODE, "last")
    assert report.reported == ()
    assert report.cost_microusd == report.turns == Unavailable("a command reports none")


def test_clients_are_found_by_their_kind() -> None:
    """An unknown kind is told what there is."""
    assert CLIENT_KINDS == ("claude-code", "codex", "command", "messages", "reconsolidation", "retrieval")
    assert [client_of(kind).kind for kind in CLIENT_KINDS] == list(CLIENT_KINDS)
    with pytest.raises(StudyError, match="there are claude-code, codex, command, messages, reconsolidation, retrieval"):
        client_of("codex-9")
