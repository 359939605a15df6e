"""Whether a trial can run in an image follows from how the engine would start it, and from its supervisor."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.owner import RUN
from runner.pipeline.image_fitness import image_faults
from tests.fakes.engine import FakeEngine
from tests.fakes.pods import Pods

ENTRYPOINT = ["python3", "/opt/pairbench/supervisor/main.py", "/in/launch.json"]
VARIABLES = ["LANG=C.UTF-8", "PATH=/usr/bin:/bin"]
OURS: dict[str, Any] = {"Entrypoint": ENTRYPOINT, "Env": VARIABLES}
SUPERVISOR = {"opt/pairbench/supervisor/main.py": b"the supervisor"}


def faults(
    files: dict[str, bytes] | None = None, *, os: str = "linux", architecture: str = "amd64", **started: Any
) -> list[str]:
    """What keeps a trial from running in an image that is ours but for what is said."""
    engine = FakeEngine(Pods())
    for name, changes in (("trial", {}), ("mine", started)):
        config = {"architecture": "amd64", "os": "linux", "config": {**OURS, **changes}}
        if name == "mine":
            config |= {"architecture": architecture, "os": os}
        held = SUPERVISOR if name == "trial" or files is None else files
        engine.add_image(name, config, [name.encode()], files=held)
    found = list(image_faults(engine, "mine", "trial", {RUN: "a-run"}))
    assert engine.containers == {}
    assert not {call for call, _ in engine.calls} & {"start", "start_until_ready"}
    return found


@pytest.mark.parametrize(
    "started",
    [
        {},
        {"Env": [*reversed(VARIABLES)], "Cmd": None, "Healthcheck": {"Test": ["NONE"]}, "Volumes": None},
        {"User": "0", "WorkingDir": "/opt", "Labels": {"a": "b"}, "ExposedPorts": {"80/tcp": {}}},
        {"OnBuild": ["RUN true"], "Shell": ["/bin/sh", "-ec"], "StopSignal": "", "Hostname": "builder"},
    ],
)
def test_what_changes_no_trial_is_fit(started: dict[str, Any]) -> None:
    """Its user is set, nobody reaches its ports, and the rest is for builders."""
    assert faults(**started) == []


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (["PATH=/opt/mine", "LANG=C.UTF-8"], "PATH"),
        ([*VARIABLES, "PYTHONPATH=/opt/mine"], "PYTHONPATH"),
        ([*VARIABLES, "LD_PRELOAD=/x.so", "LD_AUDIT=/x.so"], "LD_AUDIT, LD_PRELOAD"),
        ([*VARIABLES, "PYTHONSTARTUP"], "PYTHONSTARTUP"),
        (None, "LANG, PATH"),
    ],
)
def test_variables_are_those_of_the_trial_image(entries: object, told: str) -> None:
    """Names and values: with another `PATH` the image chooses what `python3` is for the supervisor."""
    assert faults(Env=entries) == [
        f"its ENV would reach the supervisor, which is root: leave {told} as the trial image has it"
    ]


def test_all_that_is_wrong_is_told_at_once() -> None:
    """What it would start, what it would get, and what nobody knows of."""
    assert faults({}, Entrypoint=["sh"], Volumes={"/scratch": {}}, StopSignal="SIGKILL", Tomorrow=["more"]) == [
        f"it must be started by {ENTRYPOINT} alone: leave ENTRYPOINT and CMD as the trial image has them",
        "its VOLUME would give trials room on the host's disk: /scratch",
        "its configuration sets StopSignal, which a trial's image must leave alone",
        "its configuration sets Tomorrow, which a trial's image must leave alone",
        "its /opt/pairbench/supervisor isn't that of this version: build it on the trial image",
    ]


def test_an_image_for_another_system_is_not_looked_into() -> None:
    """Nothing else can be said of it."""
    assert faults({}, os="windows") == ["it is for windows, and the pod's other images are for linux"]
    assert faults({}, architecture="arm64") == ["it is for arm64, and the pod's other images are for amd64"]
