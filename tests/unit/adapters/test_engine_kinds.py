"""Podman answers as Docker does, and is told from it where that matters."""

from __future__ import annotations

import pytest

from runner.adapters.engine_kinds import architecture_of, bounds_tmpfs

# As Docker 20.10 and Podman 4.3 answer.
DOCKER = {"Platform": {"Name": ""}, "Components": [{"Name": "Engine"}, {"Name": "containerd"}], "ApiVersion": "1.41"}
PODMAN = {"Platform": {"Name": "linux/amd64/debian-12"}, "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}


def test_podman_is_told_from_docker() -> None:
    """By its component; an engine without any is taken for Docker's."""
    assert bounds_tmpfs(DOCKER)
    assert bounds_tmpfs({"Version": "1"})
    assert not bounds_tmpfs(PODMAN)


@pytest.mark.parametrize(
    ("said", "name"),
    [("x86_64", "x86_64"), ("amd64", "x86_64"), ("arm64", "aarch64"), ("aarch64", "aarch64"), ("s390x", "s390x")],
)
def test_an_architecture_has_one_name(said: str, name: str) -> None:
    """A run on one engine and its rerun on another are on the same architecture."""
    assert architecture_of({"Architecture": said}) == name


def test_an_engine_must_say_its_architecture() -> None:
    """Nothing is assumed."""
    with pytest.raises(KeyError):
        architecture_of({})
