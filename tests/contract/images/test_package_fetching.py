"""Whoever brings Debian packages keeps the same promises: a fake in memory, and apt on this machine."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from runner.adapters.apt import AptPackages, source_lines
from runner.core.canonical import Digest
from runner.core.errors import EnvironmentNotReady
from tests.fakes.image_tools import FakeArchive, deb

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.fetching import PackageFetcher

SUITE = "bookworm"


@dataclass
class Case:
    """A fetcher, and a package with one that it needs."""

    fetcher: PackageFetcher
    root: str
    needed: str


@pytest.fixture(scope="session")
def apt(tmp_path_factory: pytest.TempPathFactory) -> AptPackages:
    return AptPackages(tmp_path_factory.mktemp("apt"))


@pytest.fixture(params=["fake", pytest.param("apt", marks=pytest.mark.slow)])
def case(request: pytest.FixtureRequest, apt: AptPackages) -> Case:
    if request.param == "apt":
        return Case(apt, "libgcc-s1", "gcc-12-base")
    packages = {"tool": ("1.0-1", ("base",), deb({"usr/bin/tool": b"t"})), "base": ("2.0-1", (), deb({"etc/b": b"b"}))}
    return Case(FakeArchive(packages), "tool", "base")


def test_a_closure_holds_what_is_needed(case: Case) -> None:
    """Asking for one package brings what it needs, each with version and digest."""
    found = {package.name: package for package in case.fetcher.closure([case.root], suite=SUITE, arch="amd64")}
    assert {case.root, case.needed} <= found.keys()
    assert all(package.version and len(package.sha256) == 71 for package in found.values())


def test_a_name_that_nobody_has_is_refused(case: Case) -> None:
    """A package that isn't there ends in one error that this machine isn't ready."""
    with pytest.raises(EnvironmentNotReady, match="pairbench-nothing"):
        case.fetcher.closure(["pairbench-nothing"], suite=SUITE, arch="amd64")


def test_what_is_gone_is_told(case: Case) -> None:
    """Of the packages that were asked about, those at another version, digest or name than the archive's are gone."""
    packages = case.fetcher.closure([case.root], suite=SUITE, arch="amd64")
    assert case.fetcher.gone(packages, suite=SUITE, arch="amd64") == ()
    older = replace(packages[0], version="0.0~gone")
    forged = replace(packages[0], sha256=Digest("sha256:" + "0" * 64))
    unknown = replace(packages[0], name="pairbench-nothing")
    asked = [*packages, older, forged, unknown]
    assert case.fetcher.gone(asked, suite=SUITE, arch="amd64") == (older, forged, unknown)


def test_downloads_are_what_was_described(case: Case, tmp_path: Path) -> None:
    """Each file stands under its digest, and has it."""
    packages = [p for p in case.fetcher.closure([case.root], suite=SUITE, arch="amd64") if p.name != "libc6"]
    case.fetcher.download(packages, tmp_path, suite=SUITE, arch="amd64")
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()}
    assert found == {f"{p.sha256.removeprefix('sha256:')}.deb": p.sha256.removeprefix("sha256:") for p in packages}


def test_a_version_that_is_gone_cannot_be_downloaded(case: Case, tmp_path: Path) -> None:
    """Asking for another version than the archive's is an error, and nothing is left behind."""
    (package,) = [p for p in case.fetcher.closure([case.root], suite=SUITE, arch="amd64") if p.name == case.root]
    with pytest.raises(EnvironmentNotReady, match=case.root):
        case.fetcher.download([replace(package, version="0.0~gone")], tmp_path, suite=SUITE, arch="amd64")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_architecture_is_resolved_as_well(apt: AptPackages) -> None:
    """Locks for aarch64 are made on x86-64: the closure is that architecture's own."""
    found = apt.closure(["libgcc-s1"], suite=SUITE, arch="arm64")
    assert {package.name: package.arch for package in found} == {
        "gcc-12-base": "arm64",
        "libc6": "arm64",
        "libgcc-s1": "arm64",
    }


@pytest.mark.slow
def test_an_ordinary_user_can_fetch(tmp_path: Path) -> None:
    """Nothing needs root: apt works on its private state, and this machine's own isn't touched."""
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from runner.adapters.apt import AptPackages\n"
        "os.geteuid() or (os.setgroups([]), os.setgid(65534), os.setuid(65534))\n"
        "folder = Path(sys.argv[1])\n"
        "fetcher = AptPackages(folder / 'state')\n"
        "packages = [p for p in fetcher.closure(['gcc-12-base'], suite='bookworm', arch='amd64')]\n"
        "fetcher.download(packages, folder, suite='bookworm', arch='amd64')\n"
        "print(os.geteuid() != 0, len(list(folder.glob('*.deb'))))\n"
    )
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    folder = tmp_path / "own"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
    done = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True 1\n", "")


TARGETS = """Packages|http://a.example/d/|bookworm|main
Packages|http://a.example/d/|bookworm|contrib
Translations|http://a.example/d/|bookworm|main
Packages|http://a.example/d/|bookworm-updates|main
Packages|http://b.example/|bookworm-security|main
Packages|http://a.example/d/|bookworm-backports|main
Packages|http://c.example/|nodistro|main
Packages|http://a.example/d/|bookworm|main
"""


def test_only_the_suite_and_its_pockets_are_used() -> None:
    """Sections, backports and other people's archives that the machine knows have no say in an image."""
    assert source_lines(TARGETS, "bookworm", "bookworm", keyring="/k.gpg") == (
        "deb [signed-by=/k.gpg] http://a.example/d/ bookworm main\n",
        "deb [signed-by=/k.gpg] http://a.example/d/ bookworm-updates main\n",
        "deb [signed-by=/k.gpg] http://b.example/ bookworm-security main\n",
    )


def test_another_release_of_debian_uses_its_mirrors_for_the_suite() -> None:
    """On a machine with a later release the same mirrors are asked for the locked suite."""
    newer = TARGETS.replace("bookworm", "trixie")
    assert source_lines(newer, "bookworm", "trixie", keyring="") == (
        "deb http://a.example/d/ bookworm main\n",
        "deb http://a.example/d/ bookworm-updates main\n",
        "deb http://b.example/ bookworm-security main\n",
    )


def test_a_machine_without_a_source_of_the_suite_is_told_so() -> None:
    """Another distribution's archives aren't taken for Debian's."""
    with pytest.raises(EnvironmentNotReady, match="no source of Debian bookworm"):
        source_lines(TARGETS.replace("bookworm", "noble"), "bookworm", "", keyring="")
