"""What a study may say of each client, and what it is launched with."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from runner.adapters.disk import Disk
from runner.clients.launching import ANY_OCCASION, expectation_of, launch_of, undeclared_differences, version_command
from runner.core.study import StudyFile
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
