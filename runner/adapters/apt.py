"""Debian's archive through `apt-get`, with a state of its own and the sources that this machine has.

Nothing of the machine's own apt is changed or locked, and no privilege is needed: lists, cache and dpkg status are
private. Only the suite that was asked for is used, so other archives that the machine knows have no say. Apt checks the
archive's signature.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.canonical import Digest
from runner.core.errors import EnvironmentNotReady
from runner.ports.fetching import DebianPackage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TIMEOUT_S = 600
# The pockets of a Debian suite: releases, updates between them, security.
_POCKETS = ("", "-updates", "-security")
_TARGETS = "$(CREATED_BY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
_INSTALLED = re.compile(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", re.MULTILINE)
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class AptPackages:
    """Debian packages through apt; `folder` is its private state. Each object looks at the archive's lists once."""

    folder: Path
    _updated: set[tuple[str, str]] = field(default_factory=set, init=False, repr=False, compare=False)

    def available(self) -> bool:
        """Whether `apt-get` is on this machine."""
        return shutil.which("apt-get") is not None

    def closure(self, roots: Sequence[str], *, suite: str, arch: str) -> tuple[DebianPackage, ...]:
        """`roots` and what apt's own resolver adds on an empty machine, recommendations left out.

        Raises:
            EnvironmentNotReady: apt is absent or can't reach an archive, or a package isn't there.
        """
        self._update(suite, arch)
        plan = self._run(["apt-get", "--simulate", "install", "--", *roots], arch)
        return self._described([f"{name}={version}" for name, version, _ in _INSTALLED.findall(plan)], arch)

    def gone(self, packages: Sequence[DebianPackage], *, suite: str, arch: str) -> tuple[DebianPackage, ...]:
        """Those of `packages` that the archive doesn't hold any more, at that version and with that digest.

        Raises:
            EnvironmentNotReady: apt is absent or can't reach an archive.
        """
        self._update(suite, arch)
        names = self._run(["apt-cache", "pkgnames"], arch).split()
        known = sorted({package.name for package in packages}.intersection(names))
        here = set(self._described(known, arch, every_version=True)) if known else set()
        return tuple(package for package in packages if package not in here)

    def download(self, packages: Sequence[DebianPackage], folder: Path, *, suite: str, arch: str) -> None:
        """`folder` holds each package as `<hex>.deb`.

        Raises:
            EnvironmentNotReady: apt is absent or can't reach an archive, or a package can't be had.
        """
        self._update(suite, arch, only_if_missing=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            wanted = [f"{package.name}={package.version}" for package in packages]
            self._run(["apt-get", "download", "--", *wanted], arch, cwd=Path(temporary))
            for package in packages:
                found = _downloaded(Path(temporary), package)
                found.replace(folder / f"{package.sha256.removeprefix('sha256:')}.deb")

    def _described(self, names: Sequence[str], arch: str, *, every_version: bool = False) -> tuple[DebianPackage, ...]:
        every = "--all-versions" if every_version else "--no-all-versions"
        text = self._run(["apt-cache", "show", every, "--", *names], arch)
        return tuple(sorted({_package(stanza) for stanza in text.split("\n\n") if stanza.strip()}))

    def _update(self, suite: str, arch: str, *, only_if_missing: bool = False) -> None:
        if not self.available():
            raise EnvironmentNotReady(
                "apt-get isn't on this machine", hint="name a base image in images/base/base.toml"
            )
        state = self.folder / arch
        if (suite, arch) in self._updated or (only_if_missing and any((state / "lists").glob("*_Packages*"))):
            return
        for part in ("lists/partial", "cache/archives/partial"):
            (state / part).mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        (state / "sources.list").write_text("".join(self._sources(suite)), "utf-8")
        (state / "apt.conf").write_text(_configuration(state, arch), "utf-8")
        self._run(["apt-get", "--error-on=any", "update"], arch)
        self._updated.add((suite, arch))

    def _sources(self, suite: str) -> Iterator[str]:
        listed = _call(["apt-get", "indextargets", "--format", _TARGETS], os.environ | _PLAIN, None)
        yield from source_lines(listed, suite, _host_suite(), keyring=str(_KEYRING) if _KEYRING.exists() else "")

    def _run(self, command: list[str], arch: str, cwd: Path | None = None) -> str:
        environment = os.environ | _PLAIN | {"APT_CONFIG": str(self.folder / arch / "apt.conf")}
        return _call(command, environment, cwd)


_PLAIN = {"LC_ALL": "C", "LANGUAGE": "C"}


def source_lines(targets: str, suite: str, host_suite: str, *, keyring: str) -> tuple[str, ...]:
    """Lines of a `sources.list` for `suite`, on the mirrors that `apt-get indextargets` says this machine uses.

    A machine with another release of Debian uses the same mirrors: they carry every release that is still supported.

    Raises:
        EnvironmentNotReady: this machine has no source of Debian packages.
    """
    options = f"[signed-by={keyring}] " if keyring else ""
    lines: list[str] = []
    for target in targets.splitlines():
        kind, uri, release, component = [*target.split("|"), "", "", ""][:4]
        if kind == "Packages" and component == "main":
            pockets = [pocket for pocket in _POCKETS if release in {f"{suite}{pocket}", f"{host_suite}{pocket}"}]
            lines.extend(f"deb {options}{uri} {suite}{pocket} main\n" for pocket in pockets)
    if not lines:
        raise EnvironmentNotReady(
            f"this machine has no source of Debian {suite}", hint="add one to its apt sources, or name a base image"
        )
    return tuple(dict.fromkeys(lines))


def _host_suite() -> str:
    try:
        release = Path("/etc/os-release").read_text("utf-8")
    except OSError:
        return ""
    facts = dict(line.partition("=")[::2] for line in release.splitlines())
    return facts.get("VERSION_CODENAME", "").strip('"') if facts.get("ID", "").strip('"') == "debian" else ""


def _configuration(state: Path, arch: str) -> str:
    options = {
        "APT::Architecture": arch,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "Dir::Cache": state / "cache",
        "Dir::Etc::parts": state / "none",
        "Dir::Etc::preferences": state / "none",
        "Dir::Etc::preferencesparts": state / "none",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": state / "none",
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
    }
    return f'#clear APT::Architectures;\nAPT::Architectures {{ "{arch}"; }};\n' + "".join(
        f'{key} "{value}";\n' for key, value in options.items()
    )


def _call(command: list[str], environment: dict[str, str], cwd: Path | None) -> str:
    try:
        done = subprocess.run(
            command, env=environment, cwd=cwd, check=True, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except OSError as error:
        raise EnvironmentNotReady(f"{command[0]} can't be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentNotReady(f"{' '.join(command[:2])} didn't end within {_TIMEOUT_S} s") from error
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.splitlines() if line.startswith(("E:", "W:"))] or [error.stderr.strip()]
        raise EnvironmentNotReady(f"{' '.join(command[:2])} failed: {' '.join(said[:3])}") from error
    return done.stdout


def _package(stanza: str) -> DebianPackage:
    facts = dict(line.partition(": ")[::2] for line in stanza.splitlines() if not line.startswith(" "))
    return DebianPackage(
        facts["Package"], facts["Version"], facts["Architecture"], Digest(f"sha256:{facts.get('SHA256', '')}")
    )


def _downloaded(folder: Path, package: DebianPackage) -> Path:
    # Apt writes the colon of an epoch as %3a.
    name = f"{package.name}_{package.version.replace(':', '%3a')}_{package.arch}.deb"
    path = folder / name
    if not path.exists():
        raise EnvironmentNotReady(f"apt-get didn't bring {package.name} {package.version}")
    return path
