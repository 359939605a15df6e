"""A container engine in memory: what runs in a container is a behaviour that a test writes.

Time is the fake clock's: a behaviour that pauses or hangs makes timeouts pass at once. It keeps the promises of the
engine port that the contract suite checks on a real engine too: volumes that can be full or read-only, memory-backed
ones that end with their last container, names that are taken, volumes in use, networks that are joined.
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import re
import tarfile
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from runner.core.canonical import sha256_digest
from runner.core.errors import EngineError, EngineGoneError
from runner.core.evidence import ContainerFacts, MountFacts
from runner.core.owner import RUN
from runner.ports.engine import EngineInfo, Entry, ImageFacts, Inspection, Owned
from tests.fakes.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.ports.engine import ContainerSpec, ImageBuild, Mount, TmpfsVolume

PATIENCE_S = 30.0
"""How long a call really waits for another thread before the test fails."""
NEVER = "0001-01-01T00:00:00Z"


@dataclass(frozen=True)
class Pause:
    """Nothing happens for so long."""

    ms: int


@dataclass(frozen=True)
class Hang:
    """Nothing happens until a signal comes; every timeout passes."""


class Gate:
    """Where a container really waits until another thread opens it or ends the container."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.is_open = False
        self._waiting: list[threading.Event] = []

    def open(self) -> None:
        self.is_open = True
        for waiting in self._waiting:
            waiting.set()

    def arrive(self, woken: threading.Event) -> None:
        self._waiting.append(woken)
        if self.is_open:
            woken.set()
        self.reached.set()


@dataclass(frozen=True)
class Exit:
    """How a container's process ends."""

    code: int = 0
    oom_killed: bool = False
    error: str = ""


Wait: TypeAlias = Pause | Hang | Gate
Script: TypeAlias = Generator[Wait, str | None, int | Exit]
Behaviour: TypeAlias = "Callable[[Box], int | Exit | Script]"
"""What a container does: it returns how it ends, or yields where it waits and is sent the signals that come."""


@dataclass(frozen=True)
class Fault:
    """Calls of `call` on something whose name ends in `of` fail: `times` of them, after the first `skip`."""

    call: str
    of: str = ""
    skip: int = 0
    times: int = 1
    message: str = "the engine refused"


@dataclass
class _Node:
    kind: str
    data: bytes = b""


@dataclass
class _Volume:
    labels: dict[str, str]
    tmpfs: TmpfsVolume | None
    nodes: dict[str, _Node] = field(default_factory=dict)

    def size(self) -> int:
        return sum(len(node.data) for node in self.nodes.values())


@dataclass
class _Container:
    identity: str
    spec: ContainerSpec
    own: dict[str, _Volume]
    """Its private tmpfs by destination."""
    running: bool = False
    end: Exit | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    script: Script | None = None
    waits: Wait | None = None
    left_ms: int = 0
    woken: threading.Event = field(default_factory=threading.Event)
    started_at: str = NEVER
    finished_at: str = NEVER


@dataclass(frozen=True)
class Box:
    """A running container, seen from inside."""

    engine: FakeEngine
    container: _Container

    @property
    def spec(self) -> ContainerSpec:
        return self.container.spec

    def read(self, path: str) -> bytes:
        volume, inside, _ = self.engine.place(self.container, path)
        node = volume.nodes.get(inside)
        if node is None or node.kind != "file":
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return node.data

    def write(self, path: str, data: bytes) -> None:
        """Raises OSError as the kernel would: read-only places, and volumes in memory that are full."""
        self._put(path, _Node("file", data))

    def make_link(self, path: str) -> None:
        self._put(path, _Node("link"))

    def names(self, path: str) -> list[str]:
        volume, inside, _ = self.engine.place(self.container, path)
        return sorted(name for name, node in volume.nodes.items() if node.kind == "file" and name.startswith(inside))

    def say(self, data: bytes) -> None:
        self.container.stdout += data

    def complain(self, data: bytes) -> None:
        self.container.stderr += data

    def tell(self, event: str, **more: object) -> None:
        self.say(json.dumps({"event": event, **more}).encode() + b"\n")

    def neighbour(self) -> Box | None:
        """The container whose network this one joined."""
        other = self.spec.network_of
        return None if other is None else Box(self.engine, self.engine.containers[other])

    def _put(self, path: str, node: _Node) -> None:
        volume, inside, read_only = self.engine.place(self.container, path)
        if read_only:
            raise OSError(errno.EROFS, "Read-only file system", path)
        limit = volume.tmpfs.size_bytes if volume.tmpfs is not None else None
        if limit is not None and volume.size() + len(node.data) > limit:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        _make_folders(volume, inside)
        volume.nodes[inside] = node


