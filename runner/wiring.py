"""The one file that names adapters: ports meet the real outside here and nowhere else."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

import runner
from runner.adapters.apt import AptPackages
from runner.adapters.base_images import EngineBaseImages
from runner.adapters.bytecode import ImageInterpreter
from runner.adapters.cache_use import CacheUse
from runner.adapters.disk import Disk
from runner.adapters.docker_engine import DockerEngine
from runner.adapters.engine_address import find_engine_address
from runner.adapters.git import GitRepositories
from runner.adapters.harness import installed_versions, package_sources, this_code, this_installation
from runner.adapters.host import host_facts
from runner.adapters.machine import SystemClock, SystemEntropy, is_alive, this_process
from runner.adapters.parquet import Parquet
from runner.adapters.programs import ThisInterpreter
from runner.adapters.provider_key import provider_key
from runner.adapters.registry import HttpRepository
from runner.adapters.registry_credentials import docker_credentials
from runner.adapters.signals import SignalInterrupts
from runner.adapters.slots import HostSlots
from runner.adapters.ssh_signatures import SshSignatures
from runner.adapters.vector_cache import VectorCache
from runner.adapters.wheels import PipWheels
from runner.archives.harness import harness_of
from runner.core.errors import EnvironmentNotReady
from runner.images.inputs import Build, Tools, host_arch
from runner.images.store import Store
from runner.pipeline.world import Places, World

__all__ = [
    "machine_facts",
    "make_files",
    "make_frames",
    "make_programs",
    "make_world",
    "repository",
    "runs_folder",
    "this_code",
]

if TYPE_CHECKING:
    from runner.core.doctor import HostFacts
    from runner.ports.engine import Engine
    from runner.ports.files import Files
    from runner.ports.frames import Frames
    from runner.ports.programs import Programs
    from runner.ports.progress import Progress
    from runner.ports.registry import Place, Repository


def make_world(progress: Progress) -> World:
    """The real outside of this installation and this working folder."""
    places = _places()
    # Read once: what a run is said to be of, and what goes with it, are the same files.
    sources = package_sources()
    build = Build(
        images_dir=places.images,
        store=Store(places.cache / "images"),
        tools=Tools(
            packages=AptPackages(places.cache / "images" / "apt"),
            wheels=PipWheels(),
            bytecode=ImageInterpreter(),
            base_images=EngineBaseImages(lambda: find_engine_address(os.environ, places.cache)),
        ),
        arch=host_arch(),
        say=progress.step,
    )
    return World(
        engine=functools.cache(functools.partial(_engine, places.cache)),
        files=Disk(),
        clock=SystemClock(),
        entropy=SystemEntropy(),
        vectors=VectorCache(places.cache / "vectors.sqlite"),
        repositories=GitRepositories(),
        slots=HostSlots(places.cache / "slots"),
        build=build,
        progress=progress,
        interrupts=SignalInterrupts(),
        owner=this_process(),
        lives=is_alive,
        harness=this_code(sources),
        places=places,
        # A descriptor can be read once only.
        provider_key=functools.cache(functools.partial(provider_key, os.environ)),
        sources=lambda: sources,
        versions=functools.cache(installed_versions),
        code=functools.cache(lambda: harness_of(sources, this_installation())),
        signatures=SshSignatures(),
        alone=_use_of(places.cache).alone,
    )


def make_files() -> Files:
    """The real file system."""
    return Disk()


def make_frames() -> Frames:
    """What writes tables for data frames; it needs the extra `parquet`."""
    return Parquet()


def repository(place: Place, *, plain_http: bool) -> Repository:
    """A repository of a registry, with the credentials that Docker's configuration holds for it."""
    return HttpRepository(place, docker_credentials, plain_http=plain_http)


def make_programs() -> Programs:
    """What runs other versions of this program."""
    return ThisInterpreter()


def runs_folder() -> Path:
    """Where runs lie."""
    return _places().runs


def machine_facts() -> HostFacts:
    """What this machine has."""
    return host_facts(_places().cache, os.environ)


@functools.cache
def _use_of(cache: Path) -> CacheUse:
    """This process's use of the cache: one, however many worlds it makes."""
    return CacheUse(cache)


def _places() -> Places:
    root = Path(runner.__file__).resolve().parent.parent
    if not (root / "images").is_dir():
        root = Path.cwd()
    cache = Path(os.environ.get("PAIRBENCH_CACHE") or root / ".cache")
    return Places(images=root / "images", cache=cache, runs=Path.cwd() / "runs")


def _engine(cache: Path) -> Engine:
    address = find_engine_address(os.environ, cache)
    if address is None:
        raise EnvironmentNotReady(
            "no container engine answers", document="container engine", hint="run `make engine`, or set DOCKER_HOST"
        )
    return DockerEngine(address)
