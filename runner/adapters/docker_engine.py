"""The Docker Engine API behind the engine port, through the Docker SDK's low-level client.

Every call is one HTTP request on the engine's socket: no command line client, no Compose. The version is negotiated.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tarfile
import threading
from typing import IO, TYPE_CHECKING, Any, cast

import docker
import docker.errors
import docker.utils.socket
import requests

from runner.adapters.engine_address import fault_of
from runner.adapters.engine_kinds import architecture_of, bounds_tmpfs
from runner.adapters.image_builder import built, default_builder
from runner.core.errors import EngineError, EngineGoneError
from runner.core.evidence import ContainerFacts, MountFacts
from runner.ports.engine import EngineInfo, Entry, ImageFacts, Inspection, Owned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.ports.engine import ContainerSpec, ImageBuild, TmpfsVolume

LABEL_PREFIX = "pairbench."
_LIMITS = {"memory": "MemoryLimit", "processes": "PidsLimit", "CPU time": "CpuCfsQuota"}
_HINT = "start that engine; or leave DOCKER_HOST unset and run `make engine`"
_RUN_LABEL = "pairbench.run"
_CALL_TIMEOUT_S = 60
# Any will do to ask an engine for its own, which is asked without a version.
_ANY_VERSION = "1.41"
# An engine says nothing while it unpacks or collects a gigabyte of image: a minute of silence is no fault yet.
_LOAD_TIMEOUT_S = 600
_READY_LINE_BYTES = 65536
_CHUNK_BYTES = 1 << 16
_PIECE_BYTES = 1 << 20
_BYTES_A_FILE = 1024
_NOT_FOUND = 404
_CONFLICT = 409


class DockerEngine:
    """An engine that speaks the Docker Engine API at `address` (`unix://…` or `tcp://…`)."""

    def __init__(self, address: str) -> None:
        """Negotiate a version with the engine; raises `EngineError` when none answers."""
        self._address = address
        fault = fault_of(address, os.environ)
        if fault:
            # Asked here, because the SDK leaves a socket open that couldn't connect.
            raise EngineError(fault, document="container engine", key=address, hint=_HINT)
        with _translated("connect"):
            _knock(address)
            # `version="auto"` asks too, and keeps a connection that nobody can close when the engine doesn't answer.
            stranger = docker.APIClient(base_url=address, version=_ANY_VERSION, timeout=_CALL_TIMEOUT_S)
            with contextlib.closing(stranger):
                version = str(stranger.version(api_version=False)["ApiVersion"])
            self._api = docker.APIClient(base_url=address, version=version, timeout=_CALL_TIMEOUT_S, num_pools=32)

    def info(self) -> EngineInfo:
        """The engine that answers."""
        with _translated("info"):
            info = self._api.info()
            version = self._api.version()
        return EngineInfo(
            address=self._address,
            name=str(version.get("Platform", {}).get("Name") or "Docker Engine"),
            version=str(version["Version"]),
            api_version=str(version["ApiVersion"]),
            architecture=architecture_of(info),
            kernel=str(info["KernelVersion"]),
            storage_driver=str(info["Driver"]),
            cgroup_version=str(info.get("CgroupVersion", "")),
            cpus=int(info["NCPU"]),
            memory_bytes=int(info["MemTotal"]),
            limits={
                **{name: bool(info.get(key)) for name, key in _LIMITS.items()},
                "the files of a tmpfs": bounds_tmpfs(version),
            },
        )

    def load_images(self, chunks: Iterable[bytes]) -> None:
        """The images of the archive that `chunks` make up are there."""
        with _translated("load images"):
            response = self._api.post(
                self._api._url("/images/load"),  # noqa: SLF001 - load_image of the SDK takes no iterator of bytes
                data=iter(chunks),
                params={"quiet": True},
                stream=True,
                timeout=_LOAD_TIMEOUT_S,
            )
            self._api._raise_for_status(response)  # noqa: SLF001 - the SDK's own translation of an error body
            for line in response.iter_lines():
                answer = json.loads(line)
                if "error" in answer:
                    raise EngineError(str(answer["error"]), document="load images")

    def save_image(self, reference: str) -> Iterator[bytes]:
        """A tar as `docker save` makes it of the image: configuration, layers, and a manifest that leads to them."""
        with (
            _translated(f"save {reference}"),
            self._opened("GET", "/images/get", {"names": reference}, _LOAD_TIMEOUT_S) as response,
        ):
            yield from response.iter_content(_PIECE_BYTES, decode_unicode=False)

    def image(self, reference: str) -> ImageFacts | None:
        """The image, or None when the engine hasn't got it."""
        with _translated("inspect image"):
            try:
                facts = self._api.inspect_image(reference)
            except docker.errors.ImageNotFound:
                return None
        return ImageFacts(
            identity=str(facts["Id"]),
            diff_ids=tuple(facts["RootFS"].get("Layers") or ()),
            architecture=str(facts["Architecture"]),
            os=str(facts["Os"]),
            started=facts.get("Config") or {},
        )

    def build_image(self, build: ImageBuild) -> str:
        """The id of the image that the engine's own builder made; the error of a failed one has its last lines."""
        with _translated(f"build {build.dockerfile}"):
            return built(self._api, build, default_builder(self._api))

    def tag_image(self, reference: str, tag: str) -> None:
        """The image goes by `tag` too, whatever did before."""
        repository, _, name = tag.rpartition(":")
        with _translated(f"tag {reference}"):
            self._api.tag(reference, repository, name, force=True)

    def create_volume(self, name: str, labels: Mapping[str, str], tmpfs: TmpfsVolume | None = None) -> None:
        """An empty volume is there."""
        options = None
        if tmpfs is not None:
            place = f"size={tmpfs.size_bytes},uid={tmpfs.uid},gid={tmpfs.gid},mode={tmpfs.mode}"
            options = {"type": "tmpfs", "device": "tmpfs", "o": place}
        with _translated(f"create volume {name}"):
            self._api.create_volume(name, driver="local", driver_opts=options, labels=dict(labels))

    def remove_volume(self, name: str) -> None:
        """The volume is gone; one that wasn't there is no error."""
        with _translated(f"remove volume {name}"), contextlib.suppress(docker.errors.NotFound):
            self._api.remove_volume(name)

    def create_network(self, name: str, labels: Mapping[str, str]) -> None:
        """A network with a way out is there; its containers reach one another only where the engine can't help it."""
        options = {"com.docker.network.bridge.enable_icc": "false"}
        with _translated(f"create network {name}"):
            self._api.create_network(name, driver="bridge", options=options, labels=dict(labels), check_duplicate=True)

    def remove_network(self, name: str) -> None:
        """The network is gone; one that wasn't there is no error."""
        with _translated(f"remove network {name}"), contextlib.suppress(docker.errors.NotFound):
            self._api.remove_network(name)

    def create(self, spec: ContainerSpec) -> str:
        """A container is there, not yet started; its id is returned."""
        mounts = [
            docker.types.Mount(item.destination, item.volume, type="volume", read_only=item.read_only, no_copy=True)
            for item in spec.mounts
        ]
        tmpfs = {
            # A file without content takes memory of the kernel's and no room: their number is bounded too.
            item.destination: f"rw,nosuid,nodev,size={item.size_bytes},nr_inodes={item.size_bytes // _BYTES_A_FILE},"
            f"uid={item.uid},gid={item.gid},mode={item.mode}"
            for item in spec.tmpfs
        }
        with _translated(f"create {spec.name}"):
            host = self._api.create_host_config(
                network_mode=_network_mode(spec),
                read_only=True,
                cap_drop=["ALL"],
                cap_add=list(spec.capabilities) or None,
                security_opt=["no-new-privileges"],
                mem_limit=spec.memory_bytes,
                memswap_limit=spec.memory_bytes,
                pids_limit=spec.pids,
                nano_cpus=spec.cpus * 1_000_000_000,
                mounts=mounts,
                tmpfs=tmpfs,
                group_add=[str(group) for group in spec.groups] or None,
                log_config=docker.types.LogConfig(type="json-file", config={"max-size": "64m", "max-file": "1"}),
            )
            answer = self._api.create_container(
                spec.image,
                command=None if spec.command is None else list(spec.command),
                entrypoint=None if spec.entrypoint is None else list(spec.entrypoint),
                # A shared network namespace shares the host name; elsewhere it is set, so that no arm shows in it.
                hostname=None if spec.network_of else "pod",
                user=spec.user,
                environment=dict(spec.environment),
                labels=dict(spec.labels),
                name=spec.name,
                host_config=host,
                # The proxy of its user's own configuration, often with a password, is nothing that a pod may know.
                use_config_proxy=False,
            )
        return str(answer["Id"])

    def start(self, container: str) -> None:
        """The container's process was started."""
        with _translated("start"):
            self._api.start(container)

    def start_until_ready(self, container: str, timeout_ms: int) -> bool:
        """The container was started; whether it said that it is ready in time. One that didn't is killed."""
        with self._attached(container) as output:
            self.start(container)
            if output.says("ready", timeout_ms):
                return True
        self.kill(container)
        return False

    def signal_until(self, container: str, signal: str, event: str, timeout_ms: int) -> bool:
        """The signal was sent; whether the container printed a line with that `event` in time."""
        with self._attached(container) as output:
            with _translated(f"signal {signal}"):
                self._api.kill(container, signal=signal)
            return output.says(event, timeout_ms)

    def put_tar(self, container: str, path: str, tar: bytes) -> None:
        """The entries of `tar` lie below `path`, which is in a writable volume of the container."""
        with _translated(f"put files into {path}"):
            self._api.put_archive(container, path, tar)

    def wait(self, container: str, timeout_ms: int) -> int | None:
        """The exit code of the container, or None when it still runs after `timeout_ms`."""
        try:
            with _translated("wait"):
                return int(self._api.wait(container, timeout=timeout_ms / 1000)["StatusCode"])
        except EngineError as error:
            if isinstance(error.__cause__, requests.exceptions.Timeout | requests.exceptions.ConnectionError) and (
                "timed out" in str(error.__cause__).lower()
            ):
                return None
            raise

    def kill(self, container: str) -> None:
        """SIGKILL was sent; a container that doesn't run is no error."""
        with _translated("kill"):
            try:
                self._api.kill(container)
            except docker.errors.APIError as error:
                # Docker 20.10 says 409 for a container that doesn't run; older ones and others say 500.
                if error.status_code not in (_NOT_FOUND, _CONFLICT) and "not running" not in str(error):
                    raise

    def remove(self, container: str) -> None:
        """The container is gone, running or not, there or not."""
        with _translated("remove"), contextlib.suppress(docker.errors.NotFound):
            try:
                # `v`: volumes without a name, which a foreign image may declare, go with their container.
                self._api.remove_container(container, force=True, v=True)
            except docker.errors.APIError as error:
                if error.status_code != _CONFLICT or "already in progress" not in str(error):
                    raise
                self._api.wait(container, condition="removed")

    def inspect(self, container: str) -> Inspection:
        """What the engine says of the container now."""
        with _translated("inspect"):
            facts = self._api.inspect_container(container)
        return _inspection(facts)

    def output(self, container: str, limit_bytes: int) -> bytes:
        """What the container wrote to standard output, at most the first `limit_bytes`."""
        return self._written(container, "stdout", limit_bytes)

    def complaints(self, container: str, limit_bytes: int) -> bytes:
        """What the container wrote to standard error, at most the first `limit_bytes`."""
        return self._written(container, "stderr", limit_bytes)

    def _written(self, container: str, stream: str, limit_bytes: int) -> bytes:
        found = bytearray()
        with (
            _translated("read output"),
            self._opened("GET", f"/containers/{container}/logs", {stream: 1}) as response,
        ):
            for chunk in self._api._multiplexed_response_stream_helper(response):  # noqa: SLF001 - as `logs` of the SDK
                found += chunk
                if len(found) >= limit_bytes:
                    break
        return bytes(found[:limit_bytes])

    def read_tree(self, container: str, path: str, limit_bytes: int) -> Iterator[Entry]:
        """The entries below `path`, in the engine's order, until `limit_bytes` were read; the rest is refused."""
        with (
            _translated(f"read {path}"),
            self._opened("GET", f"/containers/{container}/archive", {"path": path}) as response,
        ):
            stream = _Chunks(response.iter_content(_CHUNK_BYTES, decode_unicode=False), limit_bytes)
            try:
                with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as tar:
                    for item in tar:
                        yield _entry(tar, item)
            except _LimitReachedError:
                yield Entry(path, "other", None, f"more than {limit_bytes} bytes: nothing further was read")
            except (tarfile.TarError, EOFError) as error:
                raise EngineError(f"the stream of {path} broke: {error}") from error

    def owned(self) -> tuple[Owned, ...]:
        """Every container, volume and network that carries a label of ours; a network goes by its name."""
        with _translated("list what is ours"):
            containers = self._api.containers(all=True, filters={"label": _RUN_LABEL})
            volumes = self._api.volumes(filters={"label": _RUN_LABEL}).get("Volumes") or ()
            networks = self._api.networks(filters={"label": _RUN_LABEL})
        return (
            *(Owned("container", str(item["Id"]), dict(item.get("Labels") or {})) for item in containers),
            *(Owned("volume", str(item["Name"]), dict(item.get("Labels") or {})) for item in volumes),
            *(Owned("network", str(item["Name"]), dict(item.get("Labels") or {})) for item in networks),
        )

    @contextlib.contextmanager
    def _attached(self, container: str) -> Iterator[_Output]:
        """The container's output from now on; nothing of it can be missed."""
        parameters = {"stdout": 1, "stderr": 0, "stream": 1, "logs": 0}
        with _translated("attach"), self._opened("POST", f"/containers/{container}/attach", parameters) as response:
            channel = self._api._get_raw_response_socket(response)  # noqa: SLF001 - as `attach` of the SDK
            yield _Output(channel, (data for _, data in docker.utils.socket.frames_iter(channel, tty=False)))

    @contextlib.contextmanager
    def _opened(
        self, method: str, path: str, parameters: Mapping[str, str | int], timeout_s: int = _CALL_TIMEOUT_S
    ) -> Iterator[Any]:
        """A response whose body is read piece by piece; its connection is given back at the end, read or not.

        The SDK's own streams keep theirs until they are collected as garbage.
        """
        headers = {"Connection": "Upgrade", "Upgrade": "tcp"} if method == "POST" else {}
        response = self._api.request(
            method,
            self._api._url(path),  # noqa: SLF001 - the negotiated version stands in it
            params=parameters,
            headers=headers,
            stream=True,
            timeout=timeout_s,
        )
        try:
            self._api._raise_for_status(response)  # noqa: SLF001 - the SDK's own translation of an error body
            yield response
        finally:
            response.close()


