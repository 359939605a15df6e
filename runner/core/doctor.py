"""Is this machine ready, and what is to be done where it isn't? All of it at once, from facts that were read elsewhere.

It judges facts and knows nothing of how they are read. A finding is `ok`; `notice`, when everything works but something
is worth knowing; or `missing`, when runs would fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from runner.core.documents import Document, Part
from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

GB: Final = 1_000_000_000

PYTHON_MIN: Final = (3, 11)
API_MIN: Final = (1, 41)
"""The oldest engine API that pods were run on: Docker Engine 20.10, 2026-11."""
MEMORY_MIN_BYTES: Final = 3 * GB
"""A trial may use 2 GiB by default; the sidecar, the gateway and the runner need the rest."""
DISK_MIN_BYTES: Final = 5 * GB
"""Packages, wheels, images and their archives take about 3 GB; a run's evidence grows from there."""
CLOCK_OFFSET_MAX_MS: Final = 2000
TESTED_ARCHITECTURE: Final = "x86_64"
LOCKED_ARCHITECTURES: Final = frozenset({"x86_64", "aarch64"})


@dataclass(frozen=True)
class EngineFacts:
    """What a container engine says of itself."""

    address: str
    version: str
    api_version: tuple[int, int]
    architecture: str
    storage_driver: str
    cgroup_version: str
    cgroup_driver: str
    seccomp: bool
    rootless: bool
    limits_missing: tuple[str, ...]
    """Limits that its kernel can't enforce, of `memory`, `pids`, `cpu`."""
    swap_limit: bool
    clock_offset_ms: Quantity
    """Its clock minus this machine's."""
    bounds_tmpfs: bool = True
    """Whether a private file system in memory gets an owner and a largest number of files."""


@dataclass(frozen=True)
class HostFacts:
    """What this machine has: every fact was looked for, and what couldn't be read says why."""

    system: str
    architecture: str
    python: tuple[int, int, int]
    is_root: bool
    cores: int
    memory_bytes: Quantity
    disk_free_bytes: Quantity
    disk_path: str
    utc_year: int
    has_apt: bool
    has_dockerd: bool
    chromium: Measured[str] | Unavailable
    engine: EngineFacts | Unavailable


class Finding(Part):
    """One thing that was looked at, what was found, and what to do about it ("" when nothing)."""

    subject: str
    state: Literal["ok", "notice", "missing"]
    found: str
    remedy: str


class Diagnosis(Document):
    """Everything that this machine has or lacks, in one document."""

    FORMAT: ClassVar[str] = "pairbench/diagnosis"

    ready: bool
    findings: tuple[Finding, ...]


def diagnose(facts: HostFacts) -> Diagnosis:
    """The judgement of `facts`; the machine is ready when nothing is missing."""
    findings = (*_machine(facts), *_engine(facts), _chromium(facts))
    return Diagnosis(ready=all(finding.state != "missing" for finding in findings), findings=findings)


def _machine(facts: HostFacts) -> Iterator[Finding]:
    yield _ok("system", facts.system)
    yield _architecture("architecture", facts.architecture)
    python = ".".join(map(str, facts.python))
    if facts.python[:2] >= PYTHON_MIN:
        yield _ok("python", python)
    else:
        yield _missing("python", python, "install Python 3.11 or newer")
    if facts.cores > 1:
        yield _ok("cores", str(facts.cores))
    else:
        yield _notice(
            "cores", str(facts.cores), 'set preparation = "exclusive" in the study: a pod would disturb a trial'
        )
    yield _at_least("memory", facts.memory_bytes, MEMORY_MIN_BYTES, "use a machine with 4 GB of memory")
    remedy = f"free some space below {facts.disk_path}"
    yield _at_least("free disk", facts.disk_free_bytes, DISK_MIN_BYTES, remedy)
    if facts.utc_year >= 2026:
        yield _ok("clock", f"{facts.utc_year} UTC")
    else:
        yield _missing(
            "clock", f"{facts.utc_year} UTC", "set the clock: certificates and the dates of runs depend on it"
        )


def _engine(facts: HostFacts) -> Iterator[Finding]:
    match facts.engine:
        case Unavailable(reason):
            yield _missing("engine", reason, _engine_remedy(facts))
        case EngineFacts() as engine:
            yield _ok("engine", f"{engine.version} at {engine.address}")
            yield from _engine_abilities(engine)
            yield from _engine_host(engine)


