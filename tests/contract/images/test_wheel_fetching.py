"""Whoever brings wheels keeps the same promises: a fake in memory, and pip on this machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from runner.adapters.wheels import PipWheels
from runner.core.canonical import Digest
from runner.core.errors import EnvironmentNotReady
from runner.ports.fetching import Requirement, Wheel
from tests.fakes.image_tools import FakeIndex, wheel

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.fetching import WheelFetcher

H11 = Wheel(
    "h11",
    "0.16.0",
    "h11-0.16.0-py3-none-any.whl",
    Digest("sha256:63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86"),
)


@dataclass
class Case:
    """A fetcher, one wheel that it has, and a distribution that needs another."""

    fetcher: WheelFetcher
    alone: Wheel
    needing: Requirement
    needed: str


@pytest.fixture(params=["fake", pytest.param("pip", marks=pytest.mark.slow)])
def case(request: pytest.FixtureRequest) -> Case:
    if request.param == "pip":
        return Case(PipWheels(), H11, Requirement("anyio", "4.16.0", dependencies=True), "idna")
    index = FakeIndex({"one": ("1.0", (), wheel({"one.py": b""})), "two": ("2.0", ("one",), wheel({"two.py": b"2"}))})
    return Case(index, index.wheel("one"), Requirement("two", "2.0", dependencies=True), "one")


def test_a_pinned_wheel_is_described(case: Case) -> None:
    """A requirement alone is one wheel, with its file's name and digest."""
    wanted = [Requirement(case.alone.name, case.alone.version)]
    assert case.fetcher.closure(wanted, python="3.11", arch="amd64") == (case.alone,)


def test_dependencies_come_only_where_they_are_asked_for(case: Case) -> None:
    """The same distribution with and without what it needs."""
    wheels = case.fetcher.closure([case.needing], python="3.11", arch="amd64")
    assert {case.needing.name, case.needed} <= {item.name for item in wheels}
    alone = replace(case.needing, dependencies=False)
    assert [item.name for item in case.fetcher.closure([alone], python="3.11", arch="amd64")] == [alone.name]


def test_a_version_that_nobody_has_is_refused(case: Case) -> None:
    """A wheel that isn't there ends in one error that this machine isn't ready."""
    with pytest.raises(EnvironmentNotReady, match=case.alone.name):
        case.fetcher.closure([Requirement(case.alone.name, "99.99")], python="3.11", arch="amd64")


def test_downloads_are_what_was_described(case: Case, tmp_path: Path) -> None:
    """The file stands under its own name, has the digest, and is all that there is."""
    case.fetcher.download([case.alone], tmp_path, python="3.11", arch="amd64")
    assert [path.name for path in tmp_path.iterdir()] == [case.alone.file]
    digest = hashlib.sha256((tmp_path / case.alone.file).read_bytes()).hexdigest()
    assert f"sha256:{digest}" == case.alone.sha256


def test_another_digest_is_refused(case: Case, tmp_path: Path) -> None:
    """A wheel whose digest isn't the one that was asked for isn't brought."""
    forged = replace(case.alone, sha256=Digest("sha256:" + "0" * 64))
    with pytest.raises(EnvironmentNotReady):
        case.fetcher.download([forged], tmp_path, python="3.11", arch="amd64")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_wheels_of_another_machine_are_found() -> None:
    """Locks for aarch64 are made on x86-64: the wheels are that machine's."""
    (found,) = PipWheels().closure([Requirement("tokenizers", "0.23.3")], python="3.11", arch="arm64")
    assert found.file.endswith("aarch64.whl")


def test_an_interpreter_without_pip_is_told() -> None:
    """A missing program is an environment that isn't ready, never a traceback."""
    with pytest.raises(EnvironmentNotReady, match="pip can't be run"):
        PipWheels("/nowhere/python").closure([Requirement("h11", "0.16.0")], python="3.11", arch="amd64")
