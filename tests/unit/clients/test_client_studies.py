"""What a study may say of each client, and what it is launched with."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from runner.adapters.disk import Disk
from runner.clients.launching import ANY_OCCASION, expectation_of, launch_of, undeclared_differences, version_command
from runner.core.study import Caps, ClaudeCodeClient, CodexClient, CommandClient, StudyFile
from runner.plan.load import load_study

STUDIES = Path(__file__).parents[3] / "corpora" / "clients"


@pytest.mark.parametrize(
    ("kind", "image", "model", "tools"),
    [
        ("codex", "codex", "gpt-5.1-codex", ()),
        ("messages", "messages", "claude-sonnet-4-5", ("read_file", "grep", "glob")),
        ("command", "trial", "claude-sonnet-4-5", ()),
    ],
)
def test_the_sample_study_of_a_client_is_launched_alike_in_both_arms(
    kind: str, image: str, model: str, tools: tuple[str, ...]
) -> None:
    """Its image follows from its kind, and arms differ in nothing that they don't declare."""
    study = load_study(STUDIES / f"{kind}.toml", Disk()).study
    assert [arm.image for arm in study.arms] == [image, image]
    expectation = expectation_of(study, study.arms[0])
    assert (expectation.client, expectation.model, expectation.tools) == (kind, model, tools)
    assert list(undeclared_differences(study, "study.toml")) == []
    launches = [launch_of(study, arm, ANY_OCCASION) for arm in study.arms]
    assert launches[0].spec.env == launches[1].spec.env
    assert (version_command(kind) == ()) == (kind == "command")


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("codex", "tools", ["shell"]),
        ("codex", "max_turns", 3),
        ("codex", "max_output_tokens", 100),
        ("codex", "effort", "enormous"),
        ("messages", "tools", ["Read"]),
        ("messages", "max_output_tokens", 0),
        ("messages", "effort", "high"),
        ("messages", "model", ""),
        ("command", "instructions", "x.md"),
        ("command", "tools", ["Read"]),
    ],
)
def test_what_a_client_can_t_be_told_can_t_be_declared(kind: str, key: str, value: Any) -> None:
    """A key that would change nothing is refused."""
    declared = tomllib.loads((STUDIES / f"{kind}.toml").read_text("utf-8"))
    declared["client"][key] = value
    with pytest.raises(ValidationError, match=rf"client\.{kind}\.{key}"):
        StudyFile.model_validate(declared)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("claude-code", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"), ("command", "PAIRBENCH_MAX_OUTPUT_TOKENS"), ("codex", "")],
)
def test_the_output_that_caps_count_on_is_told_to_whom_it_can_be(kind: str, name: str) -> None:
    """Codex runs under a cap without being told."""
    study = load_study(STUDIES / "command.toml", Disk()).study
    clients: dict[str, Any] = {
        "claude-code": ClaudeCodeClient(kind="claude-code", model="claude-sonnet-4-5"),
        "codex": CodexClient(kind="codex", model="gpt-6.1-sol"),
        "command": CommandClient(kind="command", model="m", command=("a",)),
    }
    capped = study.model_copy(update={"client": clients[kind], "caps": Caps(trial_microusd=10**6, output_tokens=1234)})
    env = launch_of(capped, capped.arms[0], ANY_OCCASION).spec.env
    assert clients[kind].output_limit == name
    assert [key for key, value in env.items() if value == "1234"] == ([name] if name else [])


def test_the_agent_loop_is_told_the_lower_limit_in_its_configuration() -> None:
    """Its own default is higher."""
    study = load_study(STUDIES / "messages.toml", Disk()).study
    capped = study.model_copy(update={"caps": Caps(trial_microusd=10**6, output_tokens=1234)})
    (config,) = (file for file in launch_of(capped, capped.arms[0], ANY_OCCASION).files if file.name == "messages.json")
    assert b'"max_output_tokens": 1234' in config.data