@dataclass
class FakeEngine:
    """The engine port; `behaviour_of` says what a container of a specification does."""

    behaviour_of: Callable[[ContainerSpec], Behaviour]
    clock: FakeClock = field(default_factory=FakeClock)
    faults: list[Fault] = field(default_factory=list)
    dies_at: int | None = None
    """From this call on, counted from 0, nothing answers until `revive`."""
    fails_at: int | None = None
    """This one call fails."""
    images: dict[str, ImageFacts] = field(default_factory=dict)
    contents: dict[str, list[bytes]] = field(default_factory=dict)
    """Configuration and layers of every image that was loaded, by its id."""
    image_files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Identity of an image -> what is in it, as far as a test looks: by path without the first slash."""
    builds: list[ImageBuild] = field(default_factory=list)
    """Everything that was built."""
    volumes: dict[str, _Volume] = field(default_factory=dict)
    containers: dict[str, _Container] = field(default_factory=dict)
    networks: dict[str, dict[str, str]] = field(default_factory=dict)
    """Labels by name."""
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Every call, and the name of what it was about."""
    specs: dict[str, ContainerSpec] = field(default_factory=dict)
    """Every container that was ever made, by name."""
    cpus: int = 2
    memory_bytes: int = 4 << 30
    _seen: dict[Fault, int] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _ticks: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def revive(self) -> None:
        self.dies_at = self.fails_at = None
        self.faults.clear()

    def info(self) -> EngineInfo:
        self._enter("info", "")
        return EngineInfo(
            address="fake://",
            name="Fake Engine",
            version="1.0",
            api_version="1.41",
            architecture="x86_64",
            kernel="6.1.0",
            storage_driver="overlay2",
            cgroup_version="2",
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
        )

    def load_images(self, chunks: Iterable[bytes]) -> None:
        self._enter("load_images", "")
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks)), mode="r:") as archive:
            for item in json.loads(_member(archive, "manifest.json")):
                config = json.loads(_member(archive, item["Config"]))
                identity = f"sha256:{item['Config'].rpartition('/')[2]}"
                facts = _facts_of(identity, config)
                self.images |= dict.fromkeys((identity, *item["RepoTags"]), facts)
                layers = [_member(archive, name) for name in item["Layers"]]
                self.contents[identity] = [_member(archive, item["Config"]), *layers]

    def save_image(self, reference: str) -> Iterator[bytes]:
        """In pieces that end where nothing else does, as a network's do."""
        self._enter("save_image", reference)
        facts = self.images.get(reference)
        if facts is None or facts.identity not in self.contents:
            raise EngineError(f"no such image: {reference}", document="fake engine")
        config, *layers = self.contents[facts.identity]
        names = [f"{number}/layer.tar" for number in range(len(layers))]
        tags = [name for name, known in self.images.items() if known == facts and name != facts.identity]
        manifest = json.dumps([{"Config": "config.json", "RepoTags": tags, "Layers": names}]).encode()
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            members = {**dict(zip(names, layers, strict=True)), "config.json": config, "manifest.json": manifest}
            for name, data in members.items():
                item = tarfile.TarInfo(name)
                item.size = len(data)
                archive.addfile(item, io.BytesIO(data))
        data = stream.getvalue()
        for start in range(0, len(data), 1000):
            yield data[start : start + 1000]

    def image(self, reference: str) -> ImageFacts | None:
        self._enter("image", reference)
        return self.images.get(reference)

    def build_image(self, build: ImageBuild) -> str:
        """The context as one more layer on the image that an argument names; a Dockerfile that says `FAIL` fails."""
        self._enter("build_image", build.tag)
        with tarfile.open(fileobj=io.BytesIO(build.context), mode="r:") as archive:
            dockerfile = _member(archive, build.dockerfile)
            files = {item.name: _member(archive, item.name) for item in archive if item.isreg()}
        if b"FAIL" in dockerfile:
            raise EngineError("a step failed; it printed last: it said why", document="image builder")
        self.builds.append(build)
        base = next((self.images[tag].identity for tag in build.arguments.values() if tag in self.images), "")
        config, *layers = self.contents.get(base, [b'{"architecture": "amd64", "config": {}, "os": "linux"}'])
        layers.append(build.context)
        declared = re.search(rb"^ENTRYPOINT (.*)$", dockerfile, re.MULTILINE)
        return self.add_image(
            build.tag,
            json.loads(config),
            layers,
            entrypoint=None if declared is None else json.loads(declared.group(1)),
            files={**self.image_files.get(base, {}), **files},
        )

    def add_image(
        self,
        tag: str,
        config: dict[str, Any],
        layers: list[bytes],
        *,
        entrypoint: list[str] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> str:
        """An image that nobody loaded, as a pull or a build brings one; its id is returned."""
        digests = [sha256_digest(layer) for layer in layers]
        config |= {"rootfs": {"type": "layers", "diff_ids": digests}}
        if entrypoint is not None:
            config["config"] = {**config["config"], "Entrypoint": entrypoint}
        data = json.dumps(config).encode()
        identity = sha256_digest(data)
        facts = _facts_of(identity, config)
        self.images |= dict.fromkeys((identity, tag), facts)
        self.contents[identity] = [data, *layers]
        self.image_files[identity] = dict(files or {})
        return identity

    def tag_image(self, reference: str, tag: str) -> None:
        self._enter("tag_image", tag)
        if reference not in self.images:
            raise EngineError(f"no such image: {reference}", document="fake engine")
        self.images[tag] = self.images[reference]

    def create_volume(self, name: str, labels: Mapping[str, str], tmpfs: TmpfsVolume | None = None) -> None:
        with self._lock:
            self._enter("create_volume", name)
            self.volumes.setdefault(name, _Volume(dict(labels), tmpfs))

    def remove_volume(self, name: str) -> None:
        with self._lock:
            self._enter("remove_volume", name)
            if any(name == mount.volume for held in self.containers.values() for mount in held.spec.mounts):
                raise EngineError(f"volume {name} is in use", document="fake engine")
            self.volumes.pop(name, None)

    def create_network(self, name: str, labels: Mapping[str, str]) -> None:
        with self._lock:
            self._enter("create_network", name)
            if name in self.networks:
                raise EngineError(f"the network {name} is there", document="fake engine")
            self.networks[name] = dict(labels)

    def remove_network(self, name: str) -> None:
        with self._lock:
            self._enter("remove_network", name)
            if any(held.spec.network == name for held in self.containers.values()):
                raise EngineError(f"network {name} has containers", document="fake engine")
            self.networks.pop(name, None)

    def create(self, spec: ContainerSpec) -> str:
        with self._lock:
            self._enter("create", spec.name)
            if spec.image not in self.images:
                raise EngineError(f"no such image: {spec.image}", document="fake engine")
            if any(held.spec.name == spec.name for held in self.containers.values()):
                raise EngineError(f"the name {spec.name} is taken", document="fake engine")
            if spec.network_of is not None and spec.network_of not in self.containers:
                raise EngineError(f"no such container: {spec.network_of}", document="fake engine")
            if spec.network is not None and spec.network not in self.networks:
                raise EngineError(f"no such network: {spec.network}", document="fake engine")
            for mount in spec.mounts:
                self.volumes.setdefault(mount.volume, _Volume({}, None))
            identity = f"{next(self._ids):064x}"
            self.containers[identity] = _Container(
                identity, spec, {item.destination: _Volume({}, None) for item in spec.tmpfs}
            )
            self.specs[spec.name] = spec
            return identity

    def start(self, container: str) -> None:
        with self._lock:
            held = self._held("start", container)
            self._begin(held)
            self._advance(held, 0, lambda: False)

    def start_until_ready(self, container: str, timeout_ms: int) -> bool:
        with self._lock:
            held = self._held("start_until_ready", container)
            self._begin(held)
            self._advance(held, timeout_ms, lambda: _said(held, 0, "ready"))
            if _said(held, 0, "ready"):
                return True
            self._end(held, Exit(137))
            return False

    def signal_until(self, container: str, signal: str, event: str, timeout_ms: int) -> bool:
        with self._lock:
            held = self._held("signal_until", container)
            if not held.running:
                raise EngineError(f"container {container} is not running", document="fake engine")
            before = len(held.stdout)
            held.waits = None
            self._resume(held, signal)
            self._advance(held, timeout_ms, lambda: _said(held, before, event))
            return _said(held, before, event)

    def put_tar(self, container: str, path: str, tar: bytes) -> None:
        with self._lock:
            held = self._held("put_tar", container)
            volume, inside, read_only = self.place(held, path)
            if read_only:
                raise EngineError(f"{path} is read-only", document="fake engine")
            if inside and inside not in volume.nodes:
                raise EngineError(f"there is no {path}", document="fake engine")
            with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
                for item in archive:
                    name = f"{inside}/{item.name}".strip("/")
                    stream = archive.extractfile(item) if item.isreg() else None
                    _make_folders(volume, name)
                    kind = "file" if stream else "directory" if item.isdir() else "link"
                    volume.nodes[name] = _Node(kind, stream.read() if stream else b"")

    def wait(self, container: str, timeout_ms: int) -> int | None:
        while True:
            with self._lock:
                held = self._held("wait", container)
                self._advance(held, timeout_ms, lambda: False)
                if not isinstance(held.waits, Gate) or not held.running:
                    return held.end.code if held.end is not None else None
                woken = held.woken
            if not woken.wait(PATIENCE_S):
                raise AssertionError(f"nobody opened the gate of {held.spec.name}")

    def kill(self, container: str) -> None:
        with self._lock:
            self._enter("kill", self._name(container))
            held = self.containers.get(container)
            if held is not None:
                self._end(held, Exit(137))

    def remove(self, container: str) -> None:
        with self._lock:
            self._enter("remove", self._name(container))
            held = self.containers.get(container)
            if held is not None:
                self._end(held, Exit(137))
                self.containers.pop(container)

    def inspect(self, container: str) -> Inspection:
        with self._lock:
            held = self._held("inspect", container)
            spec, end = held.spec, held.end
            mounts = [
                *(MountFacts(destination=m.destination, type="volume", read_only=m.read_only) for m in spec.mounts),
                *(MountFacts(destination=item.destination, type="tmpfs", read_only=False) for item in spec.tmpfs),
            ]
            facts = ContainerFacts(
                id=held.identity,
                image=self.images[spec.image].identity,
                network_mode=spec.network or "none" if spec.network_of is None else f"container:{spec.network_of}",
                read_only=True,
                user=spec.user,
                cap_add=spec.capabilities,
                cap_drop=("ALL",),
                security_opt=("no-new-privileges",),
                memory_bytes=spec.memory_bytes,
                pids_limit=spec.pids,
                nano_cpus=spec.cpus * 1_000_000_000,
                mounts=tuple(sorted(mounts, key=lambda item: item.destination)),
                exit_code=None if held.running else end.code if end is not None else 0,
                oom_killed=end is not None and end.oom_killed,
                error="" if end is None else end.error,
                started_at=held.started_at,
                finished_at=held.finished_at,
            )
            return Inspection(facts, held.running)

    def output(self, container: str, limit_bytes: int) -> bytes:
        with self._lock:
            return bytes(self._held("output", container).stdout[:limit_bytes])

    def complaints(self, container: str, limit_bytes: int) -> bytes:
        with self._lock:
            return bytes(self._held("complaints", container).stderr[:limit_bytes])

    def read_tree(self, container: str, path: str, limit_bytes: int) -> Iterator[Entry]:
        with self._lock:
            held = self._held("read_tree", container)
            volume, inside, _ = self.place(held, path)
            found = {
                name: node
                for name, node in sorted(volume.nodes.items())
                if not inside or name == inside or name.startswith(f"{inside}/")
            }
        if inside and not found:
            raise EngineError(f"there is no {path}", document="fake engine")
        top = path.rstrip("/").rpartition("/")[2]
        if not inside:
            yield Entry(top, "directory", None)
        left = limit_bytes
        for name, node in found.items():
            shown = f"{top}/{name.removeprefix(inside).lstrip('/')}".rstrip("/")
            left -= len(node.data)
            if left < 0:
                yield Entry(path, "other", None, f"more than {limit_bytes} bytes: nothing further was read")
                return
            match node.kind:
                case "file":
                    yield Entry(shown, "file", node.data)
                case "directory":
                    yield Entry(shown, "directory", None)
                case _:
                    yield Entry(shown, "other", None, "a link")

    def owned(self) -> tuple[Owned, ...]:
        with self._lock:
            self._enter("owned", "")
            return (
                *(
                    Owned("container", held.identity, dict(held.spec.labels))
                    for held in self.containers.values()
                    if RUN in held.spec.labels
                ),
                *(
                    Owned("volume", name, dict(volume.labels))
                    for name, volume in self.volumes.items()
                    if RUN in volume.labels
                ),
                *(Owned("network", name, dict(labels)) for name, labels in self.networks.items() if RUN in labels),
            )

    def place(self, held: _Container, path: str) -> tuple[_Volume, str, bool]:
        """The volume below `path`, the path inside of it, and whether it is read-only there."""
        places: dict[str, tuple[_Volume, bool]] = {
            mount.destination: (self.volumes[mount.volume], mount.read_only) for mount in held.spec.mounts
        }
        places |= {destination: (volume, False) for destination, volume in held.own.items()}
        for destination in sorted(places, key=len, reverse=True):
            if path == destination or path.startswith(f"{destination}/"):
                volume, read_only = places[destination]
                return volume, path[len(destination) :].strip("/"), read_only
        own = self.image_files.get(self.images[held.spec.image].identity, {})
        nodes = {name: _Node("file", data) for name, data in own.items()}
        return _Volume({}, None, nodes), path.strip("/"), True

    def lay_out(self, volume: str, files: Mapping[str, bytes]) -> None:
        """The volume holds `files`, as if a container had written them."""
        self.volumes[volume].nodes |= {name: _Node("file", data) for name, data in files.items()}

    def named(self, suffix: str) -> _Container:
        """The container whose name ends so, as long as it is there."""
        return next(held for held in self.containers.values() if held.spec.name.endswith(suffix))

    def _enter(self, call: str, name: str) -> None:
        with self._lock:
            number = len(self.calls)
            self.calls.append((call, name))
            if self.dies_at is not None and number >= self.dies_at:
                raise EngineGoneError("the engine does not answer", document="fake engine", key=call)
            if self.fails_at == number:
                raise EngineError("the engine does not answer", document="fake engine", key=call)
            for fault in self.faults:
                if fault.call == call and name.endswith(fault.of):
                    seen = self._seen.get(fault, 0)
                    self._seen[fault] = seen + 1
                    if fault.skip <= seen < fault.skip + fault.times:
                        raise EngineError(fault.message, document="fake engine", key=call)

    def _name(self, container: str) -> str:
        held = self.containers.get(container)
        return held.spec.name if held is not None else container

    def _held(self, call: str, container: str) -> _Container:
        self._enter(call, self._name(container))
        held = self.containers.get(container)
        if held is None:
            raise EngineError(f"no such container: {container}", document="fake engine", key=call)
        return held

    def _begin(self, held: _Container) -> None:
        other = held.spec.network_of
        if other is not None and (other not in self.containers or not self.containers[other].running):
            raise EngineError("can't join the network of a container that isn't running", document="fake engine")
        held.running, held.started_at = True, self._now()
        done = self.behaviour_of(held.spec)(Box(self, held))
        if isinstance(done, Generator):
            held.script = done
            self._resume(held, None)
        else:
            self._end(held, done)

    def _resume(self, held: _Container, signal: str | None) -> None:
        if held.script is None:
            return
        try:
            held.waits = held.script.send(signal)
        except StopIteration as stopped:
            self._end(held, stopped.value)
            return
        held.left_ms = held.waits.ms if isinstance(held.waits, Pause) else 0
        if isinstance(held.waits, Gate):
            held.woken.clear()
            held.waits.arrive(held.woken)

    def _advance(self, held: _Container, budget_ms: int, done: Callable[[], bool]) -> None:
        while held.running and not done():
            match held.waits:
                case Pause():
                    step = min(held.left_ms, budget_ms)
                    held.left_ms, budget_ms = held.left_ms - step, budget_ms - step
                    self.clock.advance(step)
                    if held.left_ms:
                        return
                    self._resume(held, None)
                case Gate():
                    if not held.waits.is_open:
                        return
                    self._resume(held, None)
                case _:
                    self.clock.advance(budget_ms)
                    return

    def _end(self, held: _Container, end: int | Exit) -> None:
        if not held.running:
            return
        held.running, held.end, held.finished_at = False, end if isinstance(end, Exit) else Exit(end), self._now()
        script, held.script = held.script, None
        if script is not None:
            script.close()
        held.woken.set()
        for mount in held.spec.mounts:
            volume = self.volumes[mount.volume]
            if volume.tmpfs is not None and not any(self._uses(other, mount) for other in self.containers.values()):
                volume.nodes.clear()

    def _uses(self, held: _Container, mount: Mount) -> bool:
        return held.running and any(mount.volume == own.volume for own in held.spec.mounts)

    def _now(self) -> str:
        return f"{self.clock.utc()[:19]}.{next(self._ticks):09}Z"


def _make_folders(volume: _Volume, name: str) -> None:
    parts = name.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        volume.nodes.setdefault("/".join(parts[:depth]), _Node("directory"))


def _said(held: _Container, start: int, event: str) -> bool:
    for line in bytes(held.stdout[start:]).split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("event") == event:
            return True
    return False


def _facts_of(identity: str, config: Mapping[str, Any]) -> ImageFacts:
    layers = tuple(config["rootfs"]["diff_ids"])
    return ImageFacts(identity, layers, str(config["architecture"]), str(config["os"]), config["config"])


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    try:
        stream = archive.extractfile(name)
    except KeyError:
        stream = None
    if stream is None:
        raise EngineError(f"the archive lacks {name}", document="fake engine")
    return stream.read()
