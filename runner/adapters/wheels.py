"""Wheels through `pip`, from the index that this machine is set up to use; only wheels: nothing fetched is ever run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from runner.core.canonical import Digest
from runner.core.errors import EnvironmentNotReady
from runner.ports.fetching import Wheel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.ports.fetching import Requirement

_TIMEOUT_S = 900
_MACHINES: Mapping[str, str] = {"amd64": "x86_64", "arm64": "aarch64"}
# Debian 12 has glibc 2.36; a manylinux tag says the oldest glibc that a wheel runs on (PEP 600); pip doesn't widen it.
_NEWEST_GLIBC_MINOR = 36
_OLDEST_GLIBC_MINOR = 5


@dataclass(frozen=True)
class PipWheels:
    """Wheels through the pip of `interpreter`."""

    interpreter: str = sys.executable

    def closure(self, requirements: Sequence[Requirement], *, python: str, arch: str) -> tuple[Wheel, ...]:
        """The wheels that pip's resolver chooses for another machine of that kind.

        Raises:
            EnvironmentNotReady: pip is absent or can't reach its index, or there is no such wheel.
        """
        found: dict[str, Wheel] = {}
        for dependencies in (False, True):
            pinned = [f"{item.name}=={item.version}" for item in requirements if item.dependencies is dependencies]
            if pinned:
                alone = [] if dependencies else ["--no-deps"]
                report = self._report([*alone, *pinned], python, arch)
                found.update({wheel.name: wheel for wheel in report})
        return tuple(sorted(found.values()))

    def download(self, wheels: Sequence[Wheel], folder: Path, *, python: str, arch: str) -> None:
        """`folder` holds each wheel; pip itself refuses any other digest.

        Raises:
            EnvironmentNotReady: pip is absent or can't reach its index, or a wheel isn't what was asked for.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            wanted = Path(temporary) / "requirements.txt"
            wanted.write_text("".join(f"{w.name}=={w.version} --hash={w.sha256}\n" for w in wheels), "utf-8")
            target = Path(temporary) / "wheels"
            flags = ["--no-deps", "--require-hashes", "--dest", str(target), "--requirement", str(wanted)]
            self._pip(["download", *flags, *_kind(python, arch)])
            for wheel in wheels:
                found = target / wheel.file
                if not found.exists():
                    raise EnvironmentNotReady(f"pip brought another file than {wheel.file}")
                found.replace(folder / wheel.file)

    def _report(self, arguments: list[str], python: str, arch: str) -> list[Wheel]:
        with tempfile.TemporaryDirectory() as temporary:
            report = Path(temporary) / "report.json"
            nowhere = Path(temporary) / "nowhere"
            flags = ["--dry-run", "--ignore-installed", "--target", str(nowhere), "--report", str(report)]
            self._pip(["install", *flags, *_kind(python, arch), *arguments])
            items = json.loads(report.read_text("utf-8"))["install"]
        return [_wheel(item["metadata"], item["download_info"]) for item in items]

    def _pip(self, arguments: list[str]) -> None:
        command = [self.interpreter, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check", *arguments]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=_TIMEOUT_S)
        except OSError as error:
            raise EnvironmentNotReady(f"pip can't be run: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise EnvironmentNotReady(f"pip {arguments[0]} didn't end within {_TIMEOUT_S} s") from error
        except subprocess.CalledProcessError as error:
            said = [line for line in error.stderr.splitlines() if line.startswith("ERROR")] or [error.stderr.strip()]
            raise EnvironmentNotReady(f"pip {arguments[0]} failed: {' '.join(said[:2])}") from error


def _kind(python: str, arch: str) -> list[str]:
    machine = _MACHINES[arch]
    minors = range(_NEWEST_GLIBC_MINOR, _OLDEST_GLIBC_MINOR - 1, -1)
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in minors] + [f"manylinux2014_{machine}"]
    abi = f"cp{python.replace('.', '')}"
    flags = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    for tag in (abi, "abi3", "none"):
        flags += ["--abi", tag]
    for platform in platforms:
        flags += ["--platform", platform]
    return flags


def _wheel(metadata: Mapping[str, str], download: Mapping[str, object]) -> Wheel:
    archive = download.get("archive_info")
    hashes = archive.get("hashes") if isinstance(archive, dict) else None
    digest = hashes.get("sha256") if isinstance(hashes, dict) else None
    if not isinstance(digest, str):
        raise EnvironmentNotReady(f"the index gives no sha256 for {metadata['name']}", hint="use one that does")
    file = PurePosixPath(unquote(urlsplit(str(download["url"])).path)).name
    return Wheel(metadata["name"], metadata["version"], file, Digest(f"sha256:{digest}"))