def _engine_remedy(facts: HostFacts) -> str:
    if facts.is_root and (facts.has_dockerd or facts.has_apt):
        return "make engine"
    if facts.has_apt:
        return 'sudo apt-get install -y docker.io; sudo usermod -aG docker "$USER" && newgrp docker'
    return "install and start Docker Engine, or set DOCKER_HOST to the address of an engine"


def _engine_abilities(engine: EngineFacts) -> Iterator[Finding]:
    api = ".".join(map(str, engine.api_version))
    if engine.api_version >= API_MIN:
        yield _ok("engine API", api)
    else:
        yield _missing("engine API", api, f"use an engine with API {'.'.join(map(str, API_MIN))} or newer")
    cgroups = f"version {engine.cgroup_version}, {engine.cgroup_driver}"
    if engine.limits_missing:
        lacking = f"{cgroups}; no limit of {', '.join(engine.limits_missing)}"
        yield _missing("control groups", lacking, "mount the control groups and restart the engine")
    else:
        yield _ok("control groups", cgroups)
    if not engine.bounds_tmpfs:
        remedy = "it builds, loads and pushes images; for runs use Docker's own engine (docs/howto/engine.md)"
        yield _missing("files in memory", "Podman sets neither their owner nor their number", remedy)
    if not engine.swap_limit:
        yield _notice("swap limit", "none", "turn swap off, or memory limits can be exceeded into swap")
    if engine.seccomp:
        yield _ok("seccomp", "default profile")
    else:
        yield _missing("seccomp", "off", "use an engine and a kernel with seccomp: trials are confined by it")
    if engine.storage_driver == "vfs":
        yield _notice("storage driver", "vfs", "each container copies its image: expect slow starts and a full disk")
    else:
        yield _ok("storage driver", engine.storage_driver)
    if engine.rootless:
        yield _notice(
            "rootless engine", "yes", "limits need delegated control groups; see what `status` reports of a trial"
        )


def _engine_host(engine: EngineFacts) -> Iterator[Finding]:
    yield _architecture("engine architecture", engine.architecture)
    match engine.clock_offset_ms:
        case Measured(offset) if abs(offset) <= CLOCK_OFFSET_MAX_MS:
            yield _ok("engine clock", f"{offset} ms off this machine's")
        case Measured(offset):
            yield _notice(
                "engine clock", f"{offset} ms off this machine's", "set both clocks: one run has one timeline"
            )
        case Unavailable(reason):
            yield _notice("engine clock", reason, "")


def _chromium(facts: HostFacts) -> Finding:
    match facts.chromium:
        case Measured(name):
            return _ok("chromium", name)
        case Unavailable(reason):
            return _notice("chromium", reason, "make chromium; only tests that look at a report need it")


def _architecture(subject: str, found: str) -> Finding:
    if found == TESTED_ARCHITECTURE:
        return _ok(subject, found)
    if found in LOCKED_ARCHITECTURES:
        return _notice(subject, found, f"images are locked for it, but were tested on {TESTED_ARCHITECTURE} only")
    return _missing(
        subject, found, f"use one of {', '.join(sorted(LOCKED_ARCHITECTURES))}: images are locked for these"
    )


def _at_least(subject: str, quantity: Quantity, minimum: int, remedy: str) -> Finding:
    match quantity:
        case Measured(value) if value >= minimum:
            return _ok(subject, _gigabytes(value))
        case Measured(value):
            return _missing(subject, f"{_gigabytes(value)} of {_gigabytes(minimum)}", remedy)
        case Unavailable(reason):
            return _notice(subject, reason, f"make sure that there are {_gigabytes(minimum)}")


def _gigabytes(value: int) -> str:
    return f"{value // GB}.{value % GB * 10 // GB} GB"


def _ok(subject: str, found: str) -> Finding:
    return Finding(subject=subject, state="ok", found=found, remedy="")


def _notice(subject: str, found: str, remedy: str) -> Finding:
    return Finding(subject=subject, state="notice", found=found, remedy=remedy)


def _missing(subject: str, found: str, remedy: str) -> Finding:
    return Finding(subject=subject, state="missing", found=found, remedy=remedy)
