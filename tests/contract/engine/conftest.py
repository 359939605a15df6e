"""The engines that the contract is checked with: the one in memory, and a real one through its API.

The image of the real one is named by PAIRBENCH_QDRANT_IMAGE; any with a `python3` serves.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from runner.adapters.docker_engine import DockerEngine
from runner.core.errors import EngineError
from runner.core.owner import RUN
from runner.ports.engine import ContainerSpec, Engine, ImageFacts, Mount, Tmpfs, TmpfsVolume
from tests.fakes.engine import Behaviour, FakeEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAKE_IMAGE = ImageFacts("sha256:" + "f" * 64, ("sha256:" + "d" * 64,), "amd64")


@dataclass(frozen=True)
class Program:
    """One program twice: as Python for a real container, and as a behaviour for the engine in memory."""

    source: str
    behaviour: Behaviour


@dataclass
class Bench:
    """An engine, and what a test made on it; all of it is gone at the end of the test."""

    engine: Engine
    image: str
    run: str
    programs: dict[tuple[str, ...], Behaviour]
    containers: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)

    @property
    def labels(self) -> dict[str, str]:
        return {RUN: self.run}

    def name(self, suffix: str) -> str:
        return f"pairbench-{self.run}-{suffix}"

    def volume(self, suffix: str, tmpfs: TmpfsVolume | None = None) -> str:
        name = self.name(suffix)
        self.volumes.append(name)
        self.engine.create_volume(name, self.labels, tmpfs)
        return name

    def network(self, suffix: str) -> str:
        name = self.name(suffix)
        self.networks.append(name)
        self.engine.create_network(name, self.labels)
        return name

    def container(
        self,
        program: Program,
        suffix: str = "box",
        *,
        mounts: tuple[Mount, ...] = (),
        tmpfs: tuple[Tmpfs, ...] = (),
        network_of: str | None = None,
        network: str | None = None,
        user: str = "0:0",
        capabilities: tuple[str, ...] = (),
    ) -> str:
        entrypoint = ("python3", "-c", program.source)
        self.programs[entrypoint] = program.behaviour
        made = self.engine.create(
            ContainerSpec(
                name=self.name(suffix),
                image=self.image,
                labels=self.labels,
                user=user,
                capabilities=capabilities,
                memory_bytes=128 << 20,
                pids=32,
                cpus=1,
                network_of=network_of,
                network=network,
                entrypoint=entrypoint,
                mounts=mounts,
                tmpfs=tmpfs,
            )
        )
        self.containers.append(made)
        return made

    def close(self) -> None:
        for container in reversed(self.containers):
            self.engine.remove(container)
        for volume in self.volumes:
            self.engine.remove_volume(volume)
        for network in self.networks:
            self.engine.remove_network(network)
        left = [item for item in self.engine.owned() if item.labels.get(RUN) == self.run]
        if left:
            raise EngineError(f"the test left {left}")


def _fake(_request: pytest.FixtureRequest) -> tuple[Engine, str, dict[tuple[str, ...], Behaviour]]:
    programs: dict[tuple[str, ...], Behaviour] = {}
    engine = FakeEngine(lambda spec: programs[spec.entrypoint or ()], images={"image": FAKE_IMAGE})
    return engine, "image", programs


def _docker(request: pytest.FixtureRequest) -> tuple[Engine, str, dict[tuple[str, ...], Behaviour]]:
    image = os.environ.get("PAIRBENCH_QDRANT_IMAGE")
    if not image:
        pytest.skip("PAIRBENCH_QDRANT_IMAGE doesn't name an image")
    return DockerEngine(request.getfixturevalue("engine_address")), image, {}


MAKERS: dict[str, Callable[[pytest.FixtureRequest], tuple[Engine, str, dict[tuple[str, ...], Behaviour]]]] = {
    "memory": _fake,
    "docker": _docker,
}


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.docker)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """One engine after the other."""
    engine, image, programs = MAKERS[request.param](request)
    made = Bench(engine, image, f"contract-{os.getpid()}", programs)
    try:
        yield made
    finally:
        made.close()
