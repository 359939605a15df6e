"""What a machine lacks, judged from facts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.doctor import Diagnosis, EngineFacts, Finding, HostFacts, diagnose
from runner.core.quantities import Measured, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGINE = EngineFacts(
    address="unix:///e.sock",
    version="20.10.24",
    api_version=(1, 41),
    architecture="x86_64",
    storage_driver="overlay2",
    cgroup_version="2",
    cgroup_driver="systemd",
    seccomp=True,
    rootless=False,
    limits_missing=(),
    swap_limit=True,
    clock_offset_ms=Measured(12),
)
HOST = HostFacts(
    system="Debian GNU/Linux 12 (bookworm)",
    architecture="x86_64",
    python=(3, 11, 2),
    is_root=True,
    cores=2,
    memory_bytes=Measured(8_000_000_000),
    disk_free_bytes=Measured(50_000_000_000),
    disk_path=".cache",
    utc_year=2026,
    has_apt=True,
    has_dockerd=False,
    chromium=Measured("chromium"),
    engine=ENGINE,
)


def found(facts: HostFacts, subject: str) -> Finding:
    (finding,) = [finding for finding in diagnose(facts).findings if finding.subject == subject]
    return finding


def test_a_machine_with_everything_is_ready() -> None:
    """Every subject is listed with what was found, also when all is well."""
    diagnosis = diagnose(HOST)
    assert diagnosis.ready
    assert [(finding.subject, finding.state, finding.found) for finding in diagnosis.findings] == [
        ("system", "ok", "Debian GNU/Linux 12 (bookworm)"),
        ("architecture", "ok", "x86_64"),
        ("python", "ok", "3.11.2"),
        ("cores", "ok", "2"),
        ("memory", "ok", "8.0 GB"),
        ("free disk", "ok", "50.0 GB"),
        ("clock", "ok", "2026 UTC"),
        ("engine", "ok", "20.10.24 at unix:///e.sock"),
        ("engine API", "ok", "1.41"),
        ("control groups", "ok", "version 2, systemd"),
        ("seccomp", "ok", "default profile"),
        ("storage driver", "ok", "overlay2"),
        ("engine architecture", "ok", "x86_64"),
        ("engine clock", "ok", "12 ms off this machine's"),
        ("chromium", "ok", "chromium"),
    ]


def test_everything_that_is_missing_is_listed_at_once() -> None:
    """Nobody should have to run the doctor again to learn of the next thing."""
    facts = replace(
        HOST,
        architecture="riscv64",
        python=(3, 10, 12),
        memory_bytes=Measured(2_999_999_999),
        disk_free_bytes=Measured(4_950_000_000),
        utc_year=1970,
        engine=Unavailable("unix:///var/run/docker.sock: No such file or directory"),
    )
    diagnosis = diagnose(facts)
    assert not diagnosis.ready
    assert [finding.subject for finding in diagnosis.findings if finding.state == "missing"] == [
        "architecture",
        "python",
        "memory",
        "free disk",
        "clock",
        "engine",
    ]
    assert found(facts, "memory").found == "2.9 GB of 3.0 GB"
    assert found(facts, "free disk").found == "4.9 GB of 5.0 GB"


@pytest.mark.parametrize(
    ("facts", "remedy"),
    [
        ({"is_root": True, "has_apt": True, "has_dockerd": False}, "make engine"),
        ({"is_root": True, "has_apt": False, "has_dockerd": True}, "make engine"),
        (
            {"is_root": False, "has_apt": True, "has_dockerd": True},
            'sudo apt-get install -y docker.io; sudo usermod -aG docker "$USER" && newgrp docker',
        ),
        (
            {"is_root": True, "has_apt": False, "has_dockerd": False},
            "install and start Docker Engine, or set DOCKER_HOST to the address of an engine",
        ),
    ],
)
def test_the_remedy_for_no_engine_is_one_that_this_user_can_follow(facts: Mapping[str, Any], remedy: str) -> None:
    """Root on Debian is served by make; others are told what to type."""
    without = replace(HOST, engine=Unavailable("refused"), **facts)
    assert found(without, "engine").remedy == remedy


@pytest.mark.parametrize(
    ("change", "subject", "text"),
    [
        ({"api_version": (1, 40)}, "engine API", "1.40"),
        ({"limits_missing": ("memory", "pids")}, "control groups", "version 2, systemd; no limit of memory, pids"),
        ({"seccomp": False}, "seccomp", "off"),
        ({"architecture": "s390x"}, "engine architecture", "s390x"),
    ],
)
def test_an_engine_that_cannot_confine_a_trial_is_missing_something(
    change: Mapping[str, Any], subject: str, text: str
) -> None:
    """Runs would fail, or run without what the evidence claims."""
    facts = replace(HOST, engine=replace(ENGINE, **change))
    assert found(facts, subject).state == "missing"
    assert found(facts, subject).found == text
    assert not diagnose(facts).ready


@pytest.mark.parametrize(
    ("change", "subject", "text"),
    [
        ({"swap_limit": False}, "swap limit", "none"),
        ({"storage_driver": "vfs"}, "storage driver", "vfs"),
        ({"rootless": True}, "rootless engine", "yes"),
        ({"architecture": "aarch64"}, "engine architecture", "aarch64"),
        ({"clock_offset_ms": Measured(-2001)}, "engine clock", "-2001 ms off this machine's"),
        ({"clock_offset_ms": Unavailable("no time")}, "engine clock", "no time"),
    ],
)
def test_what_works_but_is_worth_knowing_is_a_notice(change: Mapping[str, Any], subject: str, text: str) -> None:
    """A notice doesn't stop anybody."""
    facts = replace(HOST, engine=replace(ENGINE, **change))
    assert (found(facts, subject).state, found(facts, subject).found) == ("notice", text)
    assert diagnose(facts).ready


def test_what_could_not_be_read_is_a_notice_with_the_reason() -> None:
    """Unknown isn't zero, and isn't enough either."""
    facts = replace(HOST, memory_bytes=Unavailable("no sysconf"), chromium=Unavailable("not found"), cores=1)
    assert found(facts, "memory") == Finding(
        subject="memory", state="notice", found="no sysconf", remedy="make sure that there are 3.0 GB"
    )
    assert found(facts, "chromium").state == "notice"
    assert found(facts, "cores").state == "notice"
    assert diagnose(facts).ready


def test_a_diagnosis_survives_its_document() -> None:
    """`doctor --json` prints what a reader of the format gets back."""
    diagnosis = diagnose(replace(HOST, engine=Unavailable("refused")))
    assert Diagnosis.from_bytes(diagnosis.to_bytes(), "diagnosis") == diagnosis


def test_podman_is_said_to_be_no_engine_for_runs() -> None:
    """What it does all the same is said with it."""
    findings = diagnose(replace(HOST, engine=replace(ENGINE, bounds_tmpfs=False))).findings
    (finding,) = [item for item in findings if item.subject == "files in memory"]
    assert finding.state == "missing"
    assert finding.remedy.startswith("it builds, loads and pushes images")