def _knock(address: str) -> None:
    """Somebody listens at `address`, if that is a socket of this machine; the SDK leaves its own open otherwise."""
    kind, _, path = address.partition("://")
    if kind == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
            visitor.settimeout(_CALL_TIMEOUT_S)
            visitor.connect(path)


def _network_mode(spec: ContainerSpec) -> str:
    if spec.network_of is not None:
        return f"container:{spec.network_of}"
    return "none" if spec.network is None else spec.network


class _Output:
    """What a container prints, as it comes."""

    def __init__(self, channel: Any, chunks: Iterator[bytes]) -> None:
        self._channel = channel
        self._chunks = chunks

    def says(self, event: str, timeout_ms: int) -> bool:
        """Whether a line with that `event` came in time, and before the container ended."""
        watchdog = threading.Timer(timeout_ms / 1000, self._cut)
        watchdog.start()
        try:
            return _found(self._chunks, event)
        finally:
            watchdog.cancel()
            watchdog.join()

    def _cut(self) -> None:
        """Whoever reads meets the end."""
        with contextlib.suppress(OSError):
            getattr(self._channel, "_sock", self._channel).shutdown(socket.SHUT_RDWR)


class _LimitReachedError(Exception):
    """More comes than is to be read."""


class _Chunks:
    """A bounded file over an iterator of chunks, for tarfile's stream mode."""

    def __init__(self, chunks: Iterator[bytes], limit_bytes: int) -> None:
        self._chunks = chunks
        self._rest = b""
        self._left = limit_bytes

    def read(self, size: int) -> bytes:
        while len(self._rest) < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._left -= len(chunk)
            if self._left < 0:
                raise _LimitReachedError
            self._rest += chunk
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


