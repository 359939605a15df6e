"""What an arm launches: the declared treatment, and nothing else that a client could tell the arms apart by."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner.clients.launching import (
    ANY_OCCASION,
    Occasion,
    arm_difference,
    expectation_of,
    launch_of,
    undeclared_differences,
    version_command,
)
from runner.plan.load import load_study
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY

if TYPE_CHECKING:
    from runner.core.resolved import ResolvedStudy
    from tests.fakes.surroundings import Surroundings

HERE = Occasion("first.r1.off", "What is planned?", "token-of-the-client", "token-of-the-memory")


def study(outside: Surroundings, text: str = CLAUDE_STUDY) -> ResolvedStudy:
    return load_study(outside.study(text), outside.files).study


def test_the_control_has_no_difference_and_the_treatment_has_its_own(outside: Surroundings) -> None:
    """A bare arm with the sidecar: what the supervisor waits for, and the network."""
    found = study(outside, COMMAND_STUDY)
    assert arm_difference(found, found.arm("off")) == ()
    assert arm_difference(found, found.arm("joined")) == (
        "- launch.json: ready.http = []",
        '+ launch.json: ready.http[0] = "http://127.0.0.1:6333/readyz"',
        "+ pod: within reach of the sidecar",
    )


def test_environment_and_image_are_differences(outside: Surroundings) -> None:
    """Each by its name and value."""
    image = f"me/agent@sha256:{'a' * 64}"
    found = study(outside, COMMAND_STUDY.replace("sidecar = true", f'env = {{ MODE = "x" }}, image = "{image}"'))
    assert arm_difference(found, found.arm("joined")) == (
        '+ launch.json: env.MODE = "x"',
        "- pod: image trial",
        f"+ pod: image {image}",
    )


def test_arms_do_not_differ_in_more_than_they_declare(outside: Surroundings) -> None:
    """Without their treatments they are launched alike."""
    assert list(undeclared_differences(study(outside), "study.toml")) == []
    assert list(undeclared_differences(study(outside, COMMAND_STUDY), "study.toml")) == []


def test_labels_ids_and_arms_do_not_enter_a_trial(outside: Surroundings) -> None:
    """Neither the arm's name, nor the task's, nor the study's, nor anything of the labels."""
    found = study(outside, CLAUDE_STUDY.replace('name = "off"', 'name = "plainest"').replace('"off"', '"plainest"'))
    for arm in found.arms:
        launch = launch_of(found, arm, HERE)
        data = b"\n".join(file.data for file in launch.in_files())
        assert [word for word in (b"plainest", b"demo", b"first", b"Lisbon", b"names-the-city") if word in data] == []


def test_the_memory_has_a_token_of_its_own(outside: Surroundings) -> None:
    """Its calls are counted apart; a client without a memory never sees that token."""
    found = study(outside)
    treated = {file.name: file.data for file in launch_of(found, found.arm("memory"), HERE).files}
    server = json.loads(treated["mcp.json"])["mcpServers"]["memory"]
    assert server["env"]["ANTHROPIC_API_KEY"] == "token-of-the-memory"
    control = b"".join(file.data for file in launch_of(found, found.arm("off"), HERE).in_files())
    assert b"token-of-the-memory" not in control
    assert b"token-of-the-client" in control


def test_instructions_are_joined_the_clients_first(outside: Surroundings) -> None:
    """With a blank line between them."""
    found = study(outside).model_copy(update={"client_instructions": "Be brief.\n"})
    arm = found.arm("memory").model_copy(update={"instructions": "Search first.\n"})
    files = {file.name: file.data for file in launch_of(found, arm, ANY_OCCASION).files}
    assert files["instructions.md"] == b"Be brief.\n\n\nSearch first.\n"


def test_limits_become_milliseconds(outside: Surroundings) -> None:
    """Of the study, in every arm."""
    spec = launch_of(study(outside), study(outside).arm("off"), HERE).spec
    assert (spec.deadline_ms, spec.grace_ms, spec.ready.timeout_ms) == (120_000, 5_000, 15_000)
    assert (spec.stdout_limit_bytes, spec.stderr_limit_bytes, spec.uid) == (16 << 20, 1 << 20, 10002)


def test_what_a_trial_should_have_worked_with(outside: Surroundings) -> None:
    """Its tools, its servers, and whether it reached the sidecar."""
    found = study(outside)
    control, treated = expectation_of(found, found.arm("off")), expectation_of(found, found.arm("memory"))
    assert (control.client, control.model, control.tools) == (
        "claude-code",
        "claude-sonnet-4-5",
        ("Read", "Grep", "Glob"),
    )
    assert (control.mcp_servers, control.sidecar) == ((), False)
    assert [server.tool_names() for server in treated.mcp_servers] == [("mcp__memory__memory_search",)]
    assert treated.sidecar


def test_the_version_of_a_client_is_asked_in_its_image() -> None:
    """A bare program has none."""
    assert version_command("claude-code") == ("/opt/claude/claude", "--version")
    assert version_command("command") == ()
