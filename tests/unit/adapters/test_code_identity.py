"""Which code ran: one digest over every file of the package, whoever imported it before."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import runner
from runner.adapters.harness import installed_versions, package_sources, this_code, this_installation
from runner.archives.harness import harness_of, source_digest_of_wheel
from runner.core.canonical import sha256_digest
from runner.core.harness import pinned_versions

CODE = "from runner.adapters.harness import this_code; print(this_code().source_sha256)"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package, somewhere else."""
    shutil.copytree(Path(runner.__file__).parent, tmp_path / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def digest(folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_pin_says_version_digest_and_python() -> None:
    """What a lock holds of us."""
    pin = this_code()
    assert pin.version == runner.__version__
    assert pin.source_sha256.startswith("sha256:")
    assert pin.python == ".".join(map(str, sys.version_info[:3]))


def test_the_digest_follows_the_files_alone(copied: Path) -> None:
    """Neither the place nor what was compiled counts; a changed byte, a new file and a renamed one do."""
    first = digest(copied)
    (copied / "runner/core/__pycache__").mkdir(exist_ok=True)
    (copied / "runner/core/__pycache__/more.pyc").write_bytes(b"x")
    assert digest(copied) == first
    page = copied / "runner" / "publish" / "templates" / "report.css"
    page.write_bytes(page.read_bytes() + b" ")
    second = digest(copied)
    page.rename(page.with_name("report2.css"))
    third = digest(copied)
    assert len({first, second, third}) == 3


def test_the_installation_says_what_it_needs_in_the_versions_that_are_here() -> None:
    """Every distribution that is needed, also by another, with its hashes from the checkout; no address, no tool."""
    said = this_installation()
    versions = pinned_versions(said.requirements)
    assert {"numpy", "pydantic", "pydantic-core", "markupsafe", "h2"} <= set(versions)
    assert not {"pairbench", "pytest", "pyarrow", "colorama"} & set(versions)
    here = installed_versions()
    assert versions == {name: here[name] for name in versions}
    assert said.requirements.count(b"--hash=sha256:") > len(versions)
    assert b"://" not in said.requirements
    assert said.scripts == {"pairbench": "runner.cli:main"}
    assert any(line.startswith("pydantic") for line in said.requires)


def test_the_wheel_of_this_code_is_this_code() -> None:
    """Its digest is the lock's, as it was before runs kept their code; only what goes with it knows what it needs."""
    sources, installed = package_sources(), this_installation()
    made = harness_of(sources, installed)
    assert made.pin.requirements_sha256 == sha256_digest(installed.requirements)
    assert made.pin.model_copy(update={"requirements_sha256": ""}) == this_code(sources)
    assert source_digest_of_wheel(made.wheel) == made.pin.source_sha256


def test_pip_installs_the_wheel_and_the_command_is_there(tmp_path: Path) -> None:
    """Without an index; in an environment that has what it needs from elsewhere."""
    made = harness_of(package_sources(), this_installation())
    (tmp_path / made.wheel_name).write_bytes(made.wheel)
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    site = tmp_path / "venv" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    python = tmp_path / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", tmp_path / made.wheel_name], check=True)
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", "utf-8")
    command = tmp_path / "venv" / "bin" / "pairbench"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == f"pairbench, version {runner.__version__}\n"
    where = [str(python), "-c", "import runner; print(runner.__file__)"]
    found = subprocess.run(where, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout == f"{site / 'runner' / '__init__.py'}\n"