def _entry(tar: tarfile.TarFile, item: tarfile.TarInfo) -> Entry:
    if item.isreg() and not item.issparse():
        return Entry(item.name, "file", _content(tar, item))
    if item.isdir():
        return Entry(item.name, "directory", None)
    return Entry(item.name, "other", None, f"tar entry type {item.type!r}")


def _content(tar: tarfile.TarFile, item: tarfile.TarInfo) -> bytes:
    """The bytes of a regular file; a large one is in memory once, and not a second time in pieces."""
    whole = io.BytesIO()
    stream = tar.extractfile(item)
    while stream is not None and (piece := stream.read(_PIECE_BYTES)):
        whole.write(piece)
    return whole.getvalue()


def _found(chunks: Iterator[bytes], event: str) -> bool:
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        *lines, buffer = buffer.split(b"\n")
        if any(_says(line, event) for line in lines):
            return True
        buffer = buffer[-_READY_LINE_BYTES:]
    return False


def _says(line: bytes, event: str) -> bool:
    try:
        value = json.loads(line)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("event") == event


def _inspection(facts: Mapping[str, Any]) -> Inspection:
    state, host, config = facts["State"], facts["HostConfig"], facts["Config"]
    running = bool(state["Running"])
    tmpfs = [MountFacts(destination=path, type="tmpfs", read_only=False) for path in host.get("Tmpfs") or {}]
    mounts = [
        MountFacts(destination=item["Destination"], type=item["Type"], read_only=not item["RW"])
        for item in facts["Mounts"]
    ]
    return Inspection(
        facts=ContainerFacts(
            id=str(facts["Id"]),
            image=str(facts["Image"]),
            network_mode=str(host["NetworkMode"]),
            read_only=bool(host["ReadonlyRootfs"]),
            user=str(config.get("User") or ""),
            cap_add=tuple(host.get("CapAdd") or ()),
            cap_drop=tuple(host.get("CapDrop") or ()),
            security_opt=tuple(host.get("SecurityOpt") or ()),
            memory_bytes=int(host.get("Memory") or 0),
            pids_limit=int(host.get("PidsLimit") or 0),
            nano_cpus=int(host.get("NanoCpus") or 0),
            mounts=tuple(sorted((*mounts, *tmpfs), key=lambda item: item.destination)),
            environment=tuple(sorted(item.partition("=")[0] for item in config.get("Env") or ())),
            exit_code=None if running else int(state["ExitCode"]),
            oom_killed=bool(state["OOMKilled"]),
            error=str(state.get("Error") or ""),
            started_at=str(state["StartedAt"]),
            finished_at=str(state["FinishedAt"]),
        ),
        running=running,
    )


@contextlib.contextmanager
def _translated(doing: str) -> Iterator[None]:
    """Whatever the SDK or its transport raises becomes one of our errors, with the engine's own words."""
    try:
        yield
    except docker.errors.APIError as error:
        raise EngineError(str(error.explanation or error), document="container engine", key=doing) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        kind = EngineGoneError if _found_nobody(error) else EngineError
        raise kind(str(error), document="container engine", key=doing, hint=_HINT) from error


def _found_nobody(error: Exception) -> bool:
    """Whether a connection was refused or broke off: a busy engine is slow to answer, and a dead one isn't there."""
    slow = isinstance(error, requests.exceptions.Timeout | TimeoutError) or "timed out" in str(error).lower()
    return isinstance(error, requests.exceptions.ConnectionError | OSError) and not slow
