"""Scripts of the model: read with the study, a task's own before the study's, and refused where nothing plays them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.errors import StudyError
from runner.core.gateway import PolicyChoice, policy_for
from runner.core.resolved import ResolvedStudy
from runner.plan.load import LoadedStudy, load_study
from tests.fakes.surroundings import COMMAND_STUDY, Surroundings

SCRIPT = b"""
format: pairbench/model-script
version: 1
rules:
  - respond: {text: From the study.}
"""
OWN = SCRIPT.replace(b"From the study.", b"From the task.")
SCRIPTED = COMMAND_STUDY.replace('policy = "plain-agent"', 'policy = "script", script = "model.yaml"')
OVERRIDDEN = SCRIPTED.replace('prompt = "And then?"', 'prompt = "And then?", script = "scripts/own.yaml"')


def loaded(outside: Surroundings, text: str) -> LoadedStudy:
    outside.files.write(Path("/studies/demo/model.yaml"), SCRIPT)
    outside.files.write(Path("/studies/demo/scripts/own.yaml"), OWN)
    return load_study(outside.study(text), outside.files)


def texts(study: ResolvedStudy) -> list[str | None]:
    return [task.script.rules[0].respond.text if task.script else None for task in study.tasks]


def problems(outside: Surroundings, text: str) -> list[str]:
    with pytest.raises(StudyError) as caught:
        loaded(outside, text)
    return [str(problem) for problem in caught.value.problems]


def test_a_task_s_own_script_takes_the_place_of_the_study_s(outside: Surroundings) -> None:
    """One scenario a task, and one script for all others; the files are kept with the study."""
    found = loaded(outside, OVERRIDDEN)
    assert texts(found.study) == ["From the study.", "From the task."]
    assert {"model.yaml", "scripts/own.yaml"} <= set(found.raw)


def test_a_script_is_part_of_what_the_study_s_digest_covers(outside: Surroundings) -> None:
    """Whoever changes a word of a script has another study, which reads back as it was."""
    study = loaded(outside, SCRIPTED).study
    assert ResolvedStudy.from_bytes(study.to_bytes(), "study.json") == study
    assert study.digest() != loaded(outside, OVERRIDDEN).study.digest()


def test_tasks_without_a_script_are_played_by_the_default_policy(outside: Surroundings) -> None:
    """Good tasks beside scenarios need no script that says nothing."""
    study = loaded(outside, OVERRIDDEN.replace(', script = "model.yaml"', "")).study
    assert [policy_for(study.model, task.script) for task in study.tasks] == [
        PolicyChoice(name="plain-agent", version=1),
        PolicyChoice(name="script", version=1),
    ]


def test_a_script_that_nobody_plays_is_refused(outside: Surroundings) -> None:
    """A study whose policy isn't `script` and that names one means something else than it says."""
    plain = OVERRIDDEN.replace('policy = "script"', 'policy = "plain-agent"')
    assert problems(outside, plain) == [
        '/studies/demo/study.toml: model.script: only model.policy = "script" plays one',
        '/studies/demo/study.toml: tasks[1].script: only model.policy = "script" plays one',
    ]


def test_a_policy_that_plays_nothing_is_refused(outside: Surroundings) -> None:
    """`policy = "script"` without any script is a forgotten key."""
    assert problems(outside, SCRIPTED.replace(', script = "model.yaml"', "")) == [
        "/studies/demo/study.toml: model.script: neither the study nor a task names a script"
    ]


def test_faults_of_a_script_are_told_with_those_of_the_study(outside: Surroundings) -> None:
    """A missing file, and what is wrong in one that is there, each with its document and key."""
    text = OVERRIDDEN.replace("model.yaml", "absent.yaml").replace("repetitions = 1", "repetitions = 1\nlabels = 'no'")
    assert problems(outside, text) == [
        "/studies/demo/study.toml: model.script: there is no file /studies/demo/absent.yaml",
        "/studies/demo/study.toml: labels: there is no file /studies/demo/no",
    ]
    wrong = OWN.replace(b"text:", b"txt:")
    outside.files.write(Path("/studies/demo/scripts/wrong.yaml"), wrong)
    assert problems(outside, OVERRIDDEN.replace("scripts/own", "scripts/wrong")) == [
        "/studies/demo/scripts/wrong.yaml: rules[0].respond.txt: unknown key"
    ]
