"""The container engine, as the stages see it: volumes, containers, bytes in and out, nothing of any SDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.core.evidence import ContainerFacts


@dataclass(frozen=True)
class EngineInfo:
    """What answers, and where it runs."""

    address: str
    name: str
    version: str
    api_version: str
    architecture: str
    kernel: str
    storage_driver: str
    cgroup_version: str
    cpus: int
    memory_bytes: int
    limits: Mapping[str, bool] = field(default_factory=dict)
    """Kind of limit that pods need -> whether the engine can set it."""


@dataclass(frozen=True)
class TmpfsVolume:
    """A volume in memory: it is there while a container that mounts it runs, and no longer."""

    size_bytes: int
    uid: int
    gid: int
    mode: str


@dataclass(frozen=True)
class Mount:
    """A named volume in a container."""

    volume: str
    destination: str
    read_only: bool


@dataclass(frozen=True)
class Tmpfs:
    """A private tmpfs in a container; it counts against the memory limit."""

    destination: str
    size_bytes: int
    uid: int
    gid: int
    mode: str


@dataclass(frozen=True)
class ContainerSpec:
    """A container with no network of its own, a read-only root and no privilege that isn't named here."""

    name: str
    image: str
    labels: Mapping[str, str]
    user: str
    memory_bytes: int
    pids: int
    cpus: int
    network_of: str | None = None
    """Id of the container whose network namespace it joins; None: loopback of its own and nothing else."""
    network: str | None = None
    """Name of a network that it is connected to; None: it isn't, and reaches nobody."""
    command: tuple[str, ...] | None = None
    """Arguments after the entrypoint; None: the image's own."""
    entrypoint: tuple[str, ...] | None = None
    groups: tuple[int, ...] = ()
    capabilities: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    tmpfs: tuple[Tmpfs, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Inspection:
    """A container as the engine describes it now."""

    facts: ContainerFacts
    running: bool


@dataclass(frozen=True)
class ImageFacts:
    """What the engine says of an image."""

    identity: str
    diff_ids: tuple[str, ...]
    architecture: str
    os: str = "linux"
    started: Mapping[str, object] = field(default_factory=dict, compare=False)
    """How its containers are started where nobody says otherwise, by the keys of an OCI configuration (`Env`, ...)."""


@dataclass(frozen=True)
class ImageBuild:
    """What an engine's builder is to make an image of."""

    context: bytes
    """A tar."""
    dockerfile: str
    """Its path in the context."""
    arguments: Mapping[str, str]
    """Values of the Dockerfile's `ARG`s."""
    tag: str
    """What the image is called then, besides its id."""


@dataclass(frozen=True)
class Entry:
    """One entry of a tar stream from a container; `data` is None for anything but a regular file."""

    name: str
    kind: Literal["file", "directory", "other"]
    data: bytes | None
    detail: str = ""


@dataclass(frozen=True)
class Owned:
    """Something in the engine that carries labels of ours."""

    kind: Literal["container", "volume", "network"]
    identity: str
    labels: Mapping[str, str]


class Engine(Protocol):
    """A container engine. Every method raises `EngineError` when the engine refuses or doesn't answer."""

    def info(self) -> EngineInfo:
        """The engine that answers."""

    def load_images(self, chunks: Iterable[bytes]) -> None:
        """The images of the archive that `chunks` make up are there."""

    def save_image(self, reference: str) -> Iterator[bytes]:
        """A tar as `docker save` makes it of the image: configuration, layers, and a manifest that leads to them."""

    def image(self, reference: str) -> ImageFacts | None:
        """The image, or None when the engine hasn't got it."""

    def build_image(self, build: ImageBuild) -> str:
        """The id of the image that the engine's own builder made; the error of a failed one has its last lines."""

    def tag_image(self, reference: str, tag: str) -> None:
        """The image goes by `tag` too, whatever did before."""

    def create_volume(self, name: str, labels: Mapping[str, str], tmpfs: TmpfsVolume | None = None) -> None:
        """An empty volume is there."""

    def remove_volume(self, name: str) -> None:
        """The volume is gone; one that wasn't there is no error."""

    def create_network(self, name: str, labels: Mapping[str, str]) -> None:
        """A network with a way out is there; its containers reach one another only where the engine can't help it."""

    def remove_network(self, name: str) -> None:
        """The network is gone; one that wasn't there is no error."""

    def create(self, spec: ContainerSpec) -> str:
        """A container is there, not yet started; its id is returned."""

    def start(self, container: str) -> None:
        """The container's process was started."""

    def start_until_ready(self, container: str, timeout_ms: int) -> bool:
        """The container was started; whether it said that it is ready in time. One that didn't is killed."""

    def signal_until(self, container: str, signal: str, event: str, timeout_ms: int) -> bool:
        """The signal was sent; whether the container printed a line with that `event` in time."""

    def put_tar(self, container: str, path: str, tar: bytes) -> None:
        """The entries of `tar` lie below `path`, which is in a writable volume of the container."""

    def wait(self, container: str, timeout_ms: int) -> int | None:
        """The exit code of the container, or None when it still runs after `timeout_ms`."""

    def kill(self, container: str) -> None:
        """SIGKILL was sent; a container that doesn't run is no error."""

    def remove(self, container: str) -> None:
        """The container is gone, running or not, there or not."""

    def inspect(self, container: str) -> Inspection:
        """What the engine says of the container now."""

    def output(self, container: str, limit_bytes: int) -> bytes:
        """What the container wrote to standard output, at most the first `limit_bytes`."""

    def complaints(self, container: str, limit_bytes: int) -> bytes:
        """What the container wrote to standard error, at most the first `limit_bytes`."""

    def read_tree(self, container: str, path: str, limit_bytes: int) -> Iterator[Entry]:
        """The entries below `path`, in the engine's order, until `limit_bytes` were read.

        What goes beyond is one last entry of kind `other`, whose detail says so; nothing behind it is read.
        """

    def owned(self) -> tuple[Owned, ...]:
        """Every container, volume and network that carries a label of ours; a network goes by its name."""
