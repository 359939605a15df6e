"""What this machine has: facts only, without a judgement."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import docker
import docker.errors
import requests

from runner.adapters.engine_address import fault_of, try_candidates
from runner.adapters.engine_kinds import architecture_of, bounds_tmpfs
from runner.core.doctor import EngineFacts, HostFacts
from runner.core.quantities import Measured, Quantity, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CHROMIUM_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
CALL_TIMEOUT_S: Final = 10
LIMITS: Final = (("memory", "MemoryLimit"), ("pids", "PidsLimit"), ("cpu", "CpuCfsQuota"))


def host_facts(cache: Path, environ: Mapping[str, str]) -> HostFacts:
    """The facts of this machine; `cache` is the project's cache folder, whose file system is the one that fills.

    Nothing is raised: a fact that can't be read is `Unavailable` with the reason.
    """
    chromium = next((name for name in CHROMIUM_NAMES if shutil.which(name)), None)
    return HostFacts(
        system=_system(),
        architecture=platform.machine(),
        python=sys.version_info[:3],
        is_root=os.geteuid() == 0,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=_memory(),
        disk_free_bytes=_free(cache),
        disk_path=str(cache),
        utc_year=datetime.now(UTC).year,
        has_apt=shutil.which("apt-get") is not None,
        has_dockerd=shutil.which("dockerd") is not None,
        chromium=Measured(chromium) if chromium else Unavailable("not found"),
        engine=_engine(cache, environ),
    )


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _memory() -> Quantity:
    try:
        return Measured(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (OSError, ValueError) as error:
        return Unavailable(str(error))


def _free(folder: Path) -> Quantity:
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        return Measured(shutil.disk_usage(existing).free)
    except OSError as error:
        return Unavailable(str(error))


def _engine(cache: Path, environ: Mapping[str, str]) -> EngineFacts | Unavailable:
    faults = []
    for tried in try_candidates(environ, cache, fault_of):
        if not tried.fault:
            return _ask(tried.candidate.address)
        faults.append(f"{tried.candidate.address}: {tried.fault}")
    return Unavailable("; ".join(faults) or "no private engine was started")


def _ask(address: str) -> EngineFacts | Unavailable:
    try:
        with closing(docker.APIClient(base_url=address, version="auto", timeout=CALL_TIMEOUT_S)) as client:
            before = datetime.now(UTC)
            info = client.info()
            return engine_facts(address, client.version(), info, before + (datetime.now(UTC) - before) / 2)
    except (docker.errors.DockerException, requests.RequestException, KeyError, ValueError) as error:
        return Unavailable(f"{address}: {error}")


def engine_facts(address: str, version: dict[str, Any], info: dict[str, Any], asked: datetime) -> EngineFacts:
    """The facts in the engine's two answers, `info` given at about the time `asked`.

    Raises:
        KeyError: an answer lacks what every engine gives.
        ValueError: a version isn't one.
    """
    security = [option.split(",")[0] for option in info.get("SecurityOptions") or []]
    major, minor = str(version["ApiVersion"]).split(".")[:2]
    return EngineFacts(
        address=address,
        version=str(version["Version"]),
        api_version=(int(major), int(minor)),
        architecture=architecture_of(info),
        storage_driver=str(info["Driver"]),
        cgroup_version=str(info.get("CgroupVersion") or "unknown"),
        cgroup_driver=str(info.get("CgroupDriver") or "unknown"),
        seccomp="name=seccomp" in security,
        rootless="name=rootless" in security,
        limits_missing=tuple(name for name, key in LIMITS if not info.get(key)),
        swap_limit=bool(info.get("SwapLimit")),
        bounds_tmpfs=bounds_tmpfs(version),
        clock_offset_ms=_offset(str(info.get("SystemTime", "")), asked),
    )


def _offset(text: str, asked: datetime) -> Quantity:
    try:
        theirs = datetime.fromisoformat(text)
        return Measured(round((theirs - asked).total_seconds() * 1000))
    except (ValueError, TypeError):
        return Unavailable(f"the engine gives no time: {text!r}")
