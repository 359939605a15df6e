"""Registries for tests: one in memory behind the port, and a server on loopback that answers as a test says."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, TypeAlias

from runner.core.canonical import Digest, sha256_digest
from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.ports.registry import Place


@dataclass
class MemoryRegistry:
    """Every repository of one registry; what it was asked is in `calls`."""

    blobs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    tags: dict[tuple[str, str], str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    mounts: bool = True

    def repository(self, place: Place) -> MemoryRepository:
        return MemoryRepository(self, place)


@dataclass
class MemoryRepository:
    """One of them."""

    registry: MemoryRegistry
    place: Place

    def close(self) -> None:
        """Nothing is open."""

    def has_blob(self, digest: Digest, size_bytes: int) -> bool:
        del size_bytes
        return (self.place.name, digest) in self.registry.blobs

    def mount_blob(self, digest: Digest, source: Place) -> bool:
        found = self.registry.blobs.get((source.name, digest))
        if source.host != self.place.host or found is None or not self.registry.mounts:
            return False
        self.registry.calls.append(f"mount {self.place.last} from {source.last}")
        self.registry.blobs[self.place.name, digest] = found
        return True

    def put_blob(self, digest: Digest, size_bytes: int, chunks: Callable[[], Iterator[bytes]]) -> None:
        data = b"".join(chunks())
        if sha256_digest(data) != digest or len(data) != size_bytes:
            raise EnvironmentNotReady("the registry answers 400: DIGEST_INVALID", document=str(self.place))
        self.registry.calls.append(f"put {self.place.last}")
        self.registry.blobs[self.place.name, digest] = data

    def blob(self, digest: Digest, size_bytes: int) -> Iterator[bytes]:
        del size_bytes
        self.registry.calls.append(f"get {self.place.last}")
        data = self.registry.blobs.get((self.place.name, digest))
        if data is None:
            raise EnvironmentNotReady("the registry answers 404: BLOB_UNKNOWN", document=str(self.place))
        # In two pieces, as a network gives them.
        yield data[: len(data) // 2]
        yield data[len(data) // 2 :]

    def put_manifest(self, data: bytes, tag: str) -> None:
        self.registry.manifests[self.place.name, sha256_digest(data)] = data
        self.registry.tags[self.place.name, tag] = sha256_digest(data)

    def manifest(self, digest: Digest) -> bytes:
        data = self.registry.manifests.get((self.place.name, digest))
        if data is None:
            raise EnvironmentNotReady("the registry answers 404: MANIFEST_UNKNOWN", document=str(self.place))
        return data


@dataclass(frozen=True)
class Request:
    """What came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By names in small letters."""
    body: bytes

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def authorization(self) -> str:
        return self.headers.get("authorization", "")


@dataclass(frozen=True)
class Reply:
    """What goes back; `length` may lie."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None


Behaviour: TypeAlias = Callable[[Request], Reply]


@dataclass
class LoopbackServer:
    """A running server, and what it was asked."""

    host: str
    requests: list[Request] = field(default_factory=list)


@contextlib.contextmanager
def serving(behaviour: Behaviour) -> Iterator[LoopbackServer]:
    """A server that answers each request as `behaviour` says, for as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, body)
            served.requests.append(request)
            reply = behaviour(request)
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            length = len(reply.body) if reply.length is None else reply.length
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)
            self.close_connection = length != len(reply.body)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - names of the standard library

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = LoopbackServer(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
